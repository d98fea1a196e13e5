"""The two upstream reports, end to end: `RealtimeRunner` and a server on a real WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import wire
from agents import function_tool
from agents.realtime import RealtimeAgent, RealtimeRunner
from loading import PATIENCE, loopback

Turn = loopback.Turn


class Application:
    """What an application sees of one session."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.events: list[Any] = []
        self.errors: list[Any] = []
        self._changed = asyncio.Event()

    async def listen(self) -> None:
        try:
            async for event in self.session:
                self.events.append(event)
                if event.type == "error":
                    self.errors.append(event)
                self._changed.set()
        except Exception as error:
            self.errors.append(error)
            self._changed.set()

    async def until(self, event_type: str, *, count: int = 1) -> None:
        """Wait for the count-th session event of a type, or an error."""

        async def wait() -> None:
            while len(self.of_type(event_type)) < count and not self.errors:
                self._changed.clear()
                await self._changed.wait()

        await asyncio.wait_for(wait(), timeout=PATIENCE)

    def of_type(self, event_type: str) -> list[Any]:
        return [event for event in self.events if event.type == event_type]


@asynccontextmanager
async def running(runner: RealtimeRunner, server: Any) -> AsyncIterator[Application]:
    config: Any = {"url": server.url, "api_key": "test"}
    async with await runner.run(model_config=config) as session:
        application = Application(session)
        listening = asyncio.create_task(application.listen())
        try:
            yield application
        finally:
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening


def statuses(application: Application) -> dict[str, str | None]:
    history = application.session._history
    return {item.item_id: getattr(item, "status", None) for item in history}


@pytest.mark.asyncio
@wire.needs_assistant_audio
@pytest.mark.parametrize(
    "omit",
    [frozenset(), frozenset({"status@conversation.item.retrieved"})],
    ids=["with-status", "without-status"],
)
async def test_4597_a_finished_answer_stays_completed(omit: frozenset[str]) -> None:
    """After the user's next words the SDK retrieves the last answer, and took it back."""
    behaviour = loopback.Behaviour(omit=omit)
    async with loopback.LoopbackServer(protocol=wire.PROTOCOL, behaviour=behaviour) as server:
        runner = RealtimeRunner(RealtimeAgent(name="assistant"))
        async with running(runner, server) as application:
            connection = await server.connection()
            item_id = await connection.respond(Turn(transcript="It is sunny."))
            await application.until("agent_end")
            updates = len(application.of_type("history_updated"))
            if wire.since("0.2.4"):
                await connection.user_speaks("Thank you.")
            else:  # Speech makes these releases forget the answer that they would retrieve.
                await connection.send(wire.transcribed("item_1", "Thank you."))
            await connection.wait_for("conversation.item.retrieve", timeout=PATIENCE)
            # The transcription, and the answer as it was retrieved.
            await application.until("history_updated", count=updates + 2)
            assert not application.errors
            assert statuses(application)[item_id] == "completed"


@pytest.mark.asyncio
@pytest.mark.parametrize("hold", [None, 3], ids=["after-response", "mid-response"])
async def test_5068_two_sessions_on_one_runner(hold: int | None) -> None:
    """The second session's server must hear nothing of the first one's items."""
    if hold is None and not wire.since("0.2.1"):
        pytest.skip("0.2.0 accepts no audio in finished assistant messages")
    async with loopback.LoopbackServer(protocol=wire.PROTOCOL) as server:
        runner = RealtimeRunner(RealtimeAgent(name="assistant"))
        async with running(runner, server) as first:
            connection = await server.connection(1)
            await connection.respond(Turn(hold_after_deltas=hold, audio_ms=5000))
            await first.until("audio")
            assert not first.errors

        async with running(runner, server) as second:
            connection = await server.connection(2)
            await connection.wait_for("session.update", count=2, timeout=PATIENCE)
            await connection.speech_started()
            await connection.user_speaks("Hello?")
            await second.until("history_updated" if wire.GA else "raw_model_event")
            await second.session.interrupt()
            # An answer to everything that was sent before it.
            await second.session.send_audio(b"", commit=False)
            await connection.wait_for("input_audio_buffer.append", timeout=PATIENCE)
            assert connection.errors == []
            assert not second.errors
            assert not second.of_type("audio_interrupted")


@pytest.mark.asyncio
@pytest.mark.skipif(not wire.since("0.2.1"), reason="0.2.0 answers tool calls with the wrong id")
async def test_the_output_of_a_tool_call_reaches_the_history() -> None:
    @function_tool
    def weather() -> str:
        return "sunny"

    call = loopback.FunctionCall(name="weather")
    turns = [Turn(transcript="", function_call=call), Turn(transcript="", text="It is sunny.")]
    async with loopback.LoopbackServer(protocol=wire.PROTOCOL, turns=turns) as server:
        runner = RealtimeRunner(RealtimeAgent(name="assistant", tools=[weather]))
        async with running(runner, server) as application:
            await application.session.send_message("What is the weather?")
            await application.until("agent_end", count=2)
            assert not application.errors
            (item,) = [
                item for item in application.session._history if item.type == "function_call"
            ]
            assert (item.status, item.output) == ("completed", "sunny")
