"""Model listeners that raise, are slow, swallow their cancellation or close the model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
import wire
from agents.realtime.model import RealtimeModelListener

from .caller import Caller, calling
from .clean import check_response, check_untouched, converse
from .phases import Phase, find_phase, in_phases
from .waiting import outcome, until, within_patience

# Up to 0.4.0 the listeners that come after the one that waits are handed the old item.
EVENT_TYPES = ["audio", "turn_started", *(["item_updated"] if wire.since("0.4.1") else [])]

needs_a_close_that_waits = pytest.mark.skipif(
    not wire.since("0.4.1"), reason="to 0.4.0 close() does not wait for the listener task"
)
needs_a_close_that_does_not_wait = pytest.mark.skipif(
    wire.since("0.4.1"), reason="from 0.4.1 close() waits for the listener task"
)


class Doing(RealtimeModelListener):
    """Does something, once, when the model has an event of a type; ``done`` tells when it has."""

    def __init__(self, event_type: str, action: Callable[[], Awaitable[object]]) -> None:
        self.begun = asyncio.Event()
        self.done = asyncio.Event()
        self._event_type = event_type
        self._action = action

    async def on_event(self, event: Any) -> None:
        if event.type != self._event_type or self.begun.is_set():
            return
        self.begun.set()
        try:
            await self._action()
        finally:
            self.done.set()


class Raising(RealtimeModelListener):
    """Raises at every event of these types, or at every one."""

    def __init__(self, error: BaseException, *event_types: str) -> None:
        self.raised = 0
        self._error = error
        self._event_types = event_types

    async def on_event(self, event: Any) -> None:
        if not self._event_types or event.type in self._event_types:
            self.raised += 1
            raise self._error


async def hold(caller: Caller) -> None:
    """Wait until the caller lets go, whatever cancels it meanwhile."""
    while not caller.released.is_set():
        with suppress(asyncio.CancelledError):
            await caller.released.wait()


async def speak(caller: Caller) -> None:
    """Let the assistant be in the middle of a response, with more on the way.

    Nothing here waits for the model to handle it.
    """
    for event in find_phase("transcript").events:
        await caller.connection.send(event)


RAISED: dict[str, Callable[[], BaseException]] = {
    "ValueError": lambda: ValueError("of the application"),
    "AssertionError": lambda: AssertionError("Not connected"),
    "CancelledError": asyncio.CancelledError,
}


@pytest.mark.asyncio
@pytest.mark.parametrize("types", [("audio",), ("exception",), ()], ids=["audio", "end", "all"])
@pytest.mark.parametrize("make", RAISED.values(), ids=RAISED)
async def test_2_4_a_listener_that_raises(
    make: Callable[[], BaseException], types: tuple[str, ...]
) -> None:
    """Up to three times: at the event, when that is reported, and at the end of the connection."""
    async with calling() as caller:
        await caller.call()
        listener = Raising(make(), *types)
        caller.model.add_listener(listener)
        await speak(caller)
        if types != ("exception",):
            await until(lambda: listener.raised > 0, "the listener is not called")
        caller.server.sockets[-1].transport.abort()
        await caller.lost()
        # close() may report what the listener task ended with.
        await outcome(caller.model.close())
        caller.check_new()
        caller.model.remove_listener(listener)
        await caller.hang_up()
        await converse(caller)


@pytest.mark.asyncio
@pytest.mark.parametrize("is_cut", [False, True], ids=["open", "cut"])
@pytest.mark.parametrize("event_type", ["audio", "item_updated"])
async def test_2_4_a_listener_that_is_slow(event_type: str, is_cut: bool) -> None:
    async with calling() as caller:
        await caller.call()
        listener = Doing(event_type, asyncio.Event().wait)
        caller.model.add_listener(listener)
        await speak(caller)
        await within_patience(listener.begun.wait(), "the listener is not called")
        if is_cut:
            caller.server.sockets[-1].transport.abort()
            await caller.lost()
        await caller.hang_up()
        assert listener.done.is_set()
        caller.check_new()
        await converse(caller)


@pytest.mark.asyncio
@needs_a_close_that_waits
@pytest.mark.parametrize("gives_up", [False, True], ids=["waits", "gives up"])
@pytest.mark.parametrize("event_type", EVENT_TYPES)
async def test_2_4_a_listener_that_swallows_the_cancellation_while_close_waits(
    event_type: str, gives_up: bool
) -> None:
    async with calling() as caller:
        await caller.call()
        listener = Doing(event_type, lambda: hold(caller))
        caller.model.add_listener(listener)
        await speak(caller)
        await within_patience(listener.begun.wait(), "the listener is not called")
        closing = asyncio.ensure_future(caller.model.close())
        await within_patience(caller.server.sockets[-1].wait_closed(), "the socket is not closed")
        if gives_up:
            closing.cancel()
            await asyncio.sleep(0)
        caller.released.set()
        await outcome(closing)
        caller.check_new()
        await caller.hang_up()
        await converse(caller)


@pytest.mark.asyncio
@needs_a_close_that_does_not_wait
@pytest.mark.parametrize("event_type", EVENT_TYPES)
async def test_2_5_a_listener_that_outlives_close(event_type: str) -> None:
    async with calling() as caller:
        listener = Doing(event_type, lambda: hold(caller))
        # Before the session: what the listener holds up has not reached that yet.
        caller.model.add_listener(listener)
        await caller.call()
        await speak(caller)
        await within_patience(listener.begun.wait(), "the listener is not called")
        assert await outcome(caller.session.close()) is None
        caller.check_new()
        await check_next(caller)


async def check_next(caller: Caller) -> None:
    """Hold another conversation on the model, in which an old handler goes on."""
    caller.recorder.events.clear()
    await caller.call()
    caller.released.set()
    await caller.settle()
    await check_untouched(caller)
    await check_response(caller)
    await caller.hang_up()
    caller.check_new()


async def close_model(caller: Caller) -> None:
    await caller.model.close()


async def close_session(caller: Caller) -> None:
    await caller.session.close()


CLOSES = {"model": close_model, "session": close_session}


@pytest.mark.asyncio
@pytest.mark.parametrize("first", [False, True], ids=["after the session", "before the session"])
@pytest.mark.parametrize("event_type", EVENT_TYPES)
async def test_2_5_a_listener_that_closes_the_model_and_goes_on(
    event_type: str, first: bool
) -> None:
    async with calling() as caller:

        async def close_and_hold() -> None:
            await caller.model.close()
            await hold(caller)

        listener = Doing(event_type, close_and_hold)
        if first:
            caller.model.add_listener(listener)
        await caller.call()
        caller.model.add_listener(listener)
        await speak(caller)
        await within_patience(listener.begun.wait(), "the listener is not called")
        await until(lambda: caller.model._websocket is None, "the model is not closed")
        await outcome(caller.session.close())
        await check_next(caller)
        assert listener.done.is_set()


@pytest.mark.asyncio
@pytest.mark.parametrize("close", CLOSES.values(), ids=CLOSES)
async def test_2_5_a_listener_that_closes_the_model_and_raises(
    close: Callable[[Caller], Awaitable[None]],
) -> None:
    async with calling() as caller:

        async def close_and_raise() -> None:
            await close(caller)
            raise ValueError("of the application")

        listener = Doing("audio", close_and_raise)
        await caller.call()
        caller.model.add_listener(listener)
        await speak(caller)
        await within_patience(listener.done.wait(), "the listener is not called")
        await outcome(caller.session.close())
        caller.check_new()
        await caller.nothing_left()
        await converse(caller)


@pytest.mark.asyncio
@needs_a_close_that_waits
async def test_2_5_a_listener_that_closes_the_model_and_calls_again() -> None:
    async with calling() as caller:
        listener = Doing("audio", lambda: close_and_call(caller))
        await caller.call()
        caller.model.add_listener(listener)
        await speak(caller)
        await within_patience(listener.done.wait(), "the listener is not called")
        await caller.answered(2)
        await check_untouched(caller)
        await check_response(caller)
        await caller.hang_up()
        caller.check_new()
        await converse(caller)


async def close_and_call(caller: Caller) -> None:
    """Close the model and begin another session on it, in place of the old one."""
    await caller.model.close()
    caller.model.remove_listener(caller.session)
    caller.recorder.events.clear()
    await caller.begin()


@pytest.mark.asyncio
@in_phases("audio", "response.done")
async def test_2_4_a_listener_that_closes_the_model_when_the_connection_is_cut(
    phase: Phase,
) -> None:
    async with calling() as caller:
        await phase.reach(caller)
        listener = Doing("exception", lambda: close_model(caller))
        caller.model.add_listener(listener)
        caller.server.sockets[-1].transport.abort()
        await within_patience(listener.done.wait(), "the cut is not reported")
        await caller.hang_up()
        caller.check_new()
        await converse(caller)
