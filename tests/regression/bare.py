"""What a release as published has to fail, as the ``bare.json`` beside the tests records it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest
import wire
from loading import load

_ROOT = Path(__file__).parents[2]


def recorded_name(item: pytest.Item) -> str:
    """The test's file and name, as in the record."""
    return f"{item.path.name}::{item.nodeid.partition('::')[2]}"


def add_option(parser: pytest.Parser) -> None:
    """Add the option ``--bare``, unless another folder of tests has done so."""
    with suppress(ValueError):
        parser.addoption(
            "--bare", action="store_true", help="expect the recorded failures, exactly"
        )


def expect_failures(items: Iterable[pytest.Item], *, folder: Path) -> None:
    """Let those of the folder's tests that are recorded for this release fail, by an assertion.

    Raises pytest.UsageError if a test is not in the record.
    """
    record = json.loads((folder / "bare.json").read_text())
    table = json.loads((_ROOT / "shim" / "releases.json").read_text())
    order = list(table["releases"])
    failing = load("tools/record.py").recorded_failures(record, wire.RELEASE, order)
    for item in items:
        if item.path.parent != folder:
            continue
        name = recorded_name(item)
        if name not in record:
            raise pytest.UsageError(f"{name} is not in bare.json: record it, see CONTRIBUTING.md")
        if name in failing:
            item.add_marker(
                pytest.mark.xfail(
                    strict=True, raises=AssertionError, reason=f"defect of {wire.RELEASE}"
                )
            )
