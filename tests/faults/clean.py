"""What the next connection has to be like: rules 2.1 to 2.6 of docs/contract.md."""

from __future__ import annotations

import wire
from agents.realtime.model_inputs import RealtimeModelSendInterrupt
from loading import loopback

from .caller import Caller
from .waiting import PATIENCE, until, within

# 0.2.0 accepts no audio in a finished assistant message.
_ANSWER = (
    loopback.Turn(transcript="Good evening.", audio_ms=50)
    if wire.since("0.2.1")
    else loopback.Turn(transcript="", text="Good evening.")
)
_OF_AN_OLD_ITEM = {"conversation.item.truncate", "conversation.item.retrieve", "response.cancel"}


async def converse(caller: Caller) -> None:
    """Begin another session on the model, check that it starts clean and works, and end it.

    No socket and no task is left of it, nor of any earlier one.
    """
    caller.recorder.events.clear()
    await caller.call()
    await check_untouched(caller)
    await check_response(caller)
    await caller.hang_up()


async def check_untouched(caller: Caller) -> None:
    """Check rule 2.2 on a connection on which the assistant has not spoken yet."""
    await caller.connection.user_speaks("Hello again.")
    await caller.connection.send(wire.truncated("item_new"))
    await caller.settle()
    await caller.model.send_event(RealtimeModelSendInterrupt())
    await caller.settle()
    assert not _OF_AN_OLD_ITEM & set(caller.frames())
    assert "audio_interrupted" not in caller.recorder.types()
    assert "audio_interrupted" not in {event.type for event in caller.session_events()}


async def check_response(caller: Caller, *, patience: float = PATIENCE) -> None:
    """Check that a message of the user gets an answer, and that all of it belongs here.

    The message has to be out within so many seconds.
    """
    turns = caller.recorder.types().count("turn_ended")
    requests = caller.frames().count("response.create")
    caller.server.turns.append(_ANSWER)
    await within(patience, caller.session.send_message("Hi."), "the message is not sent")
    await until(
        lambda: caller.frames().count("response.create") > requests,
        "the model asks for no response",
    )
    await until(
        lambda: caller.recorder.types().count("turn_ended") > turns, "the response is not handled"
    )
    await caller.settle()
    assert caller.frames().count("response.create") == requests + 1
    assert caller.recorder.problems() == []
    assert caller.connection.errors == []
    strange = {item.item_id for item in caller.session._history} - set(caller.connection.items)
    assert not strange, f"items of another connection: {strange}"
    assert any(event.type == "history_added" for event in caller.session_events())
