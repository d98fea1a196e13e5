"""``connect()`` and ``close()`` of one model, from two tasks at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from .caller import Caller, calling
from .clean import check_response, check_untouched, converse
from .phases import Phase, find_phase, in_phases
from .suspensions import Suspensions, at, at_every_suspension, cancel
from .waiting import outcome, within_patience


async def next_session(caller: Caller) -> Any:
    """Make another session, which is not begun."""
    return await caller.runner.run(model_config=caller.model_config)


async def check_closed_or_connected(caller: Caller, connections: int) -> None:
    """Check that the model is either closed or has a connection that works; end that one.

    There were so many connections before.
    """
    if caller.model._websocket is None:
        assert caller.model._websocket_task is None
        caller.check_new()
    else:
        caller.recorder.events.clear()
        await caller.answered(connections + 1)
        await check_untouched(caller)
        await check_response(caller)
    await caller.hang_up()
    caller.check_new()


@pytest.mark.asyncio
@in_phases("audio", "tool")
async def test_2_4_a_connect_during_a_close(phase: Phase) -> None:
    async with calling() as caller:

        async def attempt(number: int) -> Suspensions:
            await phase.reach(caller)
            phase.leave(caller)
            connections = len(caller.server.connections)
            old, session = caller.session, await next_session(caller)
            entering: list[asyncio.Task[Any]] = []

            def enter() -> None:
                entering.append(asyncio.ensure_future(outcome(session.enter())))

            closing = Suspensions(caller.model.close(), place=at(number), do=enter)
            assert await outcome(closing) is None
            for task in entering:
                error = await task
                assert error is None or str(error) == "Already connected", error
            caller.session = session
            await old.close()
            await check_closed_or_connected(caller, connections)
            await converse(caller)
            return closing

        assert await at_every_suspension(attempt) >= 1


@pytest.mark.asyncio
async def test_2_4_a_close_during_a_connect() -> None:
    async with calling() as caller:

        async def attempt(number: int) -> Suspensions:
            connections = len(caller.server.connections)
            caller.session = await next_session(caller)
            closing: list[asyncio.Task[Any]] = []

            def close() -> None:
                closing.append(asyncio.ensure_future(outcome(caller.model.close())))

            entering = Suspensions(caller.session.enter(), place=at(number), do=close)
            await outcome(entering)
            for task in closing:
                assert await task is None
            await check_closed_or_connected(caller, connections)
            await converse(caller)
            return entering

        assert await at_every_suspension(attempt) >= 2


@pytest.mark.asyncio
async def test_2_4_a_connect_that_is_cancelled() -> None:
    async with calling() as caller:

        async def attempt(number: int) -> Suspensions:
            caller.session = await next_session(caller)
            entering = Suspensions(caller.session.enter(), place=at(number), do=cancel)
            await outcome(entering)
            await caller.hang_up()
            caller.check_new()
            await converse(caller)
            return entering

        assert await at_every_suspension(attempt) >= 2


@pytest.mark.asyncio
@in_phases("session.created", "audio")
async def test_2_5_a_connect_as_soon_as_a_close_lets_it(phase: Phase) -> None:
    async with calling() as caller:
        await phase.reach(caller)
        old, session = caller.session, await next_session(caller)

        async def connect() -> None:
            while True:
                with suppress(AssertionError):
                    await session.enter()
                    return
                await asyncio.sleep(0)

        closing = asyncio.ensure_future(caller.model.close())
        await within_patience(connect(), "the model cannot be connected")
        assert await outcome(closing) is None
        await old.close()
        caller.session = session
        await check_closed_or_connected(caller, 1)
        await converse(caller)


Close = Callable[[Caller], Coroutine[Any, Any, None]]


async def close_model(caller: Caller) -> None:
    await caller.model.close()


async def close_session(caller: Caller) -> None:
    await caller.session.close()


CLOSES = {"model": close_model, "session": close_session}


@pytest.mark.asyncio
@pytest.mark.parametrize("gives_up", [False, True], ids=["both wait", "the first gives up"])
@pytest.mark.parametrize("second", CLOSES.values(), ids=CLOSES)
@pytest.mark.parametrize("first", CLOSES.values(), ids=CLOSES)
async def test_2_4_two_closes(first: Close, second: Close, gives_up: bool) -> None:
    async with calling() as caller:

        async def attempt(number: int) -> Suspensions:
            await find_phase("audio").reach(caller)
            others: list[asyncio.Task[Any]] = []

            def join() -> None:
                others.append(asyncio.ensure_future(outcome(second(caller))))
                if gives_up:
                    cancel()

            closing = Suspensions(first(caller), place=at(number), do=join)
            error = await outcome(closing)
            assert error is None or (gives_up and isinstance(error, asyncio.CancelledError))
            for task in others:
                assert await task is None
            await caller.hang_up()
            caller.check_new()
            await converse(caller)
            return closing

        assert await at_every_suspension(attempt) >= 1
