"""The results of the matrix per release, side and rule: ``docs/compatibility.json``."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools import record
from tools.record import FAILING
from tools.releases import ROOT, UserError

RESULTS = ROOT / "docs" / "compatibility.json"

BARE, SHIMMED, PATCHED = "bare", "shimmed", "patched"
SIDES = (BARE, SHIMMED, PATCHED)
"""The ways in which a release ran the suite; ``patched`` only where it has a series of patches."""

OTHER = "other"
"""Stands for the rule of the tests that are named after none."""

_REPORT = re.compile(r"[^:]*::test_(\d{4,})_")


@dataclass(frozen=True, kw_only=True)
class Count:
    """How many of the tests of a rule failed, and how many ran."""

    failed: int
    ran: int


Counts = Mapping[str, Count]
"""Rule -> count, without the rules of which no test ran."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """What a release gave: the Python version that it ran on, and per side the counts."""

    python: str
    sides: Mapping[str, Counts]


Results = Mapping[str, Row]


def rule_of(test: str) -> str:
    """Return the rule that a test is named after: ``3.10``, ``#4597`` for a report, or `OTHER`."""
    if rule := record.rule_of(test):
        return rule
    report = _REPORT.match(test)
    return f"#{report[1]}" if report else OTHER


def count(outcomes: Mapping[str, str]) -> Counts:
    """Return the counts that the outcomes of tests give; a skipped test did not run."""
    ran = {test: outcome for test, outcome in outcomes.items() if outcome != "skipped"}
    failed = Counter(rule_of(test) for test, outcome in ran.items() if outcome in FAILING)
    all_of_it = Counter(map(rule_of, ran))
    return {rule: Count(failed=failed[rule], ran=number) for rule, number in all_of_it.items()}


def total(counts: Counts, rules: Iterable[str]) -> Count:
    """Return the count of several rules together."""
    found = [counts[rule] for rule in rules if rule in counts]
    return Count(failed=sum(each.failed for each in found), ran=sum(each.ran for each in found))


def merge(known: Results, new: Results, order: Iterable[str]) -> Results:
    """Return the results with the new ones in place of the known ones, in the order of the table.

    A release that the table does not have drops out.
    """
    both = {**known, **new}
    return {release: both[release] for release in order if release in both}


def load_results(file: Path) -> Results:
    """Return the results in a file, none if there is no file.

    Raises UserError if the file is not what `dump_results` writes.
    """
    if not file.exists():
        return {}
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return {release: _parse(row) for release, row in data.items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(f"{file.name} does not hold results of the matrix: {error!r}") from error


def _parse(row: Mapping[str, Any]) -> Row:
    if not {"python", BARE, SHIMMED} <= set(row) <= {"python", *SIDES}:
        raise ValueError(f"a release has {', '.join(row)}")
    sides = {
        side: {rule: _parse_count(*pair) for rule, pair in row[side].items()}
        for side in SIDES
        if side in row
    }
    return Row(python=row["python"], sides=sides)


def _parse_count(failed: int, ran: int) -> Count:
    if not 0 <= failed <= ran:
        raise ValueError(f"{failed} of {ran} tests failed")
    return Count(failed=failed, ran=ran)


def dump_results(results: Results) -> str:
    """Return the text of the results file, with one line per release and side."""
    return "{\n" + ",\n".join(_dump(*entry) for entry in results.items()) + "\n}\n"


def _dump(release: str, row: Row) -> str:
    lines = [f'    "python": {json.dumps(row.python)}']
    for side, counts in row.sides.items():
        pairs = {rule: [counts[rule].failed, counts[rule].ran] for rule in sorted(counts, key=_key)}
        lines.append(f"    {json.dumps(side)}: {json.dumps(pairs)}")
    return f"  {json.dumps(release)}: {{\n" + ",\n".join(lines) + "\n  }"


def _key(rule: str) -> tuple[bool, list[int], str]:
    """Sort 3.10 behind 3.9, and what is not a rule of the contract behind all of them."""
    parts = rule.split(".")
    numbers = [int(part) for part in parts] if all(part.isdigit() for part in parts) else []
    return not numbers, numbers, rule
