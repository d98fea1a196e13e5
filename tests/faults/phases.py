"""The phases of a conversation in which a connection may end."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import wire

from .caller import TOOL, Caller
from .waiting import PATIENCE, until

_ITEM = "item_old"
_RESPONSE = "resp_old"


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A phase, as the server events that lead to it.

    Attributes:
        name: What has just happened.
        events: The server's events after ``session.created``, all handled when it is reached.
        greeted: Whether there was a ``session.created``.
        interrupted: Whether the application interrupts the assistant then.
        unanswered: The type of the frame that the model sends at last, and that the server does
            not answer.
        calls_tool: The agent's tool is running.
        audio: The assistant has produced audio.
    """

    name: str
    events: tuple[wire.Event, ...] = ()
    greeted: bool = True
    interrupted: bool = False
    unanswered: str | None = None
    calls_tool: bool = False
    audio: bool = False

    async def reach(self, caller: Caller) -> None:
        """Begin a session and let it come to this phase."""
        caller.tool_runs.clear()
        caller.tool_may_end.clear()
        if not self.greeted:
            caller.server.greeting.clear()
            await caller.begin()
            return
        await caller.call()
        caller.recorder.events.clear()
        for event in self.events:
            await caller.connection.send(event)
        if self.calls_tool:
            await until(caller.tool_runs.is_set, "the tool is not called")
        elif self.unanswered is None:
            await caller.settle()
        else:
            # The frame cannot be here yet: it takes the client a few turns of the loop.
            caller.connection.send = _say_nothing
            if self.interrupted:
                await until(lambda: "audio" in caller.recorder.types(), "the audio is not handled")
                await caller.session.interrupt()
            await caller.connection.wait_for(self.unanswered, timeout=PATIENCE)

    def leave(self, caller: Caller) -> None:
        """Let the server greet the next connection, and a tool that still runs end."""
        caller.server.greeting.set()
        caller.tool_may_end.set()


async def _say_nothing(event: wire.Event) -> None:
    """Stands in for the sending of a server's event."""


def _message(*parts: wire.Event, status: str) -> wire.Event:
    return wire.message(_ITEM, "assistant", *parts, status=status)


def _call(status: str, arguments: str = "") -> wire.Event:
    return {
        "id": _ITEM,
        "object": "realtime.item",
        "type": "function_call",
        "name": TOOL,
        "call_id": "call_old",
        "arguments": arguments,
        "status": status,
    }


def _arguments_delta(delta: str) -> wire.Event:
    return {
        "type": "response.function_call_arguments.delta",
        "response_id": _RESPONSE,
        "item_id": _ITEM,
        "call_id": "call_old",
        "output_index": 0,
        "delta": delta,
    }


# Longer than any test: up to 0.2.3 only audio that would still be playing is interrupted.
_AUDIO = wire.audio_delta(_ITEM, response_id=_RESPONSE, ms=10_000)
_WORDS = wire.transcript_delta(_ITEM, "Good ")

_CREATED = (wire.response_created(_RESPONSE),)
_ADDED = (*_CREATED, wire.output_added(_message(status="in_progress")))
_SPOKEN = (*_ADDED, _AUDIO, _WORDS)
# 0.2.0 accepts no audio in a finished assistant message.
_PARTS = (wire.audio("Good morning."),) if wire.since("0.2.1") else ()
_ITEM_DONE = (*_SPOKEN, wire.output_done(_message(*_PARTS, status="completed")))
_DONE = (*_ITEM_DONE, wire.response_done(_RESPONSE))
_CALLING = (*_CREATED, wire.output_added(_call("in_progress")), _arguments_delta("{"))
_CALLED = (*_CALLING, wire.output_done(_call("completed", "{}")))

PHASES = (
    Phase(name="before session.created", greeted=False),
    Phase(name="session.created"),
    Phase(name="response.created", events=_CREATED),
    Phase(name="output_item.added", events=_ADDED),
    Phase(name="audio", events=(*_ADDED, _AUDIO), audio=True),
    Phase(name="transcript", events=_SPOKEN, audio=True),
    Phase(name="arguments", events=_CALLING),
    Phase(name="tool", events=_CALLED, calls_tool=True),
    Phase(name="output_item.done", events=_ITEM_DONE, audio=True),
    Phase(name="response.done", events=_DONE, audio=True),
    Phase(name="user speech", events=(*_DONE, wire.speech_started("item_old_2")), audio=True),
    Phase(
        name="truncate unanswered",
        events=_SPOKEN,
        interrupted=True,
        unanswered="conversation.item.truncate",
        audio=True,
    ),
    Phase(
        name="retrieve unanswered",
        events=(*_SPOKEN, wire.transcribed("item_old_2", "Hello.")),
        unanswered="conversation.item.retrieve",
        audio=True,
    ),
)
"""All phases, in the order of a conversation."""


def find_phase(name: str) -> Phase:
    """Return the phase of this name."""
    return next(each for each in PHASES if each.name == name)


def in_phases(*names: str) -> pytest.MarkDecorator:
    """Run a test in the phases of these names, or in all; it gets each as ``phase``."""
    chosen = [find_phase(name) for name in names] or PHASES
    return pytest.mark.parametrize("phase", chosen, ids=lambda each: each.name)
