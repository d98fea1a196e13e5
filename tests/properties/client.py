"""A session of the SDK with its model, joined as the runner joins them, without a socket.

Nothing here knows whether the release is shimmed, patched or bare.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Coroutine
from typing import Any

from agents import function_tool
from agents.realtime import RealtimeAgent, RealtimeSession, openai_realtime
from agents.realtime.openai_realtime import OpenAIRealtimeWebSocketModel

from .conversation import RAW
from .knowledge import View, said
from .release import does
from .wire import WEATHER, Event


class ClientError(AssertionError):
    """The SDK fails on an event, or answers it with an error."""


class _Socket:
    """Stands in for the client's WebSocket; what is sent goes nowhere."""

    async def send(self, payload: str) -> None:
        pass

    async def close(self) -> None:
        pass


class _TypeAdapters:
    """Makes pydantic's type adapters, each once.

    The releases make them anew for every event, which takes 0.2.x most of their time.
    """

    def __init__(self, make: Any) -> None:
        self._make = make
        # Not every type has a hash.
        self._made: dict[int, tuple[Any, Any]] = {}

    def __call__(self, of: Any) -> Any:
        if id(of) not in self._made:
            self._made[id(of)] = (of, self._make(of))
        return self._made[id(of)][1]


def answer(place: str) -> str:
    """Return what the tool answers."""
    return f"sunny in {place}"


class Stage:
    """What the conversations of a run share, one after the other: an event loop and a tool."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._returns: dict[str, asyncio.Event] = {}

        # To make a tool takes as long as many events.
        @function_tool(name_override=WEATHER)
        async def weather(place: str) -> str:
            if does("runs tools aside"):
                await self._return_of(place).wait()
            return answer(place)

        self.agent: RealtimeAgent[Any] = RealtimeAgent(name="assistant", tools=[weather])
        module: Any = openai_realtime
        if not isinstance(module.TypeAdapter, _TypeAdapters):
            module.TypeAdapter = _TypeAdapters(module.TypeAdapter)

    def _return_of(self, place: str) -> asyncio.Event:
        return self._returns.setdefault(place, asyncio.Event())

    def let_return(self, place: str) -> None:
        """Let the tool return that was called, or will be, for this place."""
        self._return_of(place).set()

    def clear(self) -> None:
        """End the tools that have not returned, and get ready for the next conversation."""
        self.loop.run_until_complete(self._end_tasks())
        self._returns.clear()

    async def _end_tasks(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def close(self) -> None:
        """Close the event loop."""
        self.loop.close()


class Client:
    """One conversation: server events go in, history and session events come out."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._model: Any = OpenAIRealtimeWebSocketModel()
        self._session: Any = RealtimeSession(self._model, stage.agent, None)
        socket: Any = _Socket()
        self._model._websocket = socket
        self._model.add_listener(self._session)

    @property
    def history(self) -> list[Any]:
        """The session's list, not a copy."""
        history: list[Any] = self._session._history
        return history

    def receive(self, event: Event) -> list[Any]:
        """Let the model handle a server event, and return the session's events about it.

        Raises:
            ClientError: the SDK raises, or tells of an error.
        """
        # 0.2.x change what they are given.
        payload = {"event_id": "event_1", **copy.deepcopy(event)}
        return self._do(self._model._handle_ws_event(payload))

    def let_return(self, place: str) -> list[Any]:
        """Let the tool that was called for this place return, and return the session's events."""
        self._stage.let_return(place)
        return self._do(asyncio.sleep(0))

    def _do(self, action: Coroutine[Any, Any, Any]) -> list[Any]:
        try:
            self._stage.loop.run_until_complete(self._settled(action))
        except Exception as error:
            raise ClientError(f"the SDK raises {error!r}") from error
        events = []
        queue = self._session._event_queue
        while not queue.empty():
            events.append(queue.get_nowait())
        for event in events:
            data = getattr(event, "data", event)
            if "error" in (event.type, data.type) or data.type == "exception":
                raise ClientError(f"the session tells of an error: {data}")
        return events

    async def _settled(self, action: Coroutine[Any, Any, Any]) -> None:
        """Wait for the action, and for the tools as long as they do not wait themselves."""
        await action
        # No public interface tells what a loop has yet to run; this is as old as asyncio.
        loop: Any = self._stage.loop
        while loop._ready:
            await asyncio.sleep(0)

    def close(self) -> None:
        """End the conversation."""
        self._stage.clear()


def name_of(event: Any) -> str:
    """Return the name of a session event, the way `Conversation` has it."""
    if event.type == "raw_model_event":
        return f"{RAW}{event.data.type}"
    return str(event.type)


def view_of(item: Any) -> View:
    """Return a history item: its fields that say something, and its content as parts."""
    fields = said(dict(item))
    if item.type == "message":
        fields["content"] = [said(dict(part)) for part in item.content]
    return fields
