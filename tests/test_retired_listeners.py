"""close-reset: who counts as an old listener, and who does not (rule 2.5)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import wrapt

# For what the regression suite has to play a server with.
sys.path.append(str(Path(__file__).parent / "regression"))

import test_close_reset
import wire
from agents.realtime.model_inputs import RealtimeModelSendRawMessage
from agents.realtime.openai_realtime import OpenAIRealtimeWebSocketModel
from call import Call, RecordingSocket
from loading import PATIENCE
from test_close_reset import Line, needs_a_close_that_waits, speak_on_the_wire
from test_closing import DELETE, Late, settings

import shim

line = test_close_reset.line
other_line = test_close_reset.line

# Somebody else's wrapper.
PASS_ON: Any = wrapt.decorator(lambda wrapped, _instance, args, kwargs: wrapped(*args, **kwargs))

GUARDED = ("_emit_event", "_send_raw_message", "_cancel_response_create_tasks")


async def nothing() -> None:
    pass


async def send(model: Any) -> None:
    await model.send_event(RealtimeModelSendRawMessage(message=DELETE))


async def close_and_hold(
    line: Line, action: Callable[[], Awaitable[None]] = nothing
) -> asyncio.Task[Any]:
    """Let a listener close its connection, and do something once it is released.

    Returns the task that the listener runs in.
    """
    connection = await line.connect()
    task: asyncio.Task[Any] = line.model._websocket_task
    listener = Late(line, action)
    line.model.add_listener(listener)
    await speak_on_the_wire(connection)
    await listener.holding.wait()
    return task


@pytest.mark.asyncio
async def test_2_5_there_may_be_old_listeners_of_two_models(line: Line, other_line: Line) -> None:
    tasks = {await close_and_hold(line), await close_and_hold(other_line)}
    line.released.set()
    other_line.released.set()
    await asyncio.wait(tasks, timeout=PATIENCE)
    assert all(task.cancelled() for task in tasks)


@pytest.mark.asyncio
async def test_2_5_an_old_listener_may_use_another_model(line: Line, other_line: Line) -> None:
    connection = await other_line.connect()
    await close_and_hold(line, lambda: send(other_line.model))
    line.released.set()
    await connection.wait_for("conversation.item.delete", timeout=PATIENCE)


@pytest.mark.asyncio
async def test_2_5_a_new_listener_is_none_while_there_is_an_old_one(line: Line) -> None:
    """Its clean-up is its own, when the server closes the connection."""
    await close_and_hold(line)
    connection = await line.connect()
    task = line.model._websocket_task
    await connection.close()
    await asyncio.wait({task}, timeout=PATIENCE)
    assert task.done()
    assert not task.cancelled()


@pytest.mark.asyncio
async def test_2_5_an_old_listener_is_stopped_where_there_is_no_connection(line: Line) -> None:
    """It is stopped; an exception of another kind would be an error event."""
    task = await close_and_hold(line, lambda: send(line.model))
    line.released.set()
    await asyncio.wait({task}, timeout=PATIENCE)
    assert task.cancelled()
    assert "exception" not in line.recorder.types()


@pytest.mark.asyncio
@needs_a_close_that_waits
async def test_2_5_a_connection_that_others_have_closed_has_no_opener(line: Line) -> None:
    opened, closed = asyncio.Event(), asyncio.Event()

    async def open_and_send() -> None:
        await line.model.connect(settings(line))
        opened.set()
        await closed.wait()
        await send(line.model)

    task = await close_and_hold(line, open_and_send)
    line.released.set()
    await opened.wait()
    await line.model.close()
    closed.set()
    await asyncio.wait({task}, timeout=PATIENCE)
    assert task.cancelled()
    assert "exception" not in line.recorder.types()


@pytest.mark.asyncio
async def test_2_5_what_sends_without_an_event_loop_is_none(line: Line) -> None:
    """While there is one, a coroutine of another model may be driven by hand in a thread."""
    await close_and_hold(line)
    model: Any = OpenAIRealtimeWebSocketModel()
    model._websocket = socket = RecordingSocket()

    def drive() -> None:
        with pytest.raises(StopIteration):
            send(model).send(None)

    await asyncio.to_thread(drive)
    assert [frame["type"] for frame in socket.frames] == ["conversation.item.delete"]


@pytest.fixture
def covered() -> Iterator[None]:
    """Somebody else's wrappers on top of the fixes, which are on again afterwards."""
    model: Any = OpenAIRealtimeWebSocketModel
    shim.revert()
    originals = {name: vars(model)[name] for name in GUARDED if name in vars(model)}
    shim.apply()
    for name in originals:
        setattr(model, name, PASS_ON(vars(model)[name]))
    yield
    shim.revert()
    for name, original in originals.items():
        setattr(model, name, original)
    shim.apply()


@pytest.mark.asyncio
@pytest.mark.usefixtures("covered")
@needs_a_close_that_waits
async def test_a_fix_that_is_taken_off_lets_go_of_the_listeners(line: Line) -> None:
    """The release has its defect again: what an old listener sends, the new connection gets."""
    task = await close_and_hold(line, lambda: send(line.model))
    shim.revert()
    connection = await line.connect()
    line.released.set()
    await connection.wait_for("conversation.item.delete", timeout=PATIENCE)
    await asyncio.wait({task}, timeout=PATIENCE)
    assert task.done()
    assert not task.cancelled()


@pytest.mark.asyncio
@pytest.mark.usefixtures("covered")
@pytest.mark.skipif(wire.since("0.2.1"), reason="0.2.0 alone retrieves no item in particular")
async def test_a_fix_that_is_taken_off_holds_nothing_back() -> None:
    shim.revert()
    call = Call()
    message: Any = {"type": "conversation.item.retrieve"}
    await call.model.send_event(RealtimeModelSendRawMessage(message=message))
    assert call.socket.frames == [message]
