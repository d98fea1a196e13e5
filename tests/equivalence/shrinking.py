"""A sequence that fails, made as short as it can be.

Hypothesis shrinks the choices that it made, which takes it minutes here and leaves much behind. The
steps are plain data that can be left out one by one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from .sequence import Sequence, Step

_DEFAULTS = {"iterate": False, "async_tools": True, "guardrail": False, "tracker": None}

# What a step, an event, an item or a part cannot do without.
_NEEDED = ("do", "type", "id", "role", "item_id", "item", "event", "content", "object")


def shortest(sequence: Sequence, fails: Callable[[Sequence], bool]) -> Sequence:
    """Return the sequence without all that ``fails`` does not need."""
    shrunk = True
    while shrunk:
        shrunk = False
        for candidate in _simpler(sequence):
            if fails(candidate):
                sequence, shrunk = candidate, True
                break
    return sequence


def _simpler(sequence: Sequence) -> Iterator[Sequence]:
    """Yield sequences with something left out, those that lack most of it first."""
    steps = sequence.steps
    size = len(steps) // 2
    while size:
        # The first step connects.
        for end in range(len(steps), size, -size):
            yield Sequence(sequence.setup, steps[: end - size] + steps[end:])
        size //= 2
    for name, value in _DEFAULTS.items():
        if sequence.setup.get(name, value) != value:
            yield Sequence({**sequence.setup, name: value}, steps)
    for number, step in enumerate(steps):
        for simpler in _without_one(step):
            yield Sequence(sequence.setup, [*steps[:number], simpler, *steps[number + 1 :]])


def _without_one(step: Step) -> Iterator[Step]:
    """Yield the step without one of its optional fields or parts, the ones inside included."""
    for path in _paths(step):
        simpler = copy.deepcopy(step)
        place: Any = simpler
        for key in path[:-1]:
            place = place[key]
        del place[path[-1]]
        yield simpler


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        if key not in _NEEDED:
            yield (key,)
        if isinstance(inner, dict | list):
            for path in _paths(inner):
                yield (key, *path)
