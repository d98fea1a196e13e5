"""Setting up the tests of faults; what activates the fixes, if anything, is chosen outside.

They are not part of a run over all tests: they need a release, bare with ``--bare`` or with fixes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

_HERE = Path(__file__).parent
# For `wire` and `loading`, which the regression suite has.
sys.path.insert(0, str(_HERE.parent / "regression"))
pytest.register_assert_rewrite("faults.caller", "faults.clean")

from faults.caller import remember_parsers  # noqa: E402
from faults.recorded import (  # noqa: E402
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_report_header,
    pytest_runtest_makereport,
    pytest_sessionfinish,
)

__all__ = [
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_report_header",
    "pytest_runtest_makereport",
    "pytest_sessionfinish",
]

remember_parsers()
