"""The connection ends, or the application gives up waiting, while ``close()`` is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import wire
from websockets.protocol import State

from .caller import Caller, calling
from .clean import converse
from .phases import Phase, find_phase, in_phases
from .state import connection_state
from .suspensions import Place, Suspensions, at, at_every_suspension, cancel, since
from .waiting import outcome

needs_requests_that_wait = pytest.mark.skipif(
    not wire.since("0.13.1"), reason="to 0.13.0 a response.create is sent at once"
)
REPEATED = pytest.mark.parametrize("where", [at, since], ids=["once", "again and again"])

# What a close() that is cancelled early has cancelled.
_REQUESTS = {"_response_create_tasks", "_response_create_sequencer"}


def cut(caller: Caller) -> None:
    caller.server.sockets[-1].transport.abort()


def close_with(code: int) -> Callable[[Caller], None]:
    def close(caller: Caller) -> None:
        caller.own_tasks.add(asyncio.ensure_future(caller.server.sockets[-1].close(code)))

    return close


ENDS = {
    "cut": cut,
    "normal closure": close_with(1000),
    "going away": close_with(1001),
    "internal error": close_with(1011),
}


@pytest.mark.asyncio
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
@in_phases("audio", "tool")
async def test_2_4_the_connection_ends_while_the_model_is_closed(
    phase: Phase, end: Callable[[Caller], None]
) -> None:
    async with calling() as caller:

        async def attempt(number: int) -> Suspensions:
            await phase.reach(caller)
            closing = Suspensions(caller.model.close(), place=at(number), do=lambda: end(caller))
            assert await outcome(closing) is None
            caller.check_new()
            phase.leave(caller)
            await caller.hang_up()
            await converse(caller)
            return closing

        assert await at_every_suspension(attempt) >= 1


async def cancel_close(
    caller: Caller, place: Place, *, besides: Callable[[int], object] = lambda count: None
) -> Suspensions:
    """Cancel ``close()`` at a place, and check that it has done either nothing or all of it.

    The teardown begins when the socket is closed. ``besides`` is called at every suspension, with
    its number. At the end the model is closed.
    """
    websocket = caller.model._websocket
    close_socket = websocket.close
    before = without_requests(caller)
    began = False
    closing: Suspensions

    async def begin() -> None:
        nonlocal began
        began = True
        await close_socket()

    def interfere() -> None:
        besides(closing.count)
        if place(closing.count):
            cancel()

    websocket.close = begin
    closing = Suspensions(caller.model.close(), place=since(1), do=interfere)
    await outcome(closing)
    if began:
        caller.check_new()
        caller.tool_may_end.set()
        await caller.nothing_left()
    else:
        assert websocket.state is State.OPEN
        assert without_requests(caller) == before
        await check_alive(caller)
        caller.tool_may_end.set()
    await caller.hang_up()
    caller.check_new()
    return closing


def without_requests(caller: Caller) -> dict[str, Any]:
    """Return the model's state, but for its own requests for responses."""
    state = connection_state(caller.model)
    return {name: value for name, value in state.items() if name not in _REQUESTS}


async def check_alive(caller: Caller) -> None:
    """Check that the newest connection, in the middle of a response, still works."""
    await caller.settle()
    await caller.session.interrupt()
    await caller.settle()
    assert "conversation.item.truncate" in caller.frames()
    caller.recorder.events.clear()
    for event in (
        wire.response_done("resp_old"),
        wire.response_created("resp_old_2"),
        wire.audio_delta("item_old_2", response_id="resp_old_2"),
    ):
        await caller.connection.send(event)
    await caller.settle()
    assert {"turn_ended", "turn_started", "audio"} <= set(caller.recorder.types())


@pytest.mark.asyncio
@REPEATED
@in_phases("session.created", "audio", "tool", "truncate unanswered")
async def test_2_4_a_close_that_is_cancelled(phase: Phase, where: Callable[[int], Place]) -> None:
    async with calling() as caller:

        async def attempt(number: int) -> Suspensions:
            await phase.reach(caller)
            closing = await cancel_close(caller, where(number))
            await converse(caller)
            return closing

        assert await at_every_suspension(attempt) >= 1


@pytest.mark.asyncio
@needs_requests_that_wait
@REPEATED
async def test_2_4_a_close_that_is_cancelled_while_a_request_waits(
    where: Callable[[int], Place],
) -> None:
    """From 0.13.1 on close() first waits for the end of the requests that wait."""
    async with calling() as caller:

        async def attempt(number: int) -> Suspensions:
            await find_phase("audio").reach(caller)
            await caller.session.send_message("Wait for me.")
            closing = await cancel_close(caller, where(number))
            await converse(caller)
            return closing

        assert await at_every_suspension(attempt) >= 2


@pytest.mark.asyncio
@in_phases("audio", "tool")
async def test_2_4_a_session_whose_close_is_cancelled(phase: Phase) -> None:
    async with calling() as caller:

        async def attempt(number: int) -> Suspensions:
            await phase.reach(caller)
            closing = Suspensions(caller.session.close(), place=at(number), do=cancel)
            await outcome(closing)
            caller.tool_may_end.set()
            await caller.hang_up()
            caller.check_new()
            await converse(caller)
            return closing

        assert await at_every_suspension(attempt) >= 1
