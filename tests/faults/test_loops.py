"""A model that is used in one event loop after another, as by one `asyncio.run()` per call."""

from __future__ import annotations

import asyncio

from agents.realtime.openai_realtime import OpenAIRealtimeWebSocketModel

from .caller import Caller, calling
from .clean import converse
from .server import Server
from .waiting import outcome


def test_2_1_a_model_that_was_closed_in_another_loop() -> None:
    model = OpenAIRealtimeWebSocketModel()

    async def hold_conversation() -> None:
        async with calling(model=model) as caller:
            await converse(caller)
            caller.check_new()

    for _ in range(2):
        asyncio.run(hold_conversation())


def test_2_4_a_model_whose_loop_has_ended_before_it_was_closed() -> None:
    model = OpenAIRealtimeWebSocketModel()

    async def leave_open() -> None:
        # Neither is closed: the loop ends before.
        server = await Server().__aenter__()
        await Caller(server, model=model).call()

    async def close_and_go_on() -> None:
        # The socket belongs to the other loop.
        assert isinstance(await outcome(model.close()), RuntimeError)
        async with calling(model=model) as caller:
            caller.check_new()
            await converse(caller)

    asyncio.run(leave_open())
    asyncio.run(close_and_go_on())
