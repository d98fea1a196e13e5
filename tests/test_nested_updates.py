"""history-merge: updates that an application makes itself, and what it puts into them."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import pytest

# For what the regression suite has to play a server with.
sys.path.append(str(Path(__file__).parent / "regression"))

import wire
from agents.realtime import RealtimeSession, items
from call import Call, parts, updated
from wire import audio, message

import shim  # noqa: F401, for the fixes


@pytest.mark.asyncio
@wire.needs_assistant_audio
@pytest.mark.parametrize(
    "event",
    [
        wire.retrieved(message("item_1", "assistant", audio("Hello there"))),
        wire.transcript_delta("item_1", " there"),
    ],
    ids=["snapshot", "delta"],
)
async def test_3_1_the_event_of_one_item_says_nothing_about_another(event: wire.Event) -> None:
    """A subclass may put into the history what it likes, for each event that it sees."""

    class Meddling(RealtimeSession):  # type: ignore[type-arg, unused-ignore]
        async def _put_event(self, event: Any) -> Any:
            kind = getattr(getattr(event, "data", None), "type", None)
            if len(self._history) == 2 and kind in ("item_updated", "transcript_delta"):
                content: list[Any] = [items.AssistantAudio(transcript="Goodbye")]
                update = items.AssistantMessageItem(item_id="item_2", content=content)
                self._history = self._get_new_history(self._history, update)
            return await super()._put_event(event)

    call = Call(session_type=Meddling)
    for number, words in (("1", "Hello"), ("2", "Hi")):
        await call.receive(wire.created(message(f"item_{number}", "assistant", audio(words))))
    await call.receive(event)
    assert call.parts("item_2") == [("audio", "Goodbye")]


@wire.needs_assistant_audio
def test_3_12_what_is_no_part_is_not_kept() -> None:
    known = items.AssistantMessageItem.model_construct(
        item_id="item_1",
        type="message",
        role="assistant",
        content=["words", items.AssistantAudio(transcript="Hello")],
    )
    update = items.AssistantMessageItem(
        item_id="item_1", content=[items.AssistantText(text="there")]
    )
    (item,) = updated([known], update)
    assert parts(item) == [("audio", "Hello"), ("text", "there")]


@wire.needs_assistant_audio
def test_3_12_an_update_that_cannot_be_merged_leaves_what_is_known(
    caplog: pytest.LogCaptureFixture,
) -> None:
    content: Any = [items.AssistantAudio(transcript="Hello")]
    known = items.AssistantMessageItem(item_id="item_1", content=content)
    fields: Any = {"item_id": "item_1", "type": "message", "role": "assistant"}
    update = items.AssistantMessageItem.model_construct(**fields, content=12345)
    with caplog.at_level(logging.ERROR):
        assert updated([known], update) == [known]
    (record,) = caplog.records
    assert "TypeError" in record.getMessage()
    assert "12345" not in record.getMessage()
