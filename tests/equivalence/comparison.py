"""What is different between two traces, in words."""

from __future__ import annotations

import difflib
import json
from typing import Any

from .sequence import Sequence
from .sides import Trace

_LINES = 120


def difference(sequence: Sequence, traces: dict[str, Trace]) -> str | None:
    """Return the first step whose two traces differ, and how; None if they are the same."""
    (one, first), (other, second) = traces.items()
    if first == second:
        return None
    for number, step in enumerate(sequence.steps):
        mine, theirs = _at(first, number), _at(second, number)
        if mine != theirs:
            kinds = [kind for kind in {**mine, **theirs} if mine.get(kind) != theirs.get(kind)]
            changes = [f"--- {one}", f"+++ {other}"]
            for kind in kinds:
                changes += _changes(kind, mine.get(kind, []), theirs.get(kind, []))
            if len(changes) > _LINES:
                changes[_LINES:] = [f"... and {len(changes) - _LINES} more lines"]
            place = f"{one} and {other} differ in {', '.join(kinds)} after step {number}"
            return "\n".join([f"{place}: {json.dumps(step)}", *changes])
    raise AssertionError("the traces differ, but none of their steps does")


def _at(trace: Trace, number: int) -> dict[str, Any]:
    return trace[number] if number < len(trace) else {"ended": "before this step"}


def _changes(kind: str, one: Any, other: Any) -> list[str]:
    before, after = (
        json.dumps(each, indent=1, sort_keys=True).splitlines() for each in (one, other)
    )
    lines = list(difflib.unified_diff(before, after, lineterm=""))[2:]
    return [f"@@ {kind}", *lines]
