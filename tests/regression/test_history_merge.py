"""history-merge: rules 3.1 to 3.13 of docs/contract.md."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import wire
from agents.realtime import RealtimeSession, items
from agents.realtime.items import (
    AssistantMessageItem,
    AssistantText,
    InputAudio,
    InputText,
    RealtimeToolCallItem,
    SystemMessageItem,
    UserMessageItem,
)
from agents.realtime.model_events import (
    RealtimeModelInputAudioTranscriptionCompletedEvent,
    RealtimeModelItemUpdatedEvent,
)
from call import Call, Part, parts, updated
from wire import audio, image, message, needs_assistant_audio, needs_images, text

needs_deltas = pytest.mark.skipif(not wire.GA, reason="0.2.x keep deltas out of the history")

# How a field of a part says nothing: it is left out, null or empty.
UNSAID: list[Any] = [
    pytest.param(lambda field: {}, id="omitted"),
    pytest.param(lambda field: {field: None}, id="null"),
    pytest.param(lambda field: {field: ""}, id="empty"),
]
Unsaid = Callable[[str], wire.Event]


def without(part: wire.Event, field: str, unsaid: Unsaid) -> wire.Event:
    """The part, with a field that says nothing."""
    return {**{key: value for key, value in part.items() if key != field}, **unsaid(field)}


def tool_call(status: str, output: str | None = None, **fields: Any) -> Any:
    return RealtimeToolCallItem.model_validate(
        {
            "item_id": "call_item",
            "call_id": "call_1",
            "status": status,
            "arguments": "{}",
            "name": "weather",
            "output": output,
            **fields,
        }
    )


async def merged(known: wire.Event, *updates: wire.Event) -> list[Part]:
    """The content of an item after the updates of it, all by way of the wire."""
    call = Call()
    await call.receive(wire.created(known), *(wire.retrieved(update) for update in updates))
    return call.parts(known["id"])


@pytest.mark.asyncio
async def test_3_1_previous_item_id_stays() -> None:
    call = Call()
    await call.receive(
        wire.created(message("item_1", "user", text("one")), previous="root"),
        wire.retrieved(message("item_1", "user", text("one"))),
    )
    assert call.item("item_1").previous_item_id == "root"


@pytest.mark.asyncio
async def test_3_1_a_new_previous_item_id_wins() -> None:
    call = Call()
    item = message("item_1", "user", text("one"))
    await call.receive(wire.created(item, previous="a"), wire.created(item, previous="b"))
    assert call.item("item_1").previous_item_id == "b"


@pytest.mark.parametrize("item_type", [UserMessageItem, AssistantMessageItem, SystemMessageItem])
def test_3_1_extra_fields_stay(item_type: Any) -> None:
    known = item_type(item_id="item_1", content=[], phase="final", rating=4)
    update = item_type(item_id="item_1", content=[], rating=5, phase=None)
    (item,) = updated([known], update)
    assert (getattr(item, "phase", None), getattr(item, "rating", None)) == ("final", 5)


@pytest.mark.parametrize("item_type", [UserMessageItem, SystemMessageItem])
def test_3_1_a_status_in_an_extra_field_stays(item_type: Any) -> None:
    known = item_type(item_id="item_1", content=[], status="completed")
    (item,) = updated([known], item_type(item_id="item_1", content=[InputText(text="one")]))
    assert getattr(item, "status", None) == "completed"


@pytest.mark.asyncio
@needs_images
async def test_3_2_an_image_pairs_with_the_known_one_of_its_url() -> None:
    content = await merged(
        message("item_1", "user", image("data:a", detail="high"), image("data:b")),
        message("item_1", "user", image("data:b", detail="low"), image("data:a")),
    )
    assert content == [("image", "data:b"), ("image", "data:a")]


@needs_images
def test_3_2_an_image_keeps_its_detail_wherever_it_moves() -> None:
    input_image: Any = items.InputImage
    known = UserMessageItem(
        item_id="item_1",
        content=[
            input_image(image_url="data:a", detail="high"),
            input_image(image_url="data:b", detail="low"),
        ],
    )
    update = UserMessageItem(
        item_id="item_1",
        content=[input_image(image_url="data:b"), input_image(image_url="data:a")],
    )
    (item,) = updated([known], update)
    assert [part.detail for part in item.content] == ["low", "high"]


@pytest.mark.asyncio
@needs_images
async def test_3_2_an_image_without_url_pairs_with_the_next_unpaired_one() -> None:
    content = await merged(
        message("item_1", "user", image("data:a"), image("data:b"), image("data:c")),
        message("item_1", "user", image(), image("data:a"), image()),
    )
    assert content == [("image", "data:b"), ("image", "data:a"), ("image", "data:c")]


@pytest.mark.asyncio
async def test_3_2_parts_pair_with_their_kind_whatever_their_index() -> None:
    content = await merged(
        message("item_1", "user", text("look"), audio("listen")),
        message("item_1", "user", audio(), text("")),
    )
    assert content == [("audio", "listen"), ("text", "look")]


@pytest.mark.asyncio
@needs_assistant_audio
async def test_3_2_assistant_parts_pair_with_their_kind_whatever_their_index() -> None:
    content = await merged(
        message("item_1", "assistant", text("read"), audio("heard")),
        message("item_1", "assistant", audio(""), text("")),
    )
    assert content == [("audio", "heard"), ("text", "read")]


@pytest.mark.asyncio
async def test_3_2_the_nth_pairs_with_the_nth_of_its_kind() -> None:
    content = await merged(
        message("item_1", "user", text("a"), audio("1"), text("b"), audio("2")),
        message("item_1", "user", text("A"), text(""), audio(), audio("II")),
    )
    assert content == [("text", "A"), ("text", "b"), ("audio", "1"), ("audio", "II")]


@pytest.mark.asyncio
@needs_images
async def test_3_2_an_image_ahead_shifts_no_transcript() -> None:
    content = await merged(
        message("item_1", "user", image("data:a"), audio("words"), text("more")),
        message("item_1", "user", audio(), text("more")),
    )
    assert content == [("image", "data:a"), ("audio", "words"), ("text", "more")]


@pytest.mark.asyncio
@pytest.mark.parametrize("unsaid", UNSAID)
@pytest.mark.parametrize("role", ["assistant", "user", "system"])
async def test_3_3_a_text_stays(role: wire.Role, unsaid: Unsaid) -> None:
    content = await merged(
        message("item_1", role, text("one"), text("two")),
        message("item_1", role, without(text("x"), "text", unsaid), text("II")),
    )
    assert content == [("text", "one"), ("text", "II")]


@pytest.mark.asyncio
@needs_assistant_audio
@pytest.mark.parametrize("unsaid", UNSAID)
@pytest.mark.parametrize("role", ["assistant", "user"])
async def test_3_3_a_transcript_stays(role: wire.Role, unsaid: Unsaid) -> None:
    content = await merged(
        message("item_1", role, audio("one")),
        message("item_1", role, without(audio("x"), "transcript", unsaid)),
    )
    assert content == [("audio", "one")]


@pytest.mark.asyncio
@needs_assistant_audio
@pytest.mark.parametrize("unsaid", UNSAID)
@pytest.mark.parametrize("role", ["assistant", "user"])
async def test_3_3_audio_stays(role: wire.Role, unsaid: Unsaid) -> None:
    call = Call()
    await call.receive(
        wire.created(message("item_1", role, audio("one", audio="UklGRg=="))),
        wire.retrieved(message("item_1", role, without(audio("uno"), "audio", unsaid))),
    )
    (part,) = call.item("item_1").content
    assert (part.audio, part.transcript) == ("UklGRg==", "uno")


@pytest.mark.asyncio
@needs_images
@pytest.mark.parametrize("unsaid", UNSAID)
async def test_3_3_an_image_url_stays(unsaid: Unsaid) -> None:
    content = await merged(
        message("item_1", "user", image("data:a"), text("one")),
        message("item_1", "user", without(image("x"), "image_url", unsaid), text("one")),
    )
    assert content == [("image", "data:a"), ("text", "one")]


@needs_images
@pytest.mark.parametrize("unsaid", UNSAID)
def test_3_3_an_image_detail_stays(unsaid: Unsaid) -> None:
    input_image: Any = items.InputImage
    known = UserMessageItem(
        item_id="item_1", content=[input_image(image_url="data:a", detail="high")]
    )
    update = UserMessageItem(
        item_id="item_1", content=[input_image(image_url="data:a", **unsaid("detail"))]
    )
    (item,) = updated([known], update)
    assert item.content[0].detail == "high"


@pytest.mark.parametrize("unsaid", [*UNSAID, pytest.param(lambda field: {field: []}, id="list")])
def test_3_3_extra_fields_of_a_part_stay(unsaid: Unsaid) -> None:
    known: Any = AssistantText(text="one", annotations=["a"])  # type: ignore[call-arg]
    update: Any = AssistantText(text="uno", **unsaid("annotations"))
    (item,) = updated(
        [AssistantMessageItem(item_id="item_1", content=[known])],
        AssistantMessageItem(item_id="item_1", content=[update]),
    )
    (part,) = item.content
    assert (part.text, getattr(part, "annotations", None)) == ("uno", ["a"])


@pytest.mark.parametrize("value", [0, False, "other", ["b"], {}])
def test_3_3_a_field_with_a_value_wins(value: object) -> None:
    known: Any = AssistantText(text="one", annotations=["a"])  # type: ignore[call-arg]
    update: Any = AssistantText(text="one", annotations=value)  # type: ignore[call-arg]
    (item,) = updated(
        [AssistantMessageItem(item_id="item_1", content=[known])],
        AssistantMessageItem(item_id="item_1", content=[update]),
    )
    assert item.content[0].annotations == value


@pytest.mark.asyncio
async def test_3_4_a_part_without_partner_is_added() -> None:
    content = await merged(
        message("item_1", "user", text("one")),
        message("item_1", "user", audio("zero"), text("one"), text("two")),
    )
    assert content == [("audio", "zero"), ("text", "one"), ("text", "two")]


@pytest.mark.asyncio
async def test_3_4_a_known_part_stays_after_the_one_that_it_followed() -> None:
    content = await merged(
        message("item_1", "user", text("a"), audio("1"), text("b"), text("c")),
        message("item_1", "user", text("A"), text("B")),
    )
    assert content == [("text", "A"), ("audio", "1"), ("text", "B"), ("text", "c")]


@pytest.mark.asyncio
async def test_3_4_known_parts_that_follow_none_of_the_update_stay_in_front() -> None:
    content = await merged(
        message("item_1", "user", text("a"), text("b"), audio("1")),
        message("item_1", "user", audio("I"), audio("II")),
    )
    assert content == [("text", "a"), ("text", "b"), ("audio", "I"), ("audio", "II")]


@pytest.mark.asyncio
@needs_images
async def test_3_4_an_image_stays_where_it_was() -> None:
    content = await merged(
        message("item_1", "user", text("a"), image("data:a"), text("b")),
        message("item_1", "user", text("a"), text("b")),
    )
    assert content == [("text", "a"), ("image", "data:a"), ("text", "b")]


@pytest.mark.asyncio
@needs_assistant_audio
async def test_3_4_a_shorter_assistant_update_loses_no_part() -> None:
    content = await merged(
        message("item_1", "assistant", text("read"), audio("heard")),
        message("item_1", "assistant", text("READ")),
    )
    assert content == [("text", "READ"), ("audio", "heard")]


@pytest.mark.asyncio
@pytest.mark.parametrize("role", ["assistant", "user", "system"])
async def test_3_5_empty_content_keeps_every_part(role: wire.Role) -> None:
    content = await merged(
        message("item_1", role, text("one"), text("two")), message("item_1", role)
    )
    assert content == [("text", "one"), ("text", "two")]


@pytest.mark.asyncio
@pytest.mark.parametrize("role", ["assistant", "user", "system"])
async def test_3_5_the_rest_of_an_update_without_content_counts(role: wire.Role) -> None:
    call = Call()
    await call.receive(
        wire.created(message("item_1", role, text("one")), previous="a"),
        wire.created(message("item_1", role, status="incomplete"), previous="b"),
    )
    assert (call.status("item_1"), call.item("item_1").previous_item_id) == ("incomplete", "b")


@pytest.mark.asyncio
async def test_3_5_a_response_cancelled_before_its_first_word_ends_incomplete() -> None:
    call = Call()
    await call.receive(
        wire.output_added(message("item_1", "assistant", status="in_progress")),
        wire.output_done(message("item_1", "assistant", status="incomplete")),
    )
    assert call.status("item_1") == "incomplete"
    assert call.parts("item_1") == []


needs_transcribed_items = pytest.mark.skipif(
    not wire.since("0.3.0"), reason="0.2.x make no item from a transcription"
)


@pytest.mark.asyncio
@needs_transcribed_items
@pytest.mark.parametrize("unsaid", UNSAID)
async def test_3_6_a_transcription_becomes_the_transcript_of_the_audio(unsaid: Unsaid) -> None:
    call = Call()
    await call.receive(
        wire.transcribed("item_1", "Hello"),
        wire.created(message("item_1", "user", without(audio("x"), "transcript", unsaid))),
    )
    assert call.parts("item_1") == [("audio", "Hello")]


@pytest.mark.asyncio
@needs_transcribed_items
async def test_3_6_the_transcript_of_the_snapshot_wins() -> None:
    call = Call()
    await call.receive(
        wire.transcribed("item_1", "Hallo"),
        wire.created(message("item_1", "user", audio("Hello"))),
    )
    assert call.parts("item_1") == [("audio", "Hello")]


@pytest.mark.asyncio
@needs_transcribed_items
async def test_3_6_whatever_else_the_snapshot_brings_is_added() -> None:
    call = Call()
    await call.receive(
        wire.transcribed("item_1", "Hello"),
        wire.created(
            message("item_1", "user", text("look"), audio(), image("data:a"), status="completed"),
            previous="root",
        ),
    )
    assert call.parts("item_1") == [("text", "look"), ("audio", "Hello"), ("image", "data:a")]
    assert (call.status("item_1"), call.item("item_1").previous_item_id) == ("completed", "root")


@pytest.mark.asyncio
@needs_transcribed_items
async def test_3_6_a_snapshot_that_says_nothing_does_not_change_that() -> None:
    call = Call()
    await call.receive(
        wire.transcribed("item_1", "Hello"),
        wire.created(message("item_1", "user")),
        wire.created(message("item_1", "user", image("data:a"))),
        wire.created(message("item_1", "user", audio(), image("data:a"))),
    )
    assert call.parts("item_1") == [("audio", "Hello"), ("image", "data:a")]


@pytest.mark.asyncio
async def test_3_6_a_text_from_the_server_is_no_transcription() -> None:
    content = await merged(
        message("item_1", "user", text("typed")), message("item_1", "user", audio("spoken"))
    )
    assert content == [("text", "typed"), ("audio", "spoken")]


@pytest.mark.asyncio
@needs_transcribed_items
async def test_3_6_a_text_that_the_server_confirms_is_no_transcription() -> None:
    call = Call()
    await call.receive(
        wire.transcribed("item_1", "Hello"),
        wire.created(message("item_1", "user", text("Hello"))),
        wire.created(message("item_1", "user", text("Hello"), audio("spoken"))),
    )
    assert call.parts("item_1") == [("text", "Hello"), ("audio", "spoken")]


def test_3_6_a_text_given_by_hand_is_no_transcription() -> None:
    known = UserMessageItem(item_id="item_1", role="user", content=[InputText(text="typed")])
    update = UserMessageItem(
        item_id="item_1", role="user", content=[InputAudio(transcript="spoken")]
    )
    (item,) = updated([known], update)
    assert parts(item) == [("text", "typed"), ("audio", "spoken")]


@pytest.mark.asyncio
@needs_deltas
async def test_3_7_a_delta_changes_the_transcript_and_nothing_else() -> None:
    call = Call()
    await call.receive(
        wire.created(
            message("item_1", "assistant", text("read"), audio("He"), status="incomplete"),
            previous="root",
        ),
    )
    before = call.item("item_1")
    await call.receive(wire.transcript_delta("item_1", "Hello"))
    after = call.item("item_1")
    assert call.parts("item_1") == [("text", "read"), ("audio", "Hello")]
    assert call.status("item_1") == "incomplete"
    assert after.previous_item_id == "root"
    assert after.content[0] == before.content[0]


@pytest.mark.asyncio
@needs_deltas
async def test_3_7_a_delta_keeps_a_status_that_was_never_sent() -> None:
    call = Call()
    await call.receive(
        wire.created(message("item_1", "assistant", audio())),
        wire.transcript_delta("item_1", "Hello"),
    )
    assert call.status("item_1") == "in_progress"
    await call.receive(wire.retrieved(message("item_1", "assistant", audio())))
    assert call.status("item_1") == "in_progress"


@pytest.mark.asyncio
@needs_deltas
async def test_3_7_a_delta_keeps_the_audio() -> None:
    call = Call()
    await call.receive(
        wire.created(message("item_1", "assistant", audio(audio="UklGRg=="))),
        wire.transcript_delta("item_1", "Hel"),
        wire.transcript_delta("item_1", "lo"),
    )
    (part,) = call.item("item_1").content
    assert (part.audio, part.transcript) == ("UklGRg==", "Hello")


@pytest.mark.asyncio
@needs_deltas
async def test_3_7_a_delta_adds_the_audio_part_that_is_missing() -> None:
    call = Call()
    await call.receive(
        wire.output_added(message("item_1", "assistant", status="in_progress")),
        wire.transcript_delta("item_1", "Hello"),
    )
    assert call.parts("item_1") == [("audio", "Hello")]
    assert call.status("item_1") == "in_progress"


@pytest.mark.asyncio
@needs_deltas
@pytest.mark.parametrize(
    ("known", "deltas", "transcript"),
    [
        ("Hello there, friend.", ["Hello", " there"], "Hello there, friend."),
        ("Hel", ["Hel", "lo"], "Hello"),
        ("Hello", [" there", "."], "Hello there."),
    ],
    ids=["behind a snapshot", "ahead of a snapshot", "after a snapshot"],
)
async def test_3_7_a_delta_takes_no_known_words_away(
    known: str, deltas: list[str], transcript: str
) -> None:
    call = Call()
    await call.receive(
        wire.created(message("item_1", "assistant", audio(known))),
        *(wire.transcript_delta("item_1", delta) for delta in deltas),
    )
    assert call.parts("item_1") == [("audio", transcript)]


@pytest.mark.asyncio
@needs_deltas
async def test_3_7_the_end_of_another_response_takes_no_words_away() -> None:
    call = Call()
    await call.receive(
        wire.response_created("resp_1"),
        wire.transcript_delta("item_1", "Hello"),
        wire.response_created("resp_2"),
        wire.response_done("resp_2"),
        wire.transcript_delta("item_1", " there"),
        wire.transcript_delta("item_1", "."),
    )
    assert call.parts("item_1") == [("audio", "Hello there.")]


@pytest.mark.asyncio
@needs_assistant_audio
async def test_3_8_no_transcript_on_the_wrong_part() -> None:
    content = await merged(
        message("item_1", "assistant", audio("first"), text("read"), audio("second")),
        message("item_1", "assistant", text("read"), audio(), audio()),
    )
    assert content == [("text", "read"), ("audio", "first"), ("audio", "second")]


@pytest.mark.asyncio
@needs_assistant_audio
async def test_3_8_no_transcript_on_a_part_that_never_had_one() -> None:
    content = await merged(
        message("item_1", "user", text("read"), audio("heard")),
        message("item_1", "user", audio(), audio()),
    )
    assert content == [("text", "read"), ("audio", "heard"), ("audio", None)]


@pytest.mark.asyncio
@needs_assistant_audio
@pytest.mark.parametrize("unsaid", UNSAID)
async def test_3_8_deltas_do_not_beat_a_known_transcript(unsaid: Unsaid) -> None:
    call = Call()
    await call.receive(
        wire.output_added(message("item_1", "assistant", status="in_progress")),
        wire.transcript_delta("item_1", "Hello"),
        # 0.3.0 to 0.13.6 do not read the audio parts of response.output_item.done.
        wire.retrieved(message("item_1", "assistant", audio("Hello there."))),
        wire.retrieved(message("item_1", "assistant", without(audio("x"), "transcript", unsaid))),
    )
    assert call.parts("item_1") == [("audio", "Hello there.")]


@pytest.mark.asyncio
@pytest.mark.skipif(not wire.since("0.2.9"), reason="0.2.8 and earlier never use the deltas")
async def test_3_8_deltas_fill_a_transcript_that_is_missing() -> None:
    call = Call()
    await call.receive(
        wire.output_added(message("item_1", "assistant", text("read"), status="in_progress")),
        wire.transcript_delta("item_1", "Hel"),
        wire.transcript_delta("item_1", "lo"),
        wire.retrieved(message("item_1", "assistant", text("read"), audio())),
    )
    assert call.parts("item_1") == [("text", "read"), ("audio", "Hello")]


def test_3_9_a_tool_call_is_replaced_by_its_update() -> None:
    update = tool_call("completed", "sunny")
    assert updated([tool_call("in_progress", colour="red")], update) == [update]


@pytest.mark.parametrize(
    "known",
    [
        UserMessageItem(item_id="call_item", content=[InputText(text="one")]),
        SystemMessageItem(item_id="call_item", content=[InputText(text="one")]),
        tool_call("completed", "sunny"),
    ],
    ids=["user", "system", "function_call"],
)
def test_3_9_another_type_or_role_replaces(known: Any) -> None:
    update = AssistantMessageItem(item_id="call_item", content=[AssistantText(text=None)])
    assert updated([known], update) == [update]


def test_3_9_a_tool_call_replaces_a_message() -> None:
    known = UserMessageItem(item_id="call_item", content=[InputText(text="one")])
    update = tool_call("in_progress")
    assert updated([known], update) == [update]


@pytest.mark.asyncio
@needs_assistant_audio
@pytest.mark.parametrize(
    "event",
    [
        wire.retrieved(message("item_2", "assistant", text("uno"), audio(), status="completed")),
        wire.retrieved(message("item_2", "assistant")),
        wire.output_done(message("item_2", "assistant", text("uno"))),
        wire.transcript_delta("item_2", "Hello"),
        wire.created(message("item_4", "user", text("four"))),
        wire.transcribed("item_3", "Hello"),
        wire.deleted("item_2"),
    ],
    ids=["retrieved", "empty", "output", "delta", "new", "transcribed", "deleted"],
)
async def test_3_10_an_earlier_history_stays_as_it_was(event: wire.Event) -> None:
    call = Call()
    await call.receive(
        wire.created(message("item_1", "system", text("be kind"))),
        wire.created(message("item_2", "assistant", text("one"), audio("eins"))),
        wire.created(message("item_3", "user", audio())),
    )
    handed_out = call.session._history
    snapshot, objects = copy.deepcopy(handed_out), list(handed_out)
    await call.receive(event)
    assert handed_out == snapshot
    assert all(one is other for one, other in zip(handed_out, objects, strict=True))
    touched = {event.get("item_id"), event.get("item", {}).get("id")}
    untouched = [item for item in objects if item.item_id not in touched]
    assert [item for item in call.history if item.item_id not in touched] == untouched
    assert all(any(item is each for each in call.history) for item in untouched)


UPDATES: list[Any] = [
    pytest.param(message("item_1", "user", audio("one"), text("b")), id="reordered"),
    pytest.param(message("item_1", "user", audio(), text("b"), text("c")), id="longer"),
    pytest.param(message("item_1", "user", audio("one"), status="completed"), id="shorter"),
    pytest.param(message("item_1", "user"), id="empty"),
]


@pytest.mark.asyncio
@pytest.mark.parametrize("update", UPDATES)
async def test_3_11_the_same_update_twice_gives_what_it_gives_once(update: wire.Event) -> None:
    call = Call()
    known = message("item_1", "user", text("a"), audio("zero"), text("z"))
    await call.receive(wire.created(known, previous="root"), wire.retrieved(update))
    once = call.history
    await call.receive(wire.retrieved(update))
    assert call.history == once
    words = {words for _, words in call.parts("item_1")}
    assert {"a", "b"} & words
    assert {"z", "c"} & words
    assert call.item("item_1").previous_item_id == "root"


@pytest.mark.asyncio
@needs_images
async def test_3_11_the_same_images_twice() -> None:
    call = Call()
    update = message("item_1", "user", image(), image("data:c"), image("data:a"), text("a"))
    await call.receive(
        wire.created(message("item_1", "user", text("a"), image("data:a"), image("data:b"))),
        wire.retrieved(update),
    )
    once = call.parts("item_1")
    await call.receive(wire.retrieved(update))
    assert call.parts("item_1") == once
    assert set(once) == {
        ("image", "data:a"),
        ("image", "data:b"),
        ("image", "data:c"),
        ("text", "a"),
    }
    assert len(once) == 4


@needs_images
@pytest.mark.parametrize(
    ("urls", "images"),
    [
        ([None, "data:a"], ["data:a", "data:a"]),
        ([None, None, "data:a"], ["data:a", None, "data:a"]),
    ],
    ids=["one without URL", "two without URL"],
)
def test_3_11_the_same_image_twice_in_an_item(
    urls: list[str | None], images: list[str | None]
) -> None:
    input_image: Any = items.InputImage
    known: Any = UserMessageItem(
        item_id="item_1", content=[input_image(image_url="data:a"), input_image(image_url="data:a")]
    )
    update = UserMessageItem(
        item_id="item_1",
        content=[
            input_image(image_url=url, detail="high") if url else input_image() for url in urls
        ],
    )
    once = updated([known], update)
    assert updated(once, update) == once
    assert [part.image_url for part in once[0].content] == images
    assert [str(part.detail) for part in once[0].content].count("high") == 1


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
@pytest.mark.parametrize(
    "content",
    [
        None,
        [SimpleNamespace(type="audio", transcript=None, text=None)],
        [SimpleNamespace(type="holograph", transcript=None, text=None)],
        [InputText.model_construct(type="input_text")],
        [InputAudio.model_construct(type="input_audio", transcript=7)],
    ],
    ids=["none", "foreign", "unknown kind", "bare text", "odd value"],
)
def test_3_12_odd_content_does_not_raise(role: wire.Role, content: Any) -> None:
    item_type: Any = {
        "user": UserMessageItem,
        "assistant": AssistantMessageItem,
        "system": SystemMessageItem,
    }[role]
    plain = item_type(item_id="item_1", content=[])
    odd = plain.model_copy(update={"content": content})
    (item,) = updated([plain], odd)
    (item,) = updated([item], odd)
    (item,) = updated([item], plain)
    assert item.content in (content, content or [])


@pytest.mark.asyncio
async def test_3_13_the_session_events_stay_as_they_are() -> None:
    call = Call()

    async def emitted(*events: wire.Event) -> list[str]:
        before = len(call.queued())
        await call.receive(*events)
        return [event.type for event in call.queued()[before:] if event.type != "raw_model_event"]

    item = message("item_1", "assistant", text("one"))
    assert await emitted(wire.created(item)) == ["history_added"]
    assert await emitted(wire.retrieved(item)) == ["history_updated"]
    assert await emitted(wire.retrieved({**item, "content": []})) == ["history_updated"]
    assert await emitted(wire.transcript_delta("item_1", "Hello")) == []
    assert await emitted(wire.deleted("item_1")) == ["history_updated"]
    spoken = message("item_2", "user", audio())
    assert await emitted(wire.created(spoken)) == ["history_added"]
    assert await emitted(wire.transcribed("item_2", "Hello")) == ["history_updated"]


@pytest.mark.asyncio
async def test_3_13_an_update_of_a_tool_call_is_told() -> None:
    call = Call()
    await call.session.on_event(RealtimeModelItemUpdatedEvent(item=tool_call("in_progress")))
    await call.session.on_event(RealtimeModelItemUpdatedEvent(item=tool_call("completed", "sunny")))
    types = [event.type for event in call.queued() if event.type != "raw_model_event"]
    assert types == ["history_added", "history_updated"]


@pytest.mark.asyncio
@needs_assistant_audio
async def test_a_subclass_that_changes_updates_has_its_way() -> None:
    class Redacting(RealtimeSession):  # type: ignore[type-arg, unused-ignore]
        @classmethod
        def _get_new_history(cls, old_history: Any, event: Any) -> Any:
            if event.type == "message":
                content = [
                    part.model_copy(update={"text": "[redacted]"}) if part.type == "text" else part
                    for part in event.content
                ]
                event = event.model_copy(update={"content": content})
            return super()._get_new_history(old_history, event)

    call = Call(session_type=Redacting)
    await call.receive(
        wire.created(message("item_1", "assistant", text("one"), audio("heard"))),
        wire.retrieved(message("item_1", "assistant", text("my card is 4242"), audio())),
    )
    assert call.parts("item_1") == [("text", "[redacted]"), ("audio", "heard")]


def test_the_transcription_of_a_known_item_is_left_to_the_release() -> None:
    known = UserMessageItem(item_id="item_1", content=[InputAudio(audio="UklGRg==")])
    event = RealtimeModelInputAudioTranscriptionCompletedEvent(item_id="item_1", transcript="Hello")
    (item,) = updated([known], event)
    assert (item.content[0].transcript, item.content[0].audio) == ("Hello", "UklGRg==")
    assert item.status == "completed"
