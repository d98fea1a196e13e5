"""converter-status: the server's status of a message item is the status in history.

Server items were converted with ``status="in_progress"`` whatever the server said (0.2.0 to
0.22.0), or whenever it said nothing (0.22.1 and later), so that a status-less
``conversation.item.retrieved`` turned a completed message back into one in progress.
Upstream: issues #4597 and #1434, pull requests #4598 and #4602.

Called directly, the converter still answers ``in_progress`` for an omitted status. That it was
omitted is told by ``"status"`` missing from the item's ``model_fields_set``, which survives every
``model_copy`` between here and the history.
"""

from __future__ import annotations

from typing import Any

from .said import said, says_something, unsent, with_fields
from .wraps import Fix, Method, Switch, Wrap

_OPENAI_REALTIME = "agents.realtime.openai_realtime"
_SESSION = "agents.realtime.session"


def _convert(original: Method, switch: Switch) -> Method:
    """Give the converted item the server item's status, or mark it as not sent."""

    def conversation_item_to_realtime_message_item(
        cls: Any, item: Any, previous_item_id: Any
    ) -> Any:
        message = original(cls, item, previous_item_id)
        status = getattr(item, "status", None)
        if not switch.on:
            return message
        if not says_something(status):
            return unsent(message)
        # From 0.22.1 on it has it.
        if getattr(message, "status", None) == status:
            return message
        return with_fields(message, {"status": status})

    return conversation_item_to_realtime_message_item


def _handle_output_item(original: Method, switch: Switch) -> Method:
    """Send message items through the converter, as the conversation.item.* events are.

    0.2.x hardcodes the status here a second time. 0.2.0 also rejects every item that has
    content, which the converter does not.
    """

    async def handle_output_item(self: Any, item: Any) -> Any:
        if switch.on and item.type == "message":
            return await self._handle_conversation_item(item, None)
        return await original(self, item)

    return handle_output_item


def _get_new_history(original: Method, switch: Switch) -> Method:
    """Keep the known status where an update does not bring one of the server's."""

    def get_new_history(cls: Any, old_history: Any, event: Any) -> Any:
        new_history = original(cls, old_history, event)
        if not switch.on or len(new_history) != len(old_history):
            return new_history
        # An id can be there twice: a transcription only goes into user items.
        return [
            item if item is known else _with_known_status(item, known, event)
            for known, item in zip(old_history, new_history, strict=True)
        ]

    return get_new_history


def _keeps_status(known: Any, event: Any) -> bool:
    """Tell whether ``event`` must not change the status of a known item.

    A completed transcription is not the server's word on the item's status, but the SDK takes
    it for one: it may fill in a status that the server never sent, and no other.
    """
    if known.item_id != event.item_id or known.type != "message":
        return False
    if event.type == "input_audio_transcription_completed":
        return "status" in said(known)
    return event.type == "message" and event.role == known.role and "status" not in said(event)


def _with_known_status(item: Any, known: Any, event: Any) -> Any:
    status = getattr(known, "status", None)
    if status is None or not _keeps_status(known, event):
        return item
    item = with_fields(item, {"status": status})
    return item if "status" in said(known) else unsent(item)


FIX = Fix(
    name="converter-status",
    issues=("#4597", "#1434"),
    wraps=(
        Wrap(
            module=_OPENAI_REALTIME,
            attribute="_ConversionHelper.conversation_item_to_realtime_message_item",
            decorator=_convert,
        ),
        Wrap(
            module=_OPENAI_REALTIME,
            attribute="OpenAIRealtimeWebSocketModel._handle_output_item",
            decorator=_handle_output_item,
            last="0.2.11",
        ),
        Wrap(
            module=_SESSION,
            attribute="RealtimeSession._get_new_history",
            decorator=_get_new_history,
        ),
    ),
)
