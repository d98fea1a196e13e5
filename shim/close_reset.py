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
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary, ref

from .wraps import Fix, Method, Switch, Wrap

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

# Listener tasks of closed connections that may still be running, with their models. Not a
# WeakKeyDictionary, because every event asks whether it is empty.
_retired: dict[ref[Any], ref[Any]] = {}

# The tasks that opened the connections of models.
_openers: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

# Whether a close() is what runs.
_closing: ContextVar[bool] = ContextVar("shim_close_reset_closing", default=False)


def _connect(original: Method, switch: Switch) -> Method:
    """Remember who opens the connection: a listener of the old one may, and may then use it."""

    async def connect(self: Any, options: Any) -> Any:
        # A connect() that is refused, because there is a connection, opens none.
        is_refused = self._websocket is not None or getattr(
            self, "_connection_attempt_active", False
        )
        if switch.on and not is_refused:
            _openers[self] = ref(asyncio.current_task())
        return await original(self, options)

    return connect


def _close(original: Method, switch: Switch) -> Method:
    """Close as the release does, then forget the connection however that ended."""

    async def close(self: Any) -> Any:
        if not switch.on:
            return await original(self)
        token = _closing.set(True)
        try:
            return await _close_and_forget(original, self)
        finally:
            _closing.reset(token)

    return close


async def _close_and_forget(original: Method, model: Any) -> Any:
    # The release's close() begins with this (from 0.13.1). Cancelled here, it has not touched
    # the transport: the connection lives on, and so must its state.
    cancel_response_create_tasks = getattr(model, "_cancel_response_create_tasks", None)
    if cancel_response_create_tasks is not None:
        await cancel_response_create_tasks()

    websocket = model._websocket
    listener = model._websocket_task
    try:
        return await original(model)
    except BaseException:
        # The closing handshake may not have ended, and nobody waits for it any more.
        transport = getattr(websocket, "transport", None)
        if transport is not None:
            transport.abort()
        raise
    finally:
        # Anything else is the websocket of a connection that was opened meanwhile.
        if model._websocket is None or model._websocket is websocket:
            if listener is not None:
                _retired[ref(listener, _retired.pop)] = ref(model)
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


def _handle_audio_delta(original: Method, switch: Switch) -> Method:
    """Let audio come before the session's format is known, on a new tracker.

    0.2.4 to 0.15.2 set the tracker's format only then, and raise AttributeError before.
    """

    async def handle_audio_delta(self: Any, parsed: Any) -> Any:
        tracker = self._audio_state_tracker
        if switch.on and not hasattr(tracker, "_format"):
            tracker._format = None
        return await original(self, parsed)

    return handle_audio_delta


def _emit_event(original: Method, switch: Switch) -> Method:
    """Stop a handler whose connection was closed meanwhile.

    It would go on to write the old ids to the model and to send them on the next connection. What
    a listener, which is called from here, does after a close() of its own is left alone.
    """

    async def emit_event(self: Any, event: Any) -> Any:
        was_retired = bool(_retired) and _is_retired(self)
        result = await original(self, event)
        if _retired and not was_retired and _is_retired(self) and switch.on:
            raise _stopped()
        return result

    return emit_event


def _cancel_response_create_tasks(original: Method, switch: Switch) -> Method:
    """Keep an old listener's clean-up away from the response.create of the next connection."""

    async def cancel_response_create_tasks(self: Any) -> Any:
        if _retired and _is_retired(self) and not _closing.get() and switch.on:
            raise _stopped()
        return await original(self)

    return cancel_response_create_tasks


def _send_raw_message(original: Method, switch: Switch) -> Method:
    """Keep what an old listener still wants to send off a connection that others have opened.

    Up to 0.4.0 tools run in the listener's task.
    """

    async def send_raw_message(self: Any, event: Any) -> Any:
        if _retired and _is_retired(self) and switch.on:
            opener = _openers.get(self)
            if opener is None or opener() is not asyncio.current_task():
                raise _stopped()
        return await original(self, event)

    return send_raw_message


def _is_retired(model: Any) -> bool:
    """Tell whether this runs in a listener task of a connection that the model has closed."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # A coroutine that is driven without an event loop.
        return False
    retired_from = None if task is None else _retired.get(ref(task))
    return retired_from is not None and retired_from() is model


def _stopped() -> asyncio.CancelledError:
    return asyncio.CancelledError("the connection of this task is closed")


def _send_raw_message_with_id(original: Method, switch: Switch) -> Method:
    """Drop the conversation.item.retrieve that 0.2.0 sends while there is no current item."""

    async def send_raw_message_with_id(self: Any, event: Any) -> Any:
        message = event.message
        if (
            switch.on
            and message["type"] == "conversation.item.retrieve"
            and message.get("other_data", {}).get("item_id") is None
        ):
            return None
        return await original(self, event)

    return send_raw_message_with_id


FIX = Fix(
    name="close-reset",
    issues=("#5068",),
    wraps=(
        Wrap(
            module=_OPENAI_REALTIME,
            attribute=f"{_MODEL}.connect",
            decorator=_connect,
            only_watches=True,
        ),
        Wrap(module=_OPENAI_REALTIME, attribute=f"{_MODEL}.close", decorator=_close),
        Wrap(
            module=_OPENAI_REALTIME,
            attribute=f"{_MODEL}._handle_audio_delta",
            decorator=_handle_audio_delta,
            first="0.2.4",
            last="0.15.2",
        ),
        Wrap(module=_OPENAI_REALTIME, attribute=f"{_MODEL}._emit_event", decorator=_emit_event),
        Wrap(
            module=_OPENAI_REALTIME,
            attribute=f"{_MODEL}._cancel_response_create_tasks",
            decorator=_cancel_response_create_tasks,
            first="0.13.1",
        ),
        Wrap(
            module=_OPENAI_REALTIME,
            attribute=f"{_MODEL}._send_raw_message",
            decorator=_send_raw_message,
        ),
        Wrap(
            module=_OPENAI_REALTIME,
            attribute=f"{_MODEL}._send_raw_message",
            decorator=_send_raw_message_with_id,
            last="0.2.0",
        ),
    ),
)
