"""The history lists that a session has handed out, which nothing may change: rule 3.10."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .invariants import Problem


class HandedOut:
    """Remembers the lists and the items in them, as they were when they were handed out."""

    def __init__(self, history: list[Any]) -> None:
        self._lists: list[tuple[list[Any], list[Any]]] = []
        self._states: dict[int, tuple[Any, Any]] = {}
        self._add(history)

    def _add(self, history: list[Any]) -> None:
        if not self._lists or self._lists[-1][0] is not history:
            self._lists.append((history, list(history)))
        for item in history:
            if id(item) not in self._states:
                # The item as well, so that no other gets its id.
                self._states[id(item)] = (item, _state(item))

    def problems(self, history: list[Any], *, touched: str | None) -> Iterator[Problem]:
        """Take in the history after an event, and yield what is wrong with it.

        ``touched`` is the id of the item that the event is about.
        """
        latest, items = self._lists[-1]
        if (changed := self._change_of(latest, items)) is not None:
            yield changed
        before, after = (
            [item for item in each if item.item_id != touched] for each in (items, history)
        )
        if not same(before, after):
            yield Problem("3.10", "the items that the event is not about are not the same objects")
        self._add(history)

    def problem(self) -> Problem | None:
        """Return what is wrong with any of the lists."""
        found = (self._change_of(history, items) for history, items in self._lists)
        return next((each for each in found if each is not None), None)

    def _change_of(self, history: list[Any], items: list[Any]) -> Problem | None:
        if not same(history, items):
            return Problem("3.10", "an earlier history list is not as it was")
        for item in items:
            _, before = self._states[id(item)]
            if _state(item) != before:
                return Problem("3.10", f"an item was changed in place, it was {before}")
        return None


def _state(item: Any) -> Any:
    """Return all that an item holds: its fields, and which of them somebody has set."""
    return item.model_dump(warnings=False), item.model_dump(warnings=False, exclude_unset=True)


def same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Tell whether two sequences have the same objects in the same order."""
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
