"""converter-status: rules 1.1 to 1.4 of docs/contract.md."""

from __future__ import annotations

from typing import Any

import pytest
import wire
from agents.realtime import openai_realtime
from call import Call
from wire import audio, message, text

STATUSES = ["in_progress", "completed", "incomplete"]
OUTPUT_EVENTS = ["response.output_item.added", "response.output_item.done"]
ITEM_EVENTS = [
    "conversation.item.created",
    "conversation.item.retrieved",
    pytest.param(
        "conversation.item.added",
        marks=pytest.mark.skipif(not wire.GA, reason="not in the beta protocol"),
    ),
]
UNSAID: list[Any] = [pytest.param({}, id="omitted"), pytest.param({"status": None}, id="null")]


def event(event_type: str, item: wire.Event) -> wire.Event:
    if event_type in OUTPUT_EVENTS:
        return {**wire.output_added(item), "type": event_type}
    return wire.item_event(event_type, item)


@pytest.mark.asyncio
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("role", ["assistant", "user", "system"])
@pytest.mark.parametrize("event_type", ITEM_EVENTS)
async def test_1_1_a_sent_status_is_the_status_in_history(
    event_type: str, role: wire.Role, status: str
) -> None:
    call = Call()
    await call.receive(event(event_type, message("item_1", role, text("hi"), status=status)))
    assert call.status("item_1") == status


@pytest.mark.asyncio
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("event_type", OUTPUT_EVENTS)
async def test_1_1_a_status_sent_with_output_is_the_status_in_history(
    event_type: str, status: str
) -> None:
    call = Call()
    await call.receive(event(event_type, message("item_1", "assistant", text("hi"), status=status)))
    assert call.status("item_1") == status


@pytest.mark.asyncio
@pytest.mark.parametrize("status", ["completed", "incomplete"])
@pytest.mark.parametrize("event_type", [*ITEM_EVENTS, "response.output_item.done"])
async def test_1_1_a_sent_status_reaches_an_item_in_progress(event_type: str, status: str) -> None:
    call = Call()
    item = message("item_1", "assistant", text("hi"))
    await call.receive(
        wire.created({**item, "status": "in_progress"}),
        event(event_type, {**item, "status": status}),
    )
    assert call.status("item_1") == status


@pytest.mark.asyncio
@pytest.mark.parametrize("unsaid", UNSAID)
@pytest.mark.parametrize("role", ["assistant", "user", "system"])
@pytest.mark.parametrize("event_type", ITEM_EVENTS)
async def test_1_2_a_new_item_without_a_status_starts_in_progress(
    event_type: str, role: wire.Role, unsaid: wire.Event
) -> None:
    call = Call()
    await call.receive(event(event_type, message("item_1", role, text("hi"), **unsaid)))
    assert call.status("item_1") == "in_progress"


@pytest.mark.asyncio
@pytest.mark.parametrize("unsaid", UNSAID)
@pytest.mark.parametrize("status", ["completed", "incomplete"])
@pytest.mark.parametrize("role", ["assistant", "user", "system"])
@pytest.mark.parametrize("event_type", ITEM_EVENTS)
async def test_1_2_a_known_item_keeps_its_status(
    event_type: str, role: wire.Role, status: str, unsaid: wire.Event
) -> None:
    call = Call()
    await call.receive(
        wire.created(message("item_1", role, text("hi"), status=status)),
        event(event_type, message("item_1", role, text("hi"), **unsaid)),
    )
    assert call.status("item_1") == status


@pytest.mark.asyncio
@pytest.mark.skipif(wire.GA, reason="the GA events say a status by themselves")
@pytest.mark.parametrize("event_type", OUTPUT_EVENTS)
async def test_1_2_a_known_item_keeps_its_status_in_beta_output(event_type: str) -> None:
    call = Call()
    await call.receive(
        wire.created(message("item_1", "assistant", text("hi"), status="completed")),
        event(event_type, message("item_1", "assistant", text("hi"))),
    )
    assert call.status("item_1") == "completed"


@pytest.mark.asyncio
@wire.needs_assistant_audio
async def test_1_2_a_status_survives_a_retrieve_without_status_or_transcript() -> None:
    call = Call()
    await call.receive(
        wire.created(message("item_1", "assistant", audio("Hello"), status="completed")),
        wire.retrieved(message("item_1", "assistant", audio())),
    )
    assert call.status("item_1") == "completed"


@pytest.mark.asyncio
@pytest.mark.skipif(not wire.GA, reason="0.2.x make no items from these")
@pytest.mark.parametrize("event_type", ITEM_EVENTS)
@pytest.mark.parametrize(
    ("partial", "role"),
    [
        (wire.transcript_delta("item_1", "Hello"), "assistant"),
        (wire.transcribed("item_1", "Hello"), "user"),
    ],
    ids=["delta", "transcription"],
)
async def test_1_2_an_item_is_new_until_its_first_snapshot(
    partial: wire.Event, role: wire.Role, event_type: str
) -> None:
    call = Call()
    await call.receive(partial, event(event_type, message("item_1", role, audio())))
    assert call.status("item_1") == "in_progress"


@pytest.mark.asyncio
@pytest.mark.parametrize("event_type", [*ITEM_EVENTS, *OUTPUT_EVENTS])
async def test_1_3_a_sent_in_progress_wins_over_completed(event_type: str) -> None:
    call = Call()
    item = message("item_1", "assistant", text("hi"))
    await call.receive(
        wire.created({**item, "status": "completed"}),
        event(event_type, {**item, "status": "in_progress"}),
    )
    assert call.status("item_1") == "in_progress"


@pytest.mark.asyncio
@pytest.mark.parametrize("status", ["in_progress", "incomplete"])
async def test_1_3_a_transcription_does_not_replace_a_sent_status(status: str) -> None:
    call = Call()
    await call.receive(
        wire.created(message("item_1", "user", audio(), status=status)),
        wire.transcribed("item_1", "Hello"),
    )
    assert call.status("item_1") == status


@pytest.mark.asyncio
async def test_1_3_a_transcription_does_not_replace_a_sent_status_that_was_kept() -> None:
    call = Call()
    await call.receive(
        wire.created(message("item_1", "user", audio(), status="in_progress")),
        wire.retrieved(message("item_1", "user", audio())),
        wire.transcribed("item_1", "Hello"),
    )
    assert call.status("item_1") == "in_progress"


@pytest.mark.asyncio
async def test_1_3_the_end_of_a_response_completes_no_item() -> None:
    call = Call()
    await call.receive(
        wire.response_created(),
        wire.created(message("item_1", "assistant", text("hi"), status="in_progress")),
        wire.response_done(),
    )
    assert call.status("item_1") == "in_progress"


@pytest.mark.asyncio
@pytest.mark.skipif(not wire.GA, reason="the beta events say no status")
@pytest.mark.parametrize("unsaid", UNSAID)
@pytest.mark.parametrize(
    ("event_type", "status"), list(zip(OUTPUT_EVENTS, ["in_progress", "completed"], strict=True))
)
async def test_1_3_output_events_say_a_status_by_themselves(
    event_type: str, status: str, unsaid: wire.Event
) -> None:
    call = Call()
    item = message("item_1", "assistant", text("hi"))
    await call.receive(
        wire.created({**item, "status": "incomplete"}),
        event(event_type, {**item, **unsaid}),
    )
    assert call.status("item_1") == status


def convert(item: wire.Event) -> Any:
    """What the converter answers for the item of a parsed server event, called directly."""
    model: Any = openai_realtime.OpenAIRealtimeWebSocketModel()
    seen: list[Any] = []

    async def remember(item: Any, previous_item_id: str | None) -> None:
        seen.append(item)

    model._handle_conversation_item = remember
    handling = model._handle_ws_event({"event_id": "event_1", **wire.retrieved(item)})
    with pytest.raises(StopIteration):
        handling.send(None)
    return openai_realtime._ConversionHelper.conversation_item_to_realtime_message_item(
        seen[0], None
    )


@pytest.mark.parametrize("role", ["assistant", "user", "system"])
@pytest.mark.parametrize("unsaid", UNSAID)
def test_1_4_the_converter_answers_in_progress_for_an_omitted_status(
    role: wire.Role, unsaid: wire.Event
) -> None:
    assert convert(message("item_1", role, text("hi"), **unsaid)).status == "in_progress"


@pytest.mark.parametrize("role", ["assistant", "user", "system"])
@pytest.mark.parametrize("status", STATUSES)
def test_1_4_the_converter_answers_the_sent_status(role: wire.Role, status: str) -> None:
    assert convert(message("item_1", role, text("hi"), status=status)).status == status
