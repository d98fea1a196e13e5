"""A pytest plugin: ``--agents-from FOLDER`` lets no test run on an SDK that is not in there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--agents-from", type=Path, required=True, help="the folder that has the package `agents`"
    )


# Not earlier, by an import of our own: some tests set something up before they import the SDK.
def pytest_collection_finish(session: pytest.Session) -> None:
    module = sys.modules.get("agents")
    if module is None:
        return
    folder: Path = session.config.getoption("--agents-from")
    found = Path(str(module.__file__))
    if not found.resolve().is_relative_to(folder.resolve()):
        raise pytest.UsageError(f"the SDK under test is {found}, and not in {folder}")
