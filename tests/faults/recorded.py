"""Options of a suite that holds bare releases to a record of what fails on them.

``--bare`` runs the suite on a release as published: tests that ``bare.json`` in the suite's folder
records as failing there must fail, by an assertion, and all others must pass. ``--outcomes FILE``
writes what came out. A suite's ``conftest.py`` takes the hooks in here over by importing them.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import pytest
import wire
from loading import load

_RELEASES = Path(__file__).parents[2] / "shim" / "releases.json"
_OUTCOMES = pytest.StashKey[dict[str, str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bare", action="store_true", help="expect the recorded failures, exactly")
    parser.addoption("--outcomes", type=Path, metavar="FILE", help="write the outcomes as JSON")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_OUTCOMES] = {}


def pytest_report_header() -> str:
    return f"openai-agents {wire.RELEASE}"


def test_id(item: pytest.Item) -> str:
    """The test's file and name, as in the record."""
    return f"{item.path.name}::{item.nodeid.partition('::')[2]}"


test_id.__test__ = False  # type: ignore[attr-defined]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--bare"):
        return
    order = list(json.loads(_RELEASES.read_text(encoding="utf-8"))["releases"])
    for folder in {item.path.parent for item in items}:
        record = json.loads((folder / "bare.json").read_text(encoding="utf-8"))
        failing = load("tools/record.py").recorded_failures(record, wire.RELEASE, order)
        for item in items:
            if item.path.parent == folder:
                _expect(item, record, failing)


def _expect(item: pytest.Item, record: dict[str, list[str]], failing: set[str]) -> None:
    """Mark a test as one that must fail, if it is recorded so."""
    name = test_id(item)
    if name not in record:
        raise pytest.UsageError(f"{name} is not in bare.json: record it, see CONTRIBUTING.md")
    if name in failing:
        item.add_marker(
            pytest.mark.xfail(
                strict=True, raises=AssertionError, reason=f"defect of {wire.RELEASE}"
            )
        )


def _by_assertion(call: pytest.CallInfo[Any]) -> bool:
    return (
        call.when == "call"
        and call.excinfo is not None
        and issubclass(call.excinfo.type, AssertionError)
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
    report = (yield).get_result()
    outcomes, name = item.config.stash[_OUTCOMES], test_id(item)
    if report.when == "call" or report.outcome != "passed":
        xfailed = hasattr(report, "wasxfail") and report.outcome == "skipped"
        outcomes[name] = "xfailed" if xfailed else report.outcome
    if report.outcome == "failed" and not _by_assertion(call):
        # It may fail for another reason than the defect.
        outcomes[name] = "error"


def pytest_sessionfinish(session: pytest.Session) -> None:
    file: Path | None = session.config.getoption("--outcomes")
    if file is not None:
        outcomes = {
            "release": wire.RELEASE,
            "python": platform.python_version(),
            "outcomes": session.config.stash[_OUTCOMES],
        }
        file.write_text(json.dumps(outcomes, indent=1) + "\n", encoding="utf-8")
