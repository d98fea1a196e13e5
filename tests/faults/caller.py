"""An application with one model instance, which holds one conversation after another."""

from __future__ import annotations

import asyncio
import itertools
import random
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any

import wire
from agents import function_tool
from agents.realtime import RealtimeAgent, RealtimeRunner, openai_realtime
from agents.realtime.model import RealtimeModelListener
from agents.realtime.model_inputs import RealtimeModelSendRawMessage
from agents.realtime.openai_realtime import OpenAIRealtimeWebSocketModel

from .leftovers import no_client_sockets, no_tasks_beside, running_tasks
from .server import Server
from .state import connection_state, new_state
from .waiting import PATIENCE, outcome, until, within_patience

TOOL = "look_up"
"""The name of the agent's tool. A call of it does not end before `Caller.tool_may_end` is set."""


class Recorder(RealtimeModelListener):
    """Keeps the events of a model, over all its connections."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    async def on_event(self, event: Any) -> None:
        self.events.append(event)

    def types(self) -> list[str]:
        """Return the types of the events, oldest first."""
        return [event.type for event in self.events]

    def problems(self) -> list[Any]:
        """Return what the error and exception events say."""
        events = [event for event in self.events if event.type in ("error", "exception")]
        return [getattr(event, event.type) for event in events]


class Caller:
    """One model instance, and the sessions that a runner begins with it.

    ``session`` is the newest session, ``connection`` the newest connection as the server sees it.
    The tasks that run when this is made are taken for the application's own. ``released`` is for
    listeners that hold something up: it is set at the end at the latest, so that they all end.
    """

    def __init__(self, server: Server, *, model: Any = None, tracker: Any = None) -> None:
        self.server = server
        self.tracker = tracker
        self.model: Any = OpenAIRealtimeWebSocketModel() if model is None else model
        self.recorder = Recorder()
        self.model.add_listener(self.recorder)
        self.tool_runs = asyncio.Event()
        self.tool_may_end = asyncio.Event()
        self.released = asyncio.Event()
        agent = RealtimeAgent(name="assistant", tools=[self._tool()])
        self.runner: Any = RealtimeRunner(agent, model=self.model)
        self.session: Any = None
        self.connection: Any = None
        self.own_tasks = running_tasks()
        self._barriers = itertools.count()

    def _tool(self) -> Any:
        async def look_up() -> str:
            """Look something up."""
            self.tool_runs.set()
            await self.tool_may_end.wait()
            return "found"

        return function_tool(look_up)

    @property
    def model_config(self) -> Any:
        """What the model is connected with."""
        config = {"api_key": "test", "url": self.server.url, "initial_model_settings": {}}
        return config if self.tracker is None else {**config, "playback_tracker": self.tracker}

    async def begin(self) -> None:
        """Begin a session on the model, up to the connection.

        Raises AssertionError if the model cannot be connected.
        """
        self.session = await self.runner.run(model_config=self.model_config)
        error = await outcome(self.session.enter())
        if error is not None:
            raise AssertionError(f"the model cannot be connected: {error!r}") from error

    async def call(self) -> None:
        """Begin a session on the model, and wait until it is set up."""
        number = len(self.server.connections) + 1
        await self.begin()
        await self.answered(number)

    async def answered(self, number: int) -> None:
        """Wait for the server's connection of this number, and until it is set up."""
        self.connection = await self.server.connection(number, timeout=PATIENCE)
        # The session's settings, and the tracing that follows session.created.
        await self.connection.wait_for("session.update", count=2, timeout=PATIENCE)
        await self.settle()

    async def settle(self) -> None:
        """Wait until the model has handled what was sent, and the server has what came of it."""
        name = f"barrier_{next(self._barriers)}"
        await self.connection.send(wire.deleted(name))

        def handled() -> bool:
            return any(getattr(event, "item_id", None) == name for event in self.recorder.events)

        await until(handled, "the model does not handle the server's events")
        await self.send_barrier()

    async def send_barrier(self) -> None:
        """Wait until the server has read everything that the model has sent."""
        barrier = "input_audio_buffer.clear"
        number = self.frames().count(barrier) + 1
        await self.send_raw({"type": barrier})
        await self.connection.wait_for(barrier, count=number, timeout=PATIENCE)

    async def send_raw(self, message: Any) -> None:
        """Let the model send a frame of this type, with ``other_data`` as its other fields."""
        await self.model.send_event(RealtimeModelSendRawMessage(message=message))

    async def send_stuck_message(self) -> asyncio.Task[None]:
        """Let the server stop reading, and a message of the user stop halfway because of it.

        Returns the task that sends it.
        """
        self.server.stop_reading()
        transport = self.model._websocket.transport
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        # Random, as it is compressed.
        words = random.Random(0).randbytes(100_000).hex()
        message: asyncio.Task[None] = asyncio.ensure_future(self.session.send_message(words))
        self.own_tasks.add(message)
        await until(lambda: transport.get_write_buffer_size() > 0, "the message is out already")
        return message

    def frames(self) -> list[str]:
        """Return the types of the frames on the newest connection, oldest first."""
        return [frame["type"] for frame in self.connection.received]

    def session_events(self) -> list[Any]:
        """Return the newest session's events that nobody has taken off its queue."""
        return list(self.session._event_queue._queue)

    async def lost(self) -> None:
        """Wait until the model's socket is closed, whoever closed it, and the model knows it.

        Its listener may be held up by a tool or by a model listener; that is not waited for.
        """
        websocket, listener = self.model._websocket, self.model._websocket_task
        if websocket is not None:
            await within_patience(websocket.wait_closed(), "the socket is not closed")
        if listener is not None:
            await asyncio.wait({listener}, timeout=0.01)

    async def hang_up(self) -> None:
        """Close the session, and check that no socket and no task of it is left."""
        error = await outcome(self.session.close())
        assert error is None, f"close() raises {error!r}"
        await self.nothing_left()

    async def nothing_left(self) -> None:
        """Check that no socket of the model's and no task but the application's is left."""
        await no_client_sockets(self.server.port)
        await no_tasks_beside(self.own_tasks)

    def check_new(self) -> None:
        """Check that the model, and the application's tracker, know of no connection."""
        assert connection_state(self.model) == new_state()
        if self.tracker is not None:
            assert self.tracker.get_state()["current_item_id"] is None


@asynccontextmanager
async def calling(*, model: Any = None, tracker: Any = None) -> AsyncIterator[Caller]:
    """Start a server and yield a caller; at the end check that nothing is left at all.

    The caller has a model of its own, and no playback tracker, unless they are given.
    """
    before = running_tasks()
    async with Server() as server:
        caller = Caller(server, model=model, tracker=tracker)
        try:
            yield caller
            await no_tasks_beside(caller.own_tasks)
        finally:
            caller.tool_may_end.set()
            caller.released.set()
            server.greeting.set()
            server.read_again()
            for each in server.sockets:
                each.transport.abort()
            # A bare release may be left in a state in which it cannot.
            await outcome(asyncio.wait_for(caller.model.close(), timeout=1))
    await no_client_sockets(server.port)
    await no_tasks_beside(before)


def remember_parsers() -> None:
    """Let 0.2.x build the parser of server events once, and not for each event (20 ms)."""
    module: Any = openai_realtime
    adapter: Callable[..., Any] | None = getattr(module, "TypeAdapter", None)
    if adapter is not None and not hasattr(adapter, "cache_info"):
        module.TypeAdapter = lru_cache(maxsize=None)(adapter)
