"""Options of the regression suite; what activates the fixes, if anything, is chosen outside.

``--bare`` runs it on a release as published: tests that ``bare.json`` records as failing there
must fail, by an assertion, and all others must pass. ``--outcomes FILE`` writes what came out.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import pytest
import wire
from loading import load

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]

_outcomes: dict[str, str] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bare", action="store_true", help="expect the recorded failures, exactly")
    parser.addoption("--outcomes", type=Path, metavar="FILE", help="write the outcomes as JSON")


def pytest_report_header() -> str:
    return f"openai-agents {wire.RELEASE}"


def test_id(item: pytest.Item) -> str:
    """The test's file and name, as in the record."""
    return f"{item.path.name}::{item.nodeid.partition('::')[2]}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--bare"):
        return
    record = json.loads((_HERE / "bare.json").read_text())
    table = json.loads((_ROOT / "shim" / "releases.json").read_text())
    order = list(table["releases"])
    failing = load("tools/record.py").recorded_failures(record, wire.RELEASE, order)
    for item in items:
        name = test_id(item)
        if name not in record:
            raise pytest.UsageError(f"{name} is not in bare.json: record it, see CONTRIBUTING.md")
        if name in failing:
            item.add_marker(
                pytest.mark.xfail(
                    strict=True, raises=AssertionError, reason=f"defect of {wire.RELEASE}"
                )
            )


def by_assertion(call: pytest.CallInfo[Any]) -> bool:
    return (
        call.when == "call"
        and call.excinfo is not None
        and issubclass(call.excinfo.type, AssertionError)
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
    report = (yield).get_result()
    name = test_id(item)
    if report.when == "call" or report.outcome != "passed":
        xfailed = hasattr(report, "wasxfail") and report.outcome == "skipped"
        _outcomes[name] = "xfailed" if xfailed else report.outcome
    if report.outcome == "failed" and not by_assertion(call):
        # It may fail for another reason than the defect.
        _outcomes[name] = "error"


def pytest_sessionfinish(session: pytest.Session) -> None:
    file: Path | None = session.config.getoption("--outcomes")
    if file is not None:
        outcomes = {
            "release": wire.RELEASE,
            "python": platform.python_version(),
            "outcomes": _outcomes,
        }
        file.write_text(json.dumps(outcomes, indent=1) + "\n")
