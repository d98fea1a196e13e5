"""Read pytest's JUnit reports, and add them up: ``N passed, N failed``."""

from __future__ import annotations

import argparse
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

_OUTCOMES = {"error": "error", "failure": "failed", "skipped": "skipped"}


def outcomes(report: Path) -> dict[str, str]:
    """Return ``passed``, ``failed``, ``error`` or ``skipped`` for every test of a report.

    An expected failure counts as skipped, as pytest writes it.
    """
    found: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        test = _name(case)
        marks = (word for tag, word in _OUTCOMES.items() if case.find(tag) is not None)
        outcome = next(marks, "passed")
        # A test that passes and then fails to clean up has two entries.
        if found.get(test) not in {"failed", "error"}:
            found[test] = outcome
    return found


def reasons(report: Path) -> dict[str, str]:
    """Return the first line of what pytest says of each test that failed, mostly an exception."""
    found: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        failure = case.find("failure")
        if failure is not None:
            message = (failure.get("message") or "").strip()
            found[_name(case)] = message.partition("\n")[0]
    return found


def _name(case: ElementTree.Element) -> str:
    return f"{case.get('classname')}::{case.get('name')}"


def main(arguments: list[str] | None = None) -> int:
    """Print the sum over all reports of a folder; return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.junit", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder that holds the reports")
    parser.add_argument(
        "--exit-code", type=int, default=0, help="of the run that wrote them; not 0 is a failure"
    )
    options = parser.parse_args(arguments)
    reports = sorted(options.folder.glob("*.xml"))
    total: Counter[str] = Counter()
    for report in reports:
        total.update(outcomes(report).values())
    failed = total["failed"] + total["error"]
    if not reports:
        print(f"No test ran: there is no report in {options.folder}.")
        failed = 1
    elif options.exit_code and not failed:
        print("A check other than a test failed; the messages above say which.")
        failed = 1
    print(f"{len(reports)} test runs; {total['skipped']} tests skipped or failing as recorded.")
    print(f"{total['passed']} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
