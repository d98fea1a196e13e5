"""Options of the equivalence test.

It runs where a release is installed and is given the patched tree of that release. It is not part
of a run over all tests.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from .coverage import Coverage
from .sides import Player, Side

_COVERAGE = pytest.StashKey[Coverage]()
_SEED = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("equivalence")
    group.addoption("--tree", type=Path, help="the installed release's source tree, patched")
    group.addoption("--sequences", type=int, default=500, help="how many (default: 500)")
    group.addoption("--seed", type=int, help="what the sequences come from (default: chance)")
    group.addoption("--replay", type=Path, metavar="FILE", help="play only this sequence")
    group.addoption(
        "--failures", type=Path, metavar="FOLDER", help="write sequences that fail in there"
    )


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    # Named on the command line, or only found on the way through a folder above?
    here = Path(__file__).parent
    folder = config.invocation_params.dir
    named = [(folder / name.partition("::")[0]).resolve() for name in config.args]
    return None if any(path.is_relative_to(here) for path in named) else True


@pytest.fixture(scope="session")
def coverage(pytestconfig: pytest.Config) -> Coverage:
    """What the comparison has exercised; told at the end."""
    return pytestconfig.stash.setdefault(_COVERAGE, Coverage())


@pytest.fixture(scope="session")
def seed(pytestconfig: pytest.Config) -> int:
    return pytestconfig.stash[_SEED]


@pytest.fixture(scope="session")
def shimmed() -> Iterator[Player]:
    player = Player(Side(name="shimmed", mode="shimmed"))
    yield player
    player.stop()


@pytest.fixture(scope="session")
def bare() -> Iterator[Player]:
    player = Player(Side(name="bare", mode="bare"))
    yield player
    player.stop()


@pytest.fixture(scope="session")
def patched(pytestconfig: pytest.Config) -> Iterator[Player]:
    tree = pytestconfig.getoption("--tree")
    if tree is None:
        pytest.fail("nothing to compare with: give the patched tree, --tree FOLDER", pytrace=False)
    player = Player(Side(name="patched", mode="patched", tree=tree))
    yield player
    player.stop()


def pytest_configure(config: pytest.Config) -> None:
    given = config.getoption("--seed", default=None)
    config.stash[_SEED] = random.randrange(2**32) if given is None else given


def pytest_report_header(config: pytest.Config) -> str:
    return f"equivalence: --seed {config.stash[_SEED]}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    coverage = terminalreporter.config.stash.get(_COVERAGE, Coverage())
    if lines := coverage.lines():
        terminalreporter.section("what the sequences exercised")
        for line in lines:
            terminalreporter.write_line(line)
