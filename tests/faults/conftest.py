"""Setting up the tests of faults; what activates the fixes, if anything, is chosen outside.

The session `tests` leaves them out; what they need is a release with the fixes. ``--bare`` runs
them on a release as published: those that ``bare.json`` records as failing there must fail.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

_HERE = Path(__file__).parent
# For `wire`, `loading` and `bare`, which the regression suite has.
sys.path.insert(0, str(_HERE.parent / "regression"))
pytest.register_assert_rewrite("faults.caller", "faults.clean")

from bare import add_option, expect_failures  # noqa: E402

from faults.caller import remember_parsers  # noqa: E402

remember_parsers()


def pytest_addoption(parser: pytest.Parser) -> None:
    add_option(parser)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--bare"):
        expect_failures(items, folder=_HERE)
