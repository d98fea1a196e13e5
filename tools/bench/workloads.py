"""What is timed. It needs the SDK, and runs in a process of each side; see `tools.bench.player`."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

from agents.realtime import RealtimeAgent, RealtimeSession
from agents.realtime.items import AssistantAudio, AssistantMessageItem, InputAudio, UserMessageItem
from agents.realtime.model_events import (
    RealtimeModelItemUpdatedEvent,
    RealtimeModelTranscriptDeltaEvent,
)
from agents.realtime.openai_realtime import OpenAIRealtimeWebSocketModel

from tools.bench import call

SERVER_VARIABLE = "BENCH_SERVER"
"""The environment variable with the URL of the loopback server."""

_SETTLED = 0.01
"""Seconds after which the first events of a connection are handled."""

_BATCH = 20
"""Events per sample: each is handled while the events before it are on the session's queue."""

_LIVE = "item_live"
_WORDS = "Your train to the coast leaves at nine. "

Handler = Callable[[Any], Awaitable[None]]


class _Socket:
    """Takes what the model sends."""

    async def send(self, payload: str) -> None:
        pass


def _history(size: int) -> list[Any]:
    """Return a new list of completed items, and last the assistant's that is being spoken."""
    return list(_items(size))


@cache
def _items(size: int) -> list[Any]:
    history: list[Any] = []
    for index in range(size - 1):
        shared: dict[str, Any] = {
            "item_id": f"item_{index}",
            "previous_item_id": f"item_{index - 1}" if index else None,
            "type": "message",
        }
        if index % 2:
            part = AssistantAudio(type="audio", transcript=_WORDS)
            history.append(
                AssistantMessageItem(**shared, role="assistant", status="completed", content=[part])
            )
        else:
            spoken = InputAudio(type="input_audio", transcript=_WORDS)
            history.append(UserMessageItem(**shared, role="user", content=[spoken]))
    previous = history[-1].item_id if history else None
    return [*history, _item(_LIVE, "in_progress", previous)]


def _item(item_id: str, status: Any, previous: str | None, *content: Any) -> Any:
    return AssistantMessageItem(
        item_id=item_id,
        previous_item_id=previous,
        type="message",
        role="assistant",
        status=status,
        content=list(content),
    )


def _session() -> tuple[Any, Any]:
    """Return a model whose frames go nowhere, and a session that listens to it."""
    model: Any = OpenAIRealtimeWebSocketModel()
    model._websocket = _Socket()
    session = RealtimeSession(model, RealtimeAgent(name="assistant"), None)
    model.add_listener(session)
    return model, session


async def _per_event(handle: Handler, events: list[Any]) -> float:
    gc.collect()
    started = perf_counter()
    for event in events:
        await handle(event)
    return (perf_counter() - started) / len(events)


async def session_delta(size: int) -> float:
    """A transcript delta, as the model's event for the session."""
    _, session = _session()
    session._history = _history(size)
    events = [
        RealtimeModelTranscriptDeltaEvent(item_id=_LIVE, delta="hey ", response_id="resp")
        for _ in range(_BATCH)
    ]
    return await _per_event(session.on_event, events)


async def session_snapshot(size: int) -> float:
    """The live item again, with another status and transcript, as an event for the session."""
    _, session = _session()
    session._history = _history(size)
    events = [
        RealtimeModelItemUpdatedEvent(
            item=_item(
                _LIVE,
                "completed" if index % 2 else "in_progress",
                None,
                AssistantAudio(type="audio", transcript=f"{_WORDS}{index}"),
            )
        )
        for index in range(_BATCH)
    ]
    return await _per_event(session.on_event, events)


async def session_new_item(size: int) -> float:
    """An item that is not in the history yet, as an event for the session."""
    _, session = _session()
    session._history = _history(size)
    events = [
        RealtimeModelItemUpdatedEvent(item=_item(f"item_new_{index}", "in_progress", _LIVE))
        for index in range(_BATCH)
    ]
    return await _per_event(session.on_event, events)


async def wire_delta(size: int) -> float:
    """A transcript delta, as an event of the server: the model and the session handle it."""
    model, session = _session()
    session._history = _history(size)
    events = [call.transcript_delta(_LIVE, "hey ") for _ in range(_BATCH)]
    return await _per_event(model._handle_ws_event, events)


async def wire_snapshot(size: int) -> float:
    """The live item again, retrieved from the server."""
    model, session = _session()
    session._history = _history(size)
    events = [
        call.retrieved(_LIVE, "completed" if index % 2 else "in_progress", f"{_WORDS}{index}")
        for index in range(_BATCH)
    ]
    return await _per_event(model._handle_ws_event, events)


async def wire_new_item(size: int) -> float:
    """An item that is not in the history yet, from the server."""
    model, session = _session()
    session._history = _history(size)
    events = [call.retrieved(f"item_new_{index}", "in_progress", "") for index in range(_BATCH)]
    return await _per_event(model._handle_ws_event, events)


async def whole_call(seconds: int) -> float:
    """All events of a call that long, handled without a pause; the queue is read meanwhile."""
    model, session = _session()
    events = list(call.call(turns=seconds // call.SECONDS_PER_TURN))
    gc.collect()
    started = perf_counter()
    for event in events:
        await model._handle_ws_event(event)
        while not session._event_queue.empty():
            session._event_queue.get_nowait()
    return perf_counter() - started


async def close_connection(_: int) -> float:
    """close(), of a WebSocket to the loopback server."""
    model = OpenAIRealtimeWebSocketModel()
    await model.connect({"url": os.environ[SERVER_VARIABLE], "api_key": "key"})
    await asyncio.sleep(_SETTLED)
    gc.collect()
    started = perf_counter()
    await model.close()
    return perf_counter() - started


async def read_release_table(_: int) -> float:
    """Reading the release table and hashing the SDK's files, as `import shim` has it done."""
    import agents.realtime

    from shim import guard

    folder = Path(str(agents.realtime.__file__)).parent
    gc.collect()
    started = perf_counter()
    guard.examine(folder, table=guard.release_table())
    return perf_counter() - started


WORKLOADS: dict[str, Callable[[int], Awaitable[float]]] = {
    function.__name__: function
    for function in (
        session_delta,
        session_snapshot,
        session_new_item,
        wire_delta,
        wire_snapshot,
        wire_new_item,
        whole_call,
        close_connection,
        read_release_table,
    )
}
