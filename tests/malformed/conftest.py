"""Options of the suite, and the copies of the SDK that it compares.

The same examples are tried every time, unless ``--hypothesis-seed`` says what they come from. The
suite is not part of a run over all tests: it needs hypothesis, and loads the SDK twice.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

# For the valid events, which are those of the regression suite.
sys.path.append(str(Path(__file__).parents[1] / "regression"))

from . import sdk
from .comparison import Comparison

_TALLIES = pytest.StashKey[dict[str, Counter[str]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("malformed")
    group.addoption("--examples", type=int, default=200, help="of each kind (default: 200)")
    group.addoption("--parts", type=int, default=2_000, help="in large content (default: 2000)")
    group.addoption(
        "--patched",
        type=Path,
        metavar="TREE",
        help="compare this source tree of the installed release, in place of the shim",
    )


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    # Named on the command line, or only found on the way through a folder above?
    here = Path(__file__).parent
    folder = config.invocation_params.dir
    named = [(folder / name.partition("::")[0]).resolve() for name in config.args]
    return None if any(path.is_relative_to(here) for path in named) else True


def pytest_report_header(config: pytest.Config) -> str:
    seed = config.getoption("--hypothesis-seed", None)
    origin = "the same ones every time" if seed is None else f"--hypothesis-seed {seed}"
    return f"malformed input: {origin}"


@pytest.fixture(scope="session")
def bare() -> sdk.Sdk:
    """The installed release as published."""
    return sdk.bare()


@pytest.fixture(scope="session")
def fixed(bare: sdk.Sdk, pytestconfig: pytest.Config) -> sdk.Sdk:
    """The same release with the fixes."""
    tree: Path | None = pytestconfig.getoption("--patched")
    return sdk.shimmed() if tree is None else sdk.patched(tree)


@pytest.fixture(scope="session")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    # A task that fails without anybody asking is told of when it is collected, at any time.
    loop.set_exception_handler(lambda *_: None)
    yield loop
    loop.close()


@pytest.fixture(scope="session", autouse=True)
def _silence() -> Iterator[None]:
    """Keep the SDK from logging what it rejects, in full."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def comparison(bare: sdk.Sdk, fixed: sdk.Sdk, loop: asyncio.AbstractEventLoop) -> Comparison:
    return Comparison(bare, fixed, loop)


@pytest.fixture
def tallied_comparison(comparison: Comparison, request: pytest.FixtureRequest) -> Comparison:
    """The same, and what it has exercised is told at the end."""
    tallies = request.config.stash.setdefault(_TALLIES, {})
    tallies[request.node.name] = comparison.tally
    return comparison


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    tallies = terminalreporter.config.stash.get(_TALLIES, {})
    if tallies:
        terminalreporter.section("what the examples exercised")
    for name, tally in tallies.items():
        told = ", ".join(f"{count} {what}" for what, count in tally.most_common())
        terminalreporter.write_line(f"{name}: {told or 'nothing'}")
