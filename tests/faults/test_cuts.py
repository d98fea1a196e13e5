"""The connection is cut, or closed by the server, in every phase of a response."""

from __future__ import annotations

import json
from typing import Any

import agents.realtime
import pytest
import wire
from loading import loopback

from .caller import TOOL, Caller, calling
from .clean import converse
from .phases import Phase, in_phases
from .waiting import outcome, until, within_patience

CODES = pytest.mark.parametrize(
    "code", [1000, 1001, 1011], ids=["normal closure", "going away", "internal error"]
)
SOME_PHASES = ("before session.created", "audio", "tool", "response.done", "truncate unanswered")


async def cut(caller: Caller, phase: Phase) -> None:
    """Let the connection be cut in the phase, and close the session then."""
    await phase.reach(caller)
    caller.server.sockets[-1].transport.abort()
    await caller.lost()
    phase.leave(caller)
    await caller.hang_up()


async def closed_by_the_server(caller: Caller, phase: Phase, code: int) -> None:
    """Let the server close the connection in the phase, and close the session then."""
    await phase.reach(caller)
    await caller.server.sockets[-1].close(code)
    await caller.lost()
    phase.leave(caller)
    await caller.hang_up()


@pytest.mark.asyncio
@in_phases()
async def test_2_1_a_cut_leaves_a_model_as_new(phase: Phase) -> None:
    async with calling() as caller:
        await cut(caller, phase)
        caller.check_new()


@pytest.mark.asyncio
@in_phases()
async def test_2_2_the_connection_after_a_cut_is_clean(phase: Phase) -> None:
    async with calling() as caller:
        await cut(caller, phase)
        await converse(caller)


@pytest.mark.asyncio
@CODES
@in_phases(*SOME_PHASES)
async def test_2_1_a_server_that_closes_leaves_a_model_as_new(phase: Phase, code: int) -> None:
    async with calling() as caller:
        await closed_by_the_server(caller, phase, code)
        caller.check_new()


@pytest.mark.asyncio
@CODES
@in_phases(*SOME_PHASES)
async def test_2_2_the_connection_after_one_that_the_server_closed_is_clean(
    phase: Phase, code: int
) -> None:
    async with calling() as caller:
        await closed_by_the_server(caller, phase, code)
        await converse(caller)


@pytest.mark.asyncio
@wire.needs_playback_tracker
@in_phases("audio", "response.done")
async def test_2_3_a_playback_tracker_forgets_the_connection_that_was_cut(phase: Phase) -> None:
    tracker: Any = agents.realtime.RealtimePlaybackTracker()
    async with calling(tracker=tracker) as caller:
        await phase.reach(caller)
        tracker.on_play_ms("item_old", 0, 50)
        caller.server.sockets[-1].transport.abort()
        await caller.lost()
        await caller.hang_up()
        caller.check_new()
        await converse(caller)


@pytest.mark.asyncio
@in_phases("audio", "response.done")
async def test_2_6_audio_that_comes_before_the_session_after_a_cut(phase: Phase) -> None:
    async with calling() as caller:
        await cut(caller, phase)
        caller.recorder.events.clear()
        caller.server.greeting.clear()
        await caller.begin()
        await until(lambda: len(caller.server.sockets) == 2, "the server sees no connection")
        event = {"event_id": "event_1", **wire.audio_delta("item_new", response_id="resp_new")}
        await caller.server.sockets[1].send(json.dumps(event))
        heard = caller.recorder.types
        await until(lambda: {"audio", "exception"} & set(heard()) != set(), "no audio is handled")
        assert caller.recorder.problems() == []
        caller.server.greeting.set()
        await caller.answered(2)
        await caller.hang_up()


_STEM = "response.output_audio" if wire.GA else "response.audio"
_ITEM_KNOWN = "conversation.item.added" if wire.GA else "conversation.item.created"
# The server's events in a conversation, each with what the assistant does meanwhile.
_SPEAKS = loopback.Turn(transcript="Good morning to you.", audio_ms=200)
_CALLS = loopback.Turn(
    transcript="", function_call=loopback.FunctionCall(name=TOOL, arguments="{ }")
)
IN_FLIGHT = {
    "session.created": _SPEAKS,
    "session.updated": _SPEAKS,
    _ITEM_KNOWN: _SPEAKS,
    "response.created": _SPEAKS,
    "response.output_item.added": _SPEAKS,
    "response.content_part.added": _SPEAKS,
    f"{_STEM}.delta": _SPEAKS,
    f"{_STEM}_transcript.delta": _SPEAKS,
    f"{_STEM}_transcript.done": _SPEAKS,
    "response.function_call_arguments.delta": _CALLS,
    "response.output_item.done": _CALLS,
    "response.done": _SPEAKS,
}


@pytest.mark.asyncio
@pytest.mark.parametrize("event_type", IN_FLIGHT)
async def test_2_2_a_cut_that_overtakes_the_handling_of_an_event(event_type: str) -> None:
    """The application closes at once; what was sent before the cut may still be on its way."""
    async with calling() as caller:
        caller.server.turns.append(IN_FLIGHT[event_type])
        caller.server.behaviour = loopback.Behaviour(cut_after=event_type)
        caller.session = await caller.runner.run(model_config=caller.model_config)
        # The cut can come before the session is set up, or before the message is out.
        if await outcome(caller.session.enter()) is None:
            await outcome(caller.session.send_message("Hi."))
            await within_patience(caller.server.sockets[-1].wait_closed(), "no cut")
        caller.server.behaviour = loopback.Behaviour()
        caller.server.turns.clear()
        caller.tool_may_end.set()
        await caller.hang_up()
        caller.check_new()
        await converse(caller)
