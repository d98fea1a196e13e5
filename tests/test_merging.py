"""converter-status and history-merge: more of rules 1.2, 1.3 and 3.8."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from children import python

# For what the regression suite has to play a server with.
sys.path.append(str(Path(__file__).parent / "regression"))

import wire
from agents.realtime import RealtimeSession, items
from call import Call
from wire import audio, message

import shim  # noqa: F401, for the fixes


@pytest.mark.asyncio
@wire.needs_assistant_audio
@pytest.mark.parametrize(
    "event",
    [
        wire.retrieved(message("item_1", "assistant", audio())),
        wire.transcript_delta("item_1", " there"),
    ],
    ids=["snapshot", "delta"],
)
async def test_3_8_a_task_that_an_update_starts_is_not_part_of_it(event: wire.Event) -> None:
    """As a tool may be that waits, and then puts something into the history."""
    tasks: list[asyncio.Task[None]] = []
    may_merge = asyncio.Event()

    class Starting(RealtimeSession):  # type: ignore[type-arg, unused-ignore]
        async def _put_event(self, event: Any) -> Any:
            data: Any = getattr(event, "data", None)
            kind = getattr(data, "type", None)
            if self._history and kind in ("item_updated", "transcript_delta"):
                part = data.item.content[0] if kind == "item_updated" else items.AssistantAudio()
                tasks.append(asyncio.create_task(self._merge_later(part)))
            return await super()._put_event(event)

        async def _merge_later(self, part: Any) -> None:
            await may_merge.wait()
            content = [part.model_copy(update={"transcript": "Goodbye"})]
            update = items.AssistantMessageItem(item_id="item_1", content=content)
            self._history = self._get_new_history(self._history, update)

    call = Call(session_type=Starting)
    await call.receive(wire.created(message("item_1", "assistant", audio("Hello"))), event)
    may_merge.set()
    (task,) = tasks
    await task
    assert call.parts("item_1") == [("audio", "Goodbye")]


def test_an_unsent_status_stays_marked_without_history_merge() -> None:
    child = python(
        """
import shim
from agents.realtime import RealtimeSession
from agents.realtime.items import InputAudio, UserMessageItem
from agents.realtime.model_events import RealtimeModelInputAudioTranscriptionCompletedEvent
known, update = (
    UserMessageItem(item_id="i", content=[InputAudio()], status="in_progress") for _ in range(2)
)
for item in (known, update):
    item.model_fields_set.discard("status")
history = RealtimeSession._get_new_history([known], update)
event = RealtimeModelInputAudioTranscriptionCompletedEvent(item_id="i", transcript="Hello")
(item,) = RealtimeSession._get_new_history(history, event)
print(item.status)
""",
        environment={"OPENAI_AGENTS_SHIM_SKIP": "history-merge"},
    )
    assert child.stdout.strip() == "completed", child.stderr
