"""close-reset: a close() in a task of the model's own, on a strange socket, and no task at all."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

# For what the regression suite has to play a server with.
sys.path.append(str(Path(__file__).parent / "regression"))

import test_close_reset
import wire
from agents.realtime.model import RealtimeModelListener
from agents.realtime.model_events import RealtimeModelErrorEvent
from agents.realtime.model_inputs import RealtimeModelSendUserInput
from agents.realtime.openai_realtime import OpenAIRealtimeWebSocketModel
from call import Call, RecordingSocket
from loading import PATIENCE
from test_close_reset import Line, Stubborn, connection_state, new_state, speak_on_the_wire

import shim  # noqa: F401, for the fixes

line = test_close_reset.line

needs_deferred_responses = pytest.mark.skipif(
    not wire.since("0.13.1"), reason="response.create is not deferred to a task before 0.13.1"
)


class Closing(RealtimeModelListener):
    """Closes the model when something has gone wrong."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.task: asyncio.Task[Any] | None = None

    async def on_event(self, event: Any) -> None:
        if event.type == "exception":
            self.task = asyncio.current_task()
            await self._model.close()


class NoResponses(RecordingSocket):
    """A socket on which no response can be asked for."""

    async def send(self, payload: str) -> None:
        if "response.create" in payload:
            raise OSError("cannot send")


@pytest.mark.asyncio
@needs_deferred_responses
async def test_2_4_a_close_in_the_task_that_asks_for_a_response() -> None:
    """The release's close() cancels that task, which is the one that it runs in."""
    model = Call().model
    await model._handle_ws_event({"event_id": "event_1", **wire.session_created()})
    await model._handle_ws_event({"event_id": "event_2", **wire.audio_delta("item_old")})
    model._websocket = NoResponses()
    listener = Closing(model)
    model.add_listener(listener)
    await model.send_event(RealtimeModelSendUserInput(user_input="Hello?"))
    while listener.task is None:
        await asyncio.sleep(0)
    await asyncio.wait({listener.task}, timeout=PATIENCE)
    assert listener.task.done()
    assert connection_state(model) == new_state()
    assert model._websocket is None


class Broken(RecordingSocket):
    """A socket, without a transport, that cannot be closed."""

    async def close(self) -> None:
        raise OSError("cannot close")


@pytest.mark.asyncio
async def test_2_4_a_socket_without_a_transport_that_fails_to_close() -> None:
    """As an application's own may be, that it puts in the place of the release's."""
    model = Call().model
    await model._handle_ws_event({"event_id": "event_1", **wire.session_created()})
    await model._handle_ws_event({"event_id": "event_2", **wire.audio_delta("item_old")})
    model._websocket = Broken()
    with pytest.raises(OSError, match="cannot close"):
        await model.close()
    assert connection_state(model) == new_state()
    assert model._websocket is None


class Endless(Broken):
    """One that is read for ever, too."""

    async def __aiter__(self) -> AsyncIterator[str]:
        await asyncio.Event().wait()
        yield ""


@pytest.mark.asyncio
async def test_2_4_a_socket_that_cannot_be_closed_at_all_is_read_no_more() -> None:
    model = Call().model
    model._websocket = Endless()
    model._websocket_task = task = asyncio.create_task(model._listen_for_messages())
    await asyncio.sleep(0)
    with pytest.raises(OSError, match="cannot close"):
        await model.close()
    await asyncio.wait({task}, timeout=PATIENCE)
    assert task.done()


@pytest.mark.asyncio
async def test_2_5_what_runs_without_an_event_loop_is_no_old_handler(line: Line) -> None:
    """While there is one, a coroutine of another model may be driven by hand in a thread."""
    connection = await line.connect()
    listener = Stubborn(line, close=True)
    line.model.add_listener(listener)
    await speak_on_the_wire(connection)
    await listener.holding.wait()

    def drive() -> str:
        handling = OpenAIRealtimeWebSocketModel()._emit_event(RealtimeModelErrorEvent(error="x"))
        try:
            handling.send(None)
        except StopIteration:
            return "it ran to its end"
        return "it waits for something"

    assert await asyncio.to_thread(drive) == "it ran to its end"
