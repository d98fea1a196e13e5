"""The record of which regression test fails on which bare release (``bare.json``).

Standard library only, and no import from this package: ``tests/regression/conftest.py`` loads
this file by its path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

Record = Mapping[str, Sequence[str]]
"""Test id -> inclusive release ranges (``0.2.0-0.22.3``, or ``0.24.0``) in which it fails bare."""

_RULE = re.compile(r"[^:]*::test_(\d)_(\d+)_")

FAILING = frozenset({"failed", "error"})
"""The outcomes that count as failing on a bare release."""


def load_record(file: Path) -> Record | None:
    """Return the record in a file, or None as long as there is no such file."""
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None


def subject_of(test: str) -> str:
    """Return what a test is about, by the name of its file: mostly the name of a fix."""
    file = test.partition("::")[0]
    return file.removeprefix("test_").removesuffix(".py").replace("_", "-")


def rule_of(test: str) -> str | None:
    """Return the rule of the contract that a test is named after, such as ``2.1``, or None."""
    rule = _RULE.match(test)
    return f"{rule[1]}.{rule[2]}" if rule else None


def encode_ranges(failing: Collection[str], order: Sequence[str]) -> list[str]:
    """Return the inclusive ranges of neighbours in ``order`` that hold the failing releases.

    Raises ValueError for a release that is not in ``order``.
    """
    positions = sorted(order.index(release) for release in set(failing))
    runs: list[list[int]] = []
    for position in positions:
        if runs and runs[-1][-1] == position - 1:
            runs[-1].append(position)
        else:
            runs.append([position])
    return [order[run[0]] if len(run) == 1 else f"{order[run[0]]}-{order[run[-1]]}" for run in runs]


def decode_ranges(ranges: Iterable[str], order: Sequence[str]) -> set[str]:
    """Return the releases that the ranges hold. Raises ValueError for one not in ``order``."""
    releases: set[str] = set()
    for entry in ranges:
        first, _, last = entry.partition("-")
        releases.update(order[order.index(first) : order.index(last or first) + 1])
    return releases


def failing_tests(outcomes: Mapping[str, str]) -> set[str]:
    """Return the ids of the tests that failed, given the outcome of every test."""
    return {test for test, outcome in outcomes.items() if outcome in FAILING}


def recorded_failures(record: Record, release: str, order: Sequence[str]) -> set[str]:
    """Return the ids of the tests that are recorded as failing on a bare release."""
    return {test for test, ranges in record.items() if release in decode_ranges(ranges, order)}


def contradictions(
    record: Record, release: str, outcomes: Mapping[str, str], order: Sequence[str]
) -> list[str]:
    """Say, in one line each, where the outcomes on a bare release are not the recorded ones."""
    expected = recorded_failures(record, release, order)
    failing = failing_tests(outcomes)
    lines = [f"{test} is not in the record" for test in outcomes if test not in record]
    lines += [f"{test} fails, recorded as passing" for test in failing - expected if test in record]
    lines += [
        f"{test} is recorded as failing, and {outcomes.get(test, 'is missing')}"
        for test in expected - failing
    ]
    return sorted(lines)


def build_record(
    runs: Mapping[str, Mapping[str, str]], order: Sequence[str], previous: Record | None = None
) -> dict[str, list[str]]:
    """Return the record that the runs (release -> test id -> outcome) give.

    For releases that did not run, the previous record stands; a test that no run has seen stays
    only if there are such releases.
    """
    known = previous or {}
    kept = set(order) - set(runs)
    failing = {test: decode_ranges(ranges, order) & kept for test, ranges in known.items()}
    seen = {test for outcomes in runs.values() for test in outcomes}
    for release, outcomes in runs.items():
        for test in failing_tests(outcomes):
            failing.setdefault(test, set()).add(release)
    tests = seen | set(known) if kept else seen
    return {test: encode_ranges(failing.get(test, set()), order) for test in sorted(tests)}


def dump_record(record: Record) -> str:
    """Return the record as the text of ``bare.json``, one line per test."""
    lines = [f"  {json.dumps(test)}: {json.dumps(list(record[test]))}" for test in sorted(record)]
    return "{\n" + ",\n".join(lines) + "\n}\n"
