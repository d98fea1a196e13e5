"""Does the results file say what the other files say, and are the pages made from it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from tools.compatibility.results import BARE, PATCHED, Results, rule_of
from tools.record import Record, recorded_failures


def defects(
    results: Results,
    *,
    order: Sequence[str],
    record: Record,
    patched: Collection[str],
    rules: Collection[str],
) -> list[str]:
    """Say, in one line each, what the results lack, and where they contradict the other files.

    ``order`` has the releases of the table, ``patched`` those that have a series of patches, and
    ``rules`` what the pages have a place for. ``record`` is what fails on bare releases.
    """
    lines = [f"{release} has no results" for release in order if release not in results]
    lines += [
        f"{release} is not in the release table" for release in results if release not in order
    ]
    known = [release for release in results if release in order]
    if known != sorted(known, key=list(order).index):
        lines.append("the releases are not in the order of the release table")
    for release in known:
        row = results[release]
        if (PATCHED in row.sides) != (release in patched):
            has = "has" if release in patched else "has no"
            lines.append(f"{release} {has} patches, and the results say otherwise")
        lines += _contradictions(release, results, record, order)
        unknown = {rule for counts in row.sides.values() for rule in counts}.difference(rules)
        lines += [f"{release} has results for {rule}, which is no rule" for rule in sorted(unknown)]
    return lines


def _contradictions(
    release: str, results: Results, record: Record, order: Sequence[str]
) -> list[str]:
    counts = results[release].sides[BARE]
    recorded = Counter(map(rule_of, recorded_failures(record, release, order)))
    known = Counter(map(rule_of, record))
    lines = []
    for rule in sorted({*counts, *recorded}):
        failed, ran = (counts[rule].failed, counts[rule].ran) if rule in counts else (0, 0)
        if failed != recorded[rule]:
            lines.append(
                f"{release}: {failed} tests of {rule} fail on the bare release, "
                f"and {recorded[rule]} in bare.json"
            )
        if ran > known[rule]:
            lines.append(f"{release}: {ran} tests of {rule} ran, and bare.json has {known[rule]}")
    return lines


def stale(pages: Mapping[Path, str]) -> list[str]:
    """Say, in one line each, which pages are missing or are not the given text."""
    lines = []
    for file, text in pages.items():
        if not file.exists():
            lines.append(f"{file.name} is missing")
        elif file.read_text(encoding="utf-8") != text:
            lines.append(f"{file.name} is not what the results give")
    return lines
