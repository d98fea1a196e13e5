"""Setting up the tests of faults; what activates the fixes, if anything, is chosen outside.

The session `tests` leaves them out; what they need is a release with the fixes.
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

remember_parsers()
