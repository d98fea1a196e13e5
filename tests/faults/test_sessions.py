"""What an application with a `RealtimeSession` sees of a fault, and what it leaves to the next."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack, suppress
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from .caller import Caller, calling
from .clean import converse
from .phases import Phase, in_phases
from .waiting import outcome, within_patience


def leaving(session: Any) -> AsyncExitStack:
    """Return what leaves a session, which has been entered, as ``async with`` does."""
    stack = AsyncExitStack()
    stack.push_async_exit(session)
    return stack


async def iterate(caller: Caller) -> None:
    async for _ in caller.session:
        pass


@pytest.mark.asyncio
@in_phases("session.created", "audio", "tool", "output_item.done", "response.done")
async def test_2_4_iterating_over_a_session_whose_connection_is_cut(phase: Phase) -> None:
    """It raises, and has closed the session by itself."""
    async with calling() as caller:
        await phase.reach(caller)
        caller.server.sockets[-1].transport.abort()
        phase.leave(caller)
        with pytest.raises(ConnectionClosed):
            await within_patience(iterate(caller), "the iteration goes on")
        caller.check_new()
        await caller.nothing_left()
        await converse(caller)


@pytest.mark.asyncio
@in_phases("audio", "tool")
async def test_2_4_a_session_that_is_left_by_an_exception(phase: Phase) -> None:
    async with calling() as caller:
        await phase.reach(caller)
        with suppress(ZeroDivisionError):
            async with leaving(caller.session):
                raise ZeroDivisionError
        caller.tool_may_end.set()
        caller.check_new()
        await caller.nothing_left()
        await converse(caller)


@pytest.mark.asyncio
@in_phases("audio", "tool", "retrieve unanswered")
async def test_2_4_the_task_that_holds_a_session_is_cancelled(phase: Phase) -> None:
    """Once while it iterates, and once more while the session is closed."""
    async with calling() as caller:
        await phase.reach(caller)

        async def use() -> None:
            async with leaving(caller.session):
                # 0.17.7 and earlier end the iteration when they are cancelled.
                await iterate(caller)

        task = asyncio.ensure_future(use())
        caller.own_tasks.add(task)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        phase.leave(caller)
        await caller.hang_up()
        caller.check_new()
        await converse(caller)


@pytest.mark.asyncio
async def test_2_4_a_connection_that_is_refused() -> None:
    async with calling() as caller:
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            url = f"ws://127.0.0.1:{deaf.getsockname()[1]}/v1/realtime"
            config = {**caller.model_config, "url": url}
            caller.session = await caller.runner.run(model_config=config)
            assert isinstance(await outcome(caller.session.enter()), OSError)
        await caller.hang_up()
        caller.check_new()
        await converse(caller)
