"""Whether a client sends anything that belongs to another conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Event = dict[str, Any]

_NAMES = ("item_id", "previous_item_id", "response_id", "call_id")
_TEXTS = ("text", "output", "arguments", "transcript", "instructions")
# Where a new item goes, if it does not follow another one.
_NO_ITEM = (None, "root")


def crossed(received: Sequence[Event], sent: Sequence[Event], tag: str) -> list[str]:
    """Return, in words, what the frames of a client hold that is not of its conversation.

    They may name only what the server has named in the events that it sent, and every text of
    theirs has the conversation's tag.
    """
    named = {name for event in sent for name in _values(event, (*_NAMES, "id"))} | {*_NO_ITEM}
    problems = []
    for frame in received:
        problems += [
            f"cross-talk: {frame.get('type')} names {name!r}"
            for name in _values(frame, _NAMES)
            if name not in named
        ]
        problems += [
            f"cross-talk: {frame.get('type')} says {text!r}"
            for text in _values(frame, _TEXTS)
            if text and tag not in text
        ]
    return problems


def _values(value: object, fields: Sequence[str]) -> Iterator[Any]:
    """Yield what these fields hold, anywhere in an event; objects and arrays are looked into."""
    if isinstance(value, list):
        for each in value:
            yield from _values(each, fields)
    elif isinstance(value, dict):
        for name, each in value.items():
            if isinstance(each, list | dict):
                yield from _values(each, fields)
            elif name in fields:
                yield each
