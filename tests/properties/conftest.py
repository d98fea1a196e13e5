"""Options of the properties; what activates the fixes, if anything, is chosen outside.

The same conversations are played every time; ``--hypothesis-seed`` chooses others. They are not
part of a run over all tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .findings import Findings
from .release import RELEASE
from .situations import Situations

_SITUATIONS = pytest.StashKey[Situations]()
_FINDINGS = pytest.StashKey[Findings]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("properties")
    group.addoption(
        "--conversations", type=int, default=200, help="how many (default: %(default)s)"
    )
    group.addoption(
        "--counterexample",
        action="store_true",
        help="one of them has to break a property: for a release without the fixes",
    )


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    # Named on the command line, or only found on the way through a folder above?
    here = Path(__file__).parent
    folder = config.invocation_params.dir
    named = [(folder / name.partition("::")[0]).resolve() for name in config.args]
    return None if any(path.is_relative_to(here) for path in named) else True


def _origin(config: pytest.Config) -> str:
    return str(config.getoption("--hypothesis-seed", None) or "0")


@pytest.fixture(scope="session")
def origin(pytestconfig: pytest.Config) -> str:
    """What the conversations come from."""
    return _origin(pytestconfig)


@pytest.fixture(scope="session")
def situations(pytestconfig: pytest.Config) -> Situations:
    """What the conversations have exercised; told at the end."""
    return pytestconfig.stash.setdefault(_SITUATIONS, Situations())


@pytest.fixture(scope="session")
def findings(pytestconfig: pytest.Config) -> Findings:
    """What a release without the fixes breaks; told at the end."""
    return pytestconfig.stash.setdefault(_FINDINGS, Findings())


def pytest_report_header(config: pytest.Config) -> str:
    return f"openai-agents {RELEASE}; conversations: --hypothesis-seed {_origin(config)}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    stash = terminalreporter.config.stash
    told = {
        "what the conversations exercised": stash.get(_SITUATIONS, Situations()).lines(),
        "what the conversations broke": stash.get(_FINDINGS, Findings()).lines(),
    }
    for title, lines in told.items():
        if lines:
            terminalreporter.section(title)
        for line in lines:
            terminalreporter.write_line(line)
