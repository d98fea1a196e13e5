"""Trying examples, as many as the options say."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from .comparison import Comparison
from .conversation import Step


def run(
    comparison: Comparison,
    steps: st.SearchStrategy[list[Step]],
    config: pytest.Config,
    *,
    shrink: bool = True,
) -> None:
    """Check the comparison on examples of the steps.

    Raises AssertionError for one that fails, the simplest that can be found if it is to ``shrink``.
    """

    def check(steps: list[Step]) -> None:
        comparison.check(steps)

    configured = settings(
        max_examples=config.getoption("--examples"),
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        derandomize=config.getoption("--hypothesis-seed") is None,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    configured(hypothesis.given(steps)(check))()
