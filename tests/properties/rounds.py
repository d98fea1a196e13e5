"""Runs of the state machine, one after the other."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from .client import Stage
from .findings import Findings
from .machine import ConversationMachine
from .situations import Situations

_EVENTS = 25

_CONVERSATIONS = 1_000
"""How many conversations there are in a round; hypothesis keeps 200 KB of each until its end."""


def play(
    count: int, *, origin: str, situations: Situations, findings: Findings | None = None
) -> None:
    """Play ``count`` conversations; one that breaks a property fails, but for ``findings``.

    They follow from ``origin``: the same one gives the same conversations.
    """
    stage = Stage()
    try:
        for number, start in enumerate(range(0, count, _CONVERSATIONS)):
            # Hypothesis takes any callable; its annotation asks for a class.
            machine: Any = partial(
                ConversationMachine, stage, situations=situations, findings=findings
            )
            run_state_machine_as_test(
                seed(f"{origin}, round {number}")(machine),
                settings=_settings(min(_CONVERSATIONS, count - start)),
            )
    finally:
        stage.close()


def _settings(count: int) -> settings:
    return settings(
        max_examples=count,
        stateful_step_count=_EVENTS,
        deadline=None,
        # The origin says it all.
        database=None,
        # To explain a failure takes hypothesis longer than to find it.
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
