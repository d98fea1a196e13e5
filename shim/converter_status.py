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

from collections.abc import Callable
from typing import Any

from .said import said, says_something, unsent
from .wraps import Fix, Wrap

_OPENAI_REALTIME = "agents.realtime.openai_realtime"
_SESSION = "agents.realtime.session"


def _convert(
    wrapped: Callable[..., Any], converter: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Give the converted item the server item's status, or mark it as not sent."""

    def status_of(item: Any, previous_item_id: Any) -> Any:
        return getattr(item, "status", None)

    status = status_of(*args, **kwargs)
    message = wrapped(*args, **kwargs)
    if says_something(status):
        return message.model_copy(update={"status": status})
    return unsent(message)


async def _handle_output_item(
    wrapped: Callable[..., Any], model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Send message items through the converter, as the conversation.item.* events are.

    0.2.x hardcodes the status here a second time. 0.2.0 also rejects every item that has
    content, which the converter does not.
    """

    def item_of(item: Any) -> Any:
        return item

    item = item_of(*args, **kwargs)
    if item.type == "message":
        return await model._handle_conversation_item(item, None)
    return await wrapped(*args, **kwargs)


def _get_new_history(
    wrapped: Callable[..., Any], session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Keep the known status where an update does not bring one of the server's."""

    def arguments(old_history: Any, event: Any) -> tuple[Any, Any]:
        return old_history, event

    history, event = arguments(*args, **kwargs)
    new_history = wrapped(*args, **kwargs)
    if all(item.item_id != event.item_id for item in history):
        return new_history
    # Known items keep their places. An id can be there twice: a transcription only goes into user
    # items, and adds one if there is none of its id.
    return [
        _with_known_status(item, known) if _keeps_status(known, event) else item
        for known, item in zip(history, new_history, strict=False)
    ] + new_history[len(history) :]


def _keeps_status(known: Any, event: Any) -> bool:
    """Tell whether ``event`` must not change the status of a known item.

    A completed transcription is not the server's word on the item's status, but the SDK takes
    it for one: it may fill in a status that the server never sent, and no other.
    """
    if known.item_id != event.item_id or known.type != "message":
        return False
    if event.type == "input_audio_transcription_completed":
        return known.role == "user" and "status" in said(known)
    return event.type == "message" and event.role == known.role and "status" not in said(event)


def _with_known_status(item: Any, known: Any) -> Any:
    status = getattr(known, "status", None)
    if item is known or status is None:
        return item
    item = item.model_copy(update={"status": status})
    return item if "status" in said(known) else unsent(item)


FIX = Fix(
    name="converter-status",
    issues=("#4597", "#1434"),
    wraps=(
        Wrap(
            module=_OPENAI_REALTIME,
            attribute="_ConversionHelper.conversation_item_to_realtime_message_item",
            wrapper=_convert,
        ),
        Wrap(
            module=_OPENAI_REALTIME,
            attribute="OpenAIRealtimeWebSocketModel._handle_output_item",
            wrapper=_handle_output_item,
            last="0.2.11",
        ),
        Wrap(
            module=_SESSION,
            attribute="RealtimeSession._get_new_history",
            wrapper=_get_new_history,
        ),
    ),
)
