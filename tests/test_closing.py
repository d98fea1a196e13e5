"""close-reset: more of rules 2.3 to 2.5."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

# For what the regression suite has to play a server with.
sys.path.append(str(Path(__file__).parent / "regression"))

import agents.realtime
import test_close_reset
import wire
from agents.realtime.model_events import RealtimeModelToolCallEvent
from agents.realtime.model_inputs import RealtimeModelSendRawMessage, RealtimeModelSendToolOutput
from call import Call
from loading import PATIENCE
from test_close_reset import (
    Line,
    Reconnecting,
    SocketError,
    Stubborn,
    connection_state,
    needs_a_close_that_waits,
    new_state,
    speak_on_the_wire,
)

import shim  # noqa: F401, for the fixes

line = test_close_reset.line

DELETE: Any = {"type": "conversation.item.delete", "other_data": {"item_id": "item_old"}}


def settings(line: Line, **config: Any) -> Any:
    return {"api_key": "test", "url": line.server.url, "initial_model_settings": {}, **config}


class Late(Stubborn):
    """Closes its connection, and does something when it is released."""

    def __init__(self, line: Line, action: Callable[[], Awaitable[None]]) -> None:
        super().__init__(line, close=True)
        self._action = action

    async def on_event(self, event: Any) -> None:
        is_first = not self.holding.is_set() and "_old" in str(event)
        await super().on_event(event)
        if is_first:
            await self._action()


async def hold(line: Line, action: Callable[[], Awaitable[None]]) -> Late:
    """Connect, and let a listener hold the handler of an old connection until it is released."""
    connection = await line.connect()
    listener = Late(line, action)
    line.model.add_listener(listener)
    await speak_on_the_wire(connection)
    await listener.holding.wait()
    return listener


@pytest.mark.asyncio
@needs_a_close_that_waits
async def test_2_5_a_handler_may_use_the_connection_that_it_has_opened(line: Line) -> None:
    """Sending a tool's output also tells the listeners of it."""
    connection = await line.connect()
    call = RealtimeModelToolCallEvent(name="weather", call_id="call_1", arguments="{}", id="call_1")
    output = RealtimeModelSendToolOutput(tool_call=call, output="sunny", start_response=False)

    async def reconnect() -> None:
        await line.model.close()
        await line.model.connect(settings(line))
        await line.model.send_event(output)

    listener = Reconnecting(reconnect)
    line.model.add_listener(listener)
    await connection.send(wire.audio_delta("item_old"))
    await asyncio.wait_for(listener.outcome, timeout=PATIENCE)
    connection = await line.server.connection(2)
    await connection.wait_for("conversation.item.create", timeout=PATIENCE)
    assert "item_updated" in line.recorder.types()


@pytest.mark.asyncio
async def test_2_5_a_refused_connect_opens_nothing(line: Line) -> None:
    refused: list[str] = []

    async def connect_and_send() -> None:
        try:
            await line.model.connect(settings(line))
        except AssertionError as error:
            refused.append(str(error))
        await line.model.send_event(RealtimeModelSendRawMessage(message=DELETE))

    listener = await hold(line, connect_and_send)
    connection = await line.connect()
    line.released.set()
    await listener.done.wait()
    assert "conversation.item.delete" not in await line.frames(connection)
    assert refused == ["Already connected"]


@pytest.mark.asyncio
@pytest.mark.skipif(not wire.since("0.19.4"), reason="two may connect at once until 0.19.3")
async def test_2_5_a_connect_that_is_refused_for_one_on_the_way_opens_nothing(line: Line) -> None:
    refused = asyncio.Event()
    sending = asyncio.Event()

    async def connect_and_send() -> None:
        try:
            await line.model.connect(settings(line))
        except AssertionError:
            refused.set()
        await sending.wait()
        await line.model.send_event(RealtimeModelSendRawMessage(message=DELETE))

    async def key() -> str:
        # While the connection is on its way.
        line.released.set()
        await refused.wait()
        return "test"

    await hold(line, connect_and_send)
    connection = await line.connect(api_key=key)
    sending.set()
    assert "conversation.item.delete" not in await line.frames(connection)


@pytest.mark.asyncio
async def test_2_4_a_socket_that_fails_to_close_is_read_no_more(line: Line) -> None:
    connection = await line.connect()
    await line.speak()
    socket, listener = line.model._websocket, line.model._websocket_task
    close = socket.close

    async def fail() -> None:
        raise SocketError

    socket.close = fail
    with pytest.raises(SocketError):
        await line.model.close()
    line.recorder.events.clear()
    await connection.send(wire.audio_delta("item_old"))
    await asyncio.wait({listener}, timeout=PATIENCE / 20)
    assert listener.done()
    await close()
    assert "audio" not in line.recorder.types()


@pytest.mark.asyncio
async def test_2_5_an_old_listener_ends_as_if_it_was_cancelled(line: Line) -> None:
    """Another exception would be one that nobody retrieves."""
    connection = await line.connect()
    stubborn = Stubborn(line, close=True)
    line.model.add_listener(stubborn)
    listener = line.model._websocket_task
    await speak_on_the_wire(connection)
    await stubborn.holding.wait()
    line.released.set()
    await asyncio.wait({listener}, timeout=PATIENCE)
    assert listener.cancelled()


# From 0.23.1 the release tells it by itself, and is left alone with what comes of it.
needs_a_tracker_that_the_fix_tells = pytest.mark.skipif(
    not wire.since("0.2.4") or wire.since("0.23.1"), reason="nothing for the fix to tell"
)


@pytest.mark.asyncio
@needs_a_tracker_that_the_fix_tells
@pytest.mark.parametrize("fails", [False, True], ids=["close succeeds", "close fails"])
async def test_2_4_a_playback_tracker_that_fails_changes_nothing(
    line: Line, caplog: pytest.LogCaptureFixture, fails: bool
) -> None:
    class Tracker(agents.realtime.RealtimePlaybackTracker):  # type: ignore[misc, unused-ignore]
        def on_interrupted(self) -> None:
            raise LookupError("nothing of the conversation in a log")

    await line.connect(playback_tracker=Tracker())
    await line.speak()
    socket = line.model._websocket
    close = socket.close

    async def close_and_fail() -> None:
        await close()
        if fails:
            raise SocketError

    socket.close = close_and_fail
    if fails:
        with pytest.raises(SocketError):
            await line.model.close()
    else:
        await line.model.close()
    assert connection_state(line.model) == new_state()
    (record,) = [each for each in caplog.records if each.name.startswith("shim")]
    assert record.levelno == logging.ERROR
    assert "LookupError" in record.getMessage()
    assert "conversation" not in caplog.text


@pytest.mark.asyncio
async def test_2_3_nothing_is_logged_where_there_is_no_playback_tracker(
    line: Line, caplog: pytest.LogCaptureFixture
) -> None:
    await line.connect()
    await line.speak()
    await line.model.close()
    assert [each for each in caplog.records if each.name.startswith("shim")] == []


@pytest.mark.asyncio
@pytest.mark.skipif(
    not wire.since("0.2.4") or wire.since("0.15.3"), reason="nothing of the fix is at work"
)
async def test_2_6_audio_is_measured_in_the_format_of_its_session() -> None:
    model = Call().model
    tracker = model._audio_state_tracker
    tracker.set_audio_format("g711_ulaw")
    # So many bytes are 100 ms of PCM16, at 24 kHz.
    await model._handle_ws_event({"event_id": "event_1", **wire.audio_delta("item_1", ms=100)})
    assert tracker.get_state("item_1", 0).audio_length_ms == 600


@pytest.mark.asyncio
async def test_2_2_an_item_that_is_asked_for_by_its_id_is_retrieved() -> None:
    """0.2.0 asks without one while there is no current item; there, that alone is held back."""
    call = Call()
    message: Any = {"type": "conversation.item.retrieve", "other_data": {"item_id": "item_1"}}
    await call.model.send_event(RealtimeModelSendRawMessage(message=message))
    (frame,) = call.socket.frames
    assert frame["item_id"] == "item_1"
