"""The history of a session is what the server has said, whatever that is."""

from __future__ import annotations

import pytest

from .findings import Findings
from .rounds import play
from .situations import OFTEN, SELDOM, Situations

_ENOUGH_FOR_OFTEN = 200
_ENOUGH_FOR_SELDOM = 20_000


def test_the_history_is_what_the_server_has_said(
    pytestconfig: pytest.Config, origin: str, situations: Situations
) -> None:
    if pytestconfig.getoption("--counterexample"):
        pytest.skip("a counterexample is wanted")
    count = pytestconfig.getoption("--conversations")
    play(count, origin=origin, situations=situations)
    missing = situations.missing(OFTEN) if count >= _ENOUGH_FOR_OFTEN else []
    missing += situations.missing(SELDOM) if count >= _ENOUGH_FOR_SELDOM else []
    assert not missing, f"no conversation had {missing}"


def test_a_release_without_the_fixes_breaks_a_property(
    pytestconfig: pytest.Config, origin: str, situations: Situations, findings: Findings
) -> None:
    if not pytestconfig.getoption("--counterexample"):
        pytest.skip("no counterexample is wanted")
    count = pytestconfig.getoption("--conversations")
    play(count, origin=origin, situations=situations, findings=findings)
    assert findings, f"nothing in {count} conversations"
