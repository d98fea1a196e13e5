"""close-reset: after ``close()`` a model remembers nothing of the closed connection.

``OpenAIRealtimeWebSocketModel.close()`` left the item ids, the audio tracking and the server
session of the closed connection on the instance, and `RealtimeRunner` connects the same instance
again: the next connection then truncates, retrieves and cancels what its server has never seen.
Upstream: issue #5068, pull request #5069, fixed in 0.23.1 but for a close that is cancelled
early, and for handlers that outlive it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary, ref

from .wraps import Fix, Wrap

_OPENAI_REALTIME = "agents.realtime.openai_realtime"
_MODEL = "OpenAIRealtimeWebSocketModel"

_logger = logging.getLogger(__name__)

# What __init__ sets and neither configures the model nor is set again by connect().
# No release has all of them.
_CONNECTION_STATE = (
    "_audio_length_ms",  # to 0.2.3
    "_audio_start_time",  # to 0.2.3
    "_audio_state_tracker",  # from 0.2.4
    "_created_session",  # from 0.2.4
    "_current_audio_content_index",  # to 0.2.3
    "_current_item_id",
    "_interrupted_audio_response_ids",  # from 0.19.3
    "_ongoing_response",  # to 0.13.0, where the sequencer took it over
    "_response_create_sequencer",  # from 0.13.1
)

# Listener tasks of closed connections that may still be running, with their models.
_retired: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

# The tasks that opened the connections of models.
_openers: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

# Whether a close() is what runs.
_closing: ContextVar[bool] = ContextVar("shim_close_reset_closing", default=False)


async def _connect(
    wrapped: Callable[..., Any], model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Remember who opens the connection: a listener of the old one may, and may then use it."""
    # A connect() that is refused, because there is a connection, opens none.
    if model._websocket is None and not getattr(model, "_connection_attempt_active", False):
        _openers[model] = ref(asyncio.current_task())
    return await wrapped(*args, **kwargs)


async def _close(
    wrapped: Callable[..., Any], model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Close as the release does, then forget the connection however that ended."""
    token = _closing.set(True)
    try:
        return await _close_and_forget(wrapped, model, args, kwargs)
    finally:
        _closing.reset(token)


async def _close_and_forget(
    wrapped: Callable[..., Any], model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    # The release's close() begins with this (from 0.13.1). Cancelled here, it has not touched
    # the transport: the connection lives on, and so must its state.
    cancel_response_create_tasks = getattr(model, "_cancel_response_create_tasks", None)
    if cancel_response_create_tasks is not None:
        await cancel_response_create_tasks()

    websocket = model._websocket
    listener = model._websocket_task
    try:
        return await wrapped(*args, **kwargs)
    finally:
        # Anything else is the websocket of a connection that was opened meanwhile.
        if model._websocket is None or model._websocket is websocket:
            if listener is not None:
                _retired[listener] = model
            _openers.pop(model, None)
            _detach(model)
            _forget_connection(model)


def _detach(model: Any) -> None:
    """Finish a teardown that an exception ended early, so that connect() works again."""
    if model._websocket_task is not None:
        model._websocket_task.cancel()
        model._websocket_task = None
    model._websocket = None
    # Whatever was asked for during the teardown waits for a response of the old connection.
    for task in getattr(model, "_response_create_tasks", ()):
        if task is not asyncio.current_task():
            task.cancel()


def _forget_connection(model: Any) -> None:
    """Give the model the connection state of a new one."""
    # Not of type(model)(): a subclass may ask for arguments.
    new = vars(next(each for each in type(model).__mro__ if each.__name__ == _MODEL)())
    for name in _CONNECTION_STATE:
        if name in new:
            setattr(model, name, new[name])
    # From 0.23.1 the release's own close() has told it.
    if not hasattr(model, "_reset_connection_state"):
        _tell_playback_tracker(getattr(model, "_playback_tracker", None))


def _tell_playback_tracker(tracker: Any) -> None:
    if tracker is None:
        return
    try:
        tracker.on_interrupted()
    except Exception as error:
        # It must not take the place of what close() raised, and its text may hold words.
        _logger.error("on_interrupted() of the playback tracker raised %s", type(error).__name__)


def _handle_audio_delta(
    wrapped: Callable[..., Any], model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Let audio come before the session's format is known, on a new tracker.

    0.2.4 to 0.15.2 set the tracker's format only then, and raise AttributeError before.
    """
    tracker = model._audio_state_tracker
    if not hasattr(tracker, "_format"):
        tracker._format = None
    return wrapped(*args, **kwargs)


async def _emit_event(
    wrapped: Callable[..., Any], model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Stop a handler whose connection was closed meanwhile.

    It would go on to write the old ids to the model and to send them on the next connection. What
    a listener, which is called from here, does after a close() of its own is left alone.
    """
    was_retired = _is_retired(model)
    result = await wrapped(*args, **kwargs)
    if _is_retired(model) and not was_retired:
        raise _stopped()
    return result


async def _cancel_response_create_tasks(
    wrapped: Callable[..., Any], model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Keep an old listener's clean-up away from the response.create of the next connection."""
    if _is_retired(model) and not _closing.get():
        raise _stopped()
    return await wrapped(*args, **kwargs)


async def _send_raw_message(
    wrapped: Callable[..., Any], model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Keep what an old listener still wants to send off a connection that others have opened.

    Up to 0.4.0 tools run in the listener's task.
    """
    if _is_retired(model):
        opener = _openers.get(model)
        if opener is None or opener() is not asyncio.current_task():
            raise _stopped()
    return await wrapped(*args, **kwargs)


def _is_retired(model: Any) -> bool:
    """Tell whether this runs in a listener task of a connection that the model has closed."""
    if not _retired:
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:  # A coroutine that is driven without an event loop.
        return False
    return task is not None and _retired.get(task) is model


def _stopped() -> asyncio.CancelledError:
    return asyncio.CancelledError("the connection of this task is closed")


async def _send_raw_message_with_id(
    wrapped: Callable[..., Any], model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Drop the conversation.item.retrieve that 0.2.0 sends while there is no current item."""

    def message_of(event: Any) -> Any:
        return event.message

    message = message_of(*args, **kwargs)
    if (
        message["type"] == "conversation.item.retrieve"
        and message.get("other_data", {}).get("item_id") is None
    ):
        return None
    return await wrapped(*args, **kwargs)


FIX = Fix(
    name="close-reset",
    issues=("#5068",),
    wraps=(
        Wrap(
            module=_OPENAI_REALTIME,
            attribute=f"{_MODEL}.connect",
            wrapper=_connect,
            only_watches=True,
        ),
        Wrap(module=_OPENAI_REALTIME, attribute=f"{_MODEL}.close", wrapper=_close),
        Wrap(
            module=_OPENAI_REALTIME,
            attribute=f"{_MODEL}._handle_audio_delta",
            wrapper=_handle_audio_delta,
            first="0.2.4",
            last="0.15.2",
        ),
        Wrap(module=_OPENAI_REALTIME, attribute=f"{_MODEL}._emit_event", wrapper=_emit_event),
        Wrap(
            module=_OPENAI_REALTIME,
            attribute=f"{_MODEL}._cancel_response_create_tasks",
            wrapper=_cancel_response_create_tasks,
            first="0.13.1",
        ),
        Wrap(
            module=_OPENAI_REALTIME,
            attribute=f"{_MODEL}._send_raw_message",
            wrapper=_send_raw_message,
        ),
        Wrap(
            module=_OPENAI_REALTIME,
            attribute=f"{_MODEL}._send_raw_message",
            wrapper=_send_raw_message_with_id,
            last="0.2.0",
        ),
    ),
)
