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
from bare import add_option, expect_failures, recorded_name

_HERE = Path(__file__).parent

_outcomes: dict[str, str] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    add_option(parser)
    parser.addoption("--outcomes", type=Path, metavar="FILE", help="write the outcomes as JSON")


def pytest_report_header() -> str:
    return f"openai-agents {wire.RELEASE}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--bare"):
        expect_failures(items, folder=_HERE)


def by_assertion(call: pytest.CallInfo[Any]) -> bool:
    return (
        call.when == "call"
        and call.excinfo is not None
        and issubclass(call.excinfo.type, AssertionError)
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
    report = (yield).get_result()
    name = recorded_name(item)
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
