"""The project's own results file and pages: write the pages, and find what is out of date."""

from __future__ import annotations

from pathlib import Path

from tools.compatibility.check import defects, stale
from tools.compatibility.pages import make_pages
from tools.compatibility.results import RESULTS, load_results
from tools.compatibility.rules import load_rules
from tools.record import load_record
from tools.releases import RECORD, load_table
from tools.series import PATCHES, load_series


def write_pages() -> list[Path]:
    """Write both pages and return their files; raises UserError if a source cannot be read."""
    pages = make_pages(load_results(RESULTS), load_rules())
    for file, text in pages.items():
        file.write_text(text, encoding="utf-8")
    return list(pages)


def find_defects() -> list[str]:
    """Say what is wrong with the results file and the pages, and what to do, in one line each.

    Raises UserError if a file cannot be read.
    """
    results, rules, table = load_results(RESULTS), load_rules(), load_table()
    wrong = defects(
        results,
        order=list(table),
        record=load_record(RECORD) or {},
        patched={release for each in load_series(PATCHES, table) for release in each.releases},
        rules={rule.name for rule in rules},
    )
    wrong = [f"{RESULTS.name}: {line}" for line in wrong]
    if wrong:
        wrong.append("For the releases named: nox -s matrix -- --record --releases A,B-C")
    old = stale(make_pages(results, rules))
    if old:
        old.append("To write the pages: nox -s compatibility")
    return wrong + old
