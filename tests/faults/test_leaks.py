"""A model that nobody uses any more is freed, whatever became of its connections."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from agents.realtime.model import RealtimeModelListener
from agents.realtime.openai_realtime import OpenAIRealtimeWebSocketModel

from .phases import find_phase
from .server import Server
from .waiting import outcome, until

# No caller: pytest keeps what a failed test holds, and a caller holds its model.


class Keeping(RealtimeModelListener):
    """Keeps the task in which it is called, as a timeout or a task group may do."""

    def __init__(self) -> None:
        self.tasks: list[Any] = []

    async def on_event(self, event: Any) -> None:
        self.tasks.append(asyncio.current_task())


class Closing(RealtimeModelListener):
    """Closes the model when it hears audio."""

    def __init__(self, model: Any) -> None:
        self._model = model

    async def on_event(self, event: Any) -> None:
        if event.type == "audio":
            await self._model.close()


async def close(server: Server, model: Any) -> None:
    await model.close()


async def close_after_a_cut(server: Server, model: Any) -> None:
    server.sockets[-1].transport.abort()
    await asyncio.wait({model._websocket_task})
    await model.close()


async def give_up_closing(server: Server, model: Any) -> None:
    server.stop_reading()
    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(model.close(), timeout=0.01)
    server.sockets[-1].transport.abort()


async def let_a_listener_close(server: Server, model: Any) -> None:
    model.add_listener(Closing(model))
    await server.connections[-1].send(find_phase("audio").events[-1])
    await until(lambda: model._websocket is None, "the model is not closed")
    await outcome(model.close())


ENDS = (close, close_after_a_cut, give_up_closing, let_a_listener_close)


@pytest.mark.asyncio
@pytest.mark.parametrize("end", ENDS, ids=lambda each: each.__name__)
async def test_a_model_is_freed(end: Callable[[Server, Any], Awaitable[None]]) -> None:
    async with Server() as server:
        forgotten = await connect_twice(server, end)
        await until(lambda: is_freed(forgotten), "the model is kept")


async def connect_twice(
    server: Server, end: Callable[[Server, Any], Awaitable[None]]
) -> weakref.ref[Any]:
    """End two connections of a model; return a reference that does not keep it."""
    model: Any = OpenAIRealtimeWebSocketModel()
    listener = Keeping()
    model.add_listener(listener)
    settings = {"api_key": "test", "url": server.url, "initial_model_settings": {}}
    for number in (1, 2):
        await model.connect(settings)
        await server.connection(number)
        await server.connections[-1].send(find_phase("audio").events[0])
        await until(lambda: bool(listener.tasks), "the listener is not called")
        await end(server, model)
    return weakref.ref(model)


def is_freed(reference: weakref.ref[Any]) -> bool:
    gc.collect()
    return reference() is None
