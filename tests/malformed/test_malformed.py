"""Rule 3.12 and more: whatever comes in, the fixes make nothing worse."""

from __future__ import annotations

import pytest

from . import strategies
from .comparison import Comparison
from .examples import run
from .sdk import Sdk

# Pydantic warns of fields that do not hold what they should.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def test_3_12_malformed_events_of_the_server(
    tallied_comparison: Comparison, pytestconfig: pytest.Config
) -> None:
    run(tallied_comparison, strategies.received(), pytestconfig)


def test_3_12_malformed_items_of_the_application(
    tallied_comparison: Comparison, bare: Sdk, pytestconfig: pytest.Config
) -> None:
    run(tallied_comparison, strategies.built(bare), pytestconfig)
