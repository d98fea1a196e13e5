"""How the server leads the application through a conversation.

A cue is an event that says that an item was deleted, one that nobody has: the SDK passes it on
after all events before it, and the history does not change.
"""

from __future__ import annotations

CUE_EVENT = "conversation.item.deleted"

BARRIER = "input_audio_buffer.clear"
"""The frame with which the application answers the cue ``sync``."""

_PREFIX = "cue:"


def cue(act: str, words: str = "") -> dict[str, str]:
    """Return the event that asks the application to do something.

    ``type`` the words, ``interrupt``, ``sync`` or ``close``.
    """
    return {"type": CUE_EVENT, "item_id": f"{_PREFIX}{act}:{words}"}


def is_cue(item_id: str) -> bool:
    """Tell whether the id of an item is a cue."""
    return item_id.startswith(_PREFIX)


def read_cue(item_id: str) -> tuple[str, str]:
    """Return what a cue asks for, and the words."""
    act, _, words = item_id.removeprefix(_PREFIX).partition(":")
    return act, words
