"""The history before a step, to see what the step leaves alone."""

from __future__ import annotations

import operator
from typing import Any

from .plain import Json, item
from .sequence import Step

# Steps after which something may go on that is about any item.
_WIDE = ("release", "connect", "close", "hold")


class Earlier:
    """The history of a session as it was before a step."""

    def __init__(self, session: Any, dumped: list[Json]) -> None:
        self.session = session
        self._list = session._history
        self._items = list(session._history)
        self._dumped = dumped

    def problems(self, step: Step) -> list[str]:
        """Return what rule 3.10 forbids and the step has done."""
        touched = _touched(step)
        found = []
        if not _same(self._list, self._items):
            found.append("3.10: the earlier history list was changed")
        elif [item(each) for each in self._items] != self._dumped:
            found.append("3.10: an item of the earlier history was changed")
        if touched is not None:
            before, after = (
                [each for each in items if each.item_id not in touched and each.type == "message"]
                for items in (self._items, self.session._history)
            )
            if not _same(before, after):
                found.append("3.10: items that the step is not about are not the same as before")
        return found


def _same(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(map(operator.is_, one, other))


def _touched(step: Step) -> set[str] | None:
    """Return the ids of the messages that a step is about, None if that may be any."""
    if step["do"] in _WIDE:
        return None
    event = step.get("event", {})
    about = event.get("item")
    return {event.get("item_id"), about.get("id") if isinstance(about, dict) else None}
