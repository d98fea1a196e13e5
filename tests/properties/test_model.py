"""The model of the conversation says what docs/contract.md says; examples and laws, without SDK."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from . import wire
from .conversation import Conversation
from .knowledge import Part, merged
from .release import does
from .wire import Event

needs_images = pytest.mark.skipif(not does("accepts images"), reason="0.2.x accept no images")
needs_deltas = pytest.mark.skipif(
    not does("puts transcript deltas into the history"),
    reason="0.2.x keep deltas out of the history",
)
needs_transcribed_items = pytest.mark.skipif(
    not does("adds a message for a transcription"),
    reason="0.2.x make no item from a transcription",
)

_ROLES = {"a": "assistant", "u": "user", "s": "system"}


def snapshot(item_id: str, *content: Event, status: Any = wire.ABSENT, **fields: Any) -> Event:
    """An event with a whole message, whose role follows from its id."""
    item = wire.message(item_id, _ROLES[item_id[0]], list(content), status)
    return wire.item_event("created", item, **fields)


def text(words: Any) -> Event:
    return {"type": "input_text", "text": words}


def audio(**fields: Any) -> Event:
    return {"type": "input_audio", **fields}


def image(**fields: Any) -> Event:
    return {"type": "input_image", **fields}


def spoken(**fields: Any) -> Event:
    return {"type": wire.AUDIO, **fields}


def delta(item_id: str, words: str) -> Event:
    return wire.part_event("audio_transcript.delta", item_id, delta=words)


def known(*events: Event) -> Any:
    """The one item that is known after the events."""
    conversation = Conversation(answer=lambda arguments: "sunny")
    for event in events:
        conversation.receive(event)
    (item,) = conversation.view()
    return item


def content(*events: Event) -> list[Event]:
    """The parts of that item; a field that says nothing is left out."""
    parts: list[Event] = known(*events)["content"]
    return parts


def test_1_1_the_status_is_the_servers() -> None:
    for status in ("in_progress", "completed", "incomplete"):
        assert known(snapshot("u1", status=status))["status"] == status


def test_1_2_an_omitted_status_is_in_progress_at_first_and_then_what_it_was() -> None:
    assert known(snapshot("u1"))["status"] == "in_progress"
    assert known(snapshot("u1", status="completed"), snapshot("u1"))["status"] == "completed"
    none = snapshot("u1", status=None)
    assert known(snapshot("u1", status="incomplete"), none)["status"] == "incomplete"


def test_1_3_an_explicit_in_progress_wins() -> None:
    item = known(snapshot("u1", status="completed"), snapshot("u1", status="in_progress"))
    assert item["status"] == "in_progress"


@pytest.mark.skipif(not wire.IS_GA, reason="0.2.x leave it open, as 1.2 says")
def test_1_3_output_without_a_status_says_one() -> None:
    output = wire.message("a1", "assistant", [])
    added, done = (wire.output_event(name, output) for name in ("added", "done"))
    assert known(added)["status"] == "in_progress"
    assert known(added, done)["status"] == "completed"
    assert known(snapshot("a1", status="incomplete"), done)["status"] == "completed"


def test_a_transcription_completes_only_what_has_no_status_of_the_servers() -> None:
    heard = wire.transcribed("u1", "Hello")
    assert known(snapshot("u1"), heard)["status"] == "completed"
    assert known(snapshot("u1", status="incomplete"), heard)["status"] == "incomplete"
    assert known(snapshot("u1"), heard, snapshot("u1"))["status"] == "completed"


def test_3_1_previous_item_id_stays() -> None:
    first = snapshot("u1", previous="root")
    assert known(first, snapshot("u1", previous=None))["previous_item_id"] == "root"
    assert known(first, snapshot("u1", previous="other"))["previous_item_id"] == "other"


@needs_images
def test_3_2_an_image_pairs_with_the_one_of_its_url() -> None:
    parts = content(
        snapshot(
            "u1",
            image(image_url="data:a", detail="high"),
            image(image_url="data:b", detail="low"),
        ),
        snapshot("u1", image(image_url="data:b"), image(image_url="data:a")),
    )
    assert [part["detail"] for part in parts] == ["low", "high"]


@needs_images
def test_3_2_an_image_without_url_takes_none_that_another_one_is_about() -> None:
    parts = content(
        snapshot("u1", image(image_url="data:a"), image(image_url="data:b")),
        snapshot("u1", image(detail="low"), image(image_url="data:a", detail="high")),
    )
    assert [(part["image_url"], part["detail"]) for part in parts] == [
        ("data:b", "low"),
        ("data:a", "high"),
    ]


def test_3_2_other_parts_pair_with_the_next_of_their_kind() -> None:
    assert content(
        snapshot("u1", text("a"), audio(transcript="1"), text("b"), audio(transcript="2")),
        snapshot("u1", audio(), text("A"), audio(transcript="II"), text("")),
    ) == [
        audio(transcript="1"),
        text("A"),
        audio(transcript="II"),
        text("b"),
    ]


@pytest.mark.parametrize("unsaid", [{}, {"transcript": None}, {"transcript": ""}])
def test_3_3_a_field_that_says_nothing_keeps_what_is_known(unsaid: Event) -> None:
    parts = content(
        snapshot("u1", audio(transcript="Hello", audio="UklGRg==", notes=["a"])),
        snapshot("u1", audio(**unsaid, audio="UklGRjI=", notes=[])),
    )
    assert parts == [audio(transcript="Hello", audio="UklGRjI=", notes=["a"])]


def test_3_4_a_known_part_stays_right_after_the_one_that_it_followed() -> None:
    assert content(
        snapshot("u1", text("a"), audio(transcript="1"), text("b"), text("c")),
        snapshot("u1", text("A"), text("B")),
    ) == [text("A"), audio(transcript="1"), text("B"), text("c")]


def test_3_4_a_part_without_a_partner_is_added() -> None:
    assert content(
        snapshot("u1", text("one")), snapshot("u1", audio(transcript="zero"), text("one"))
    ) == [audio(transcript="zero"), text("one")]


def test_the_last_paragraph_a_part_stays_behind_the_last_earlier_one_of_its_kind() -> None:
    assert content(
        snapshot("u1", text("a"), audio(transcript="1"), text("b")),
        snapshot("u1", audio(transcript="I"), text("A")),
    ) == [audio(transcript="I"), text("A"), text("b")]


@needs_images
def test_the_last_paragraph_parts_that_go_to_the_same_place_keep_their_order() -> None:
    picture = image(image_url="data:a")
    assert content(
        snapshot("u1", audio(transcript="1"), picture, text("a"), audio(transcript="2")),
        snapshot("u1", text("A"), audio(transcript="I")),
    ) == [text("A"), audio(transcript="I"), picture, audio(transcript="2")]


def test_3_5_empty_content_keeps_the_parts_and_the_rest_counts() -> None:
    item = known(snapshot("u1", text("one")), snapshot("u1", status="incomplete", previous="b"))
    assert (item["content"], item["status"], item["previous_item_id"]) == (
        [text("one")],
        "incomplete",
        "b",
    )


@needs_transcribed_items
@pytest.mark.parametrize(
    ("update", "parts"),
    [
        ([audio()], [audio(transcript="Hello")]),
        ([audio(transcript="Hallo")], [audio(transcript="Hallo")]),
        ([text("look"), audio()], [text("look"), audio(transcript="Hello")]),
        ([text("Hello")], [text("Hello")]),
    ],
)
def test_3_6_a_transcription_becomes_the_transcript(
    update: list[Event], parts: list[Event]
) -> None:
    assert content(wire.transcribed("u1", "Hello"), snapshot("u1", *update)) == parts


@needs_transcribed_items
def test_3_6_a_text_of_the_servers_is_no_transcription() -> None:
    assert content(
        wire.transcribed("u1", "Hello"),
        snapshot("u1", text(None)),
        snapshot("u1", text(None), audio(transcript="Bye")),
    ) == [text("Hello"), audio(transcript="Bye")]


@needs_deltas
@pytest.mark.parametrize(
    ("transcript", "deltas", "expected"),
    [
        ("Hello there, friend.", ["Hello", " there"], "Hello there, friend."),
        ("Hel", ["Hel", "lo"], "Hello"),
        ("Hello", [" there", "."], "Hello there."),
    ],
    ids=["ahead", "behind", "goes on"],
)
def test_3_7_a_delta_takes_no_words_away(transcript: str, deltas: list[str], expected: str) -> None:
    words = [delta("a1", each) for each in deltas]
    item = known(snapshot("a1", spoken(transcript=transcript), status="incomplete"), *words)
    assert item["content"] == [{"type": "audio", "transcript": expected}]
    assert item["status"] == "incomplete"


@needs_deltas
def test_3_7_the_end_of_another_response_takes_no_words_away() -> None:
    assert content(
        delta("a1", "Hello"),
        wire.response_event("done", "resp_2", "completed"),
        delta("a1", " there"),
        wire.response_event("done", "resp_1", "completed"),
        delta("a1", "."),
    ) == [{"type": "audio", "transcript": "Hello there."}]


def test_3_9_another_role_replaces() -> None:
    other = snapshot("u1", {"type": "text"})
    other["item"]["role"] = "assistant"
    item = known(snapshot("u1", text("one"), status="completed", previous="root"), other)
    assert item == {
        "type": "message",
        "item_id": "u1",
        "role": "assistant",
        "status": "in_progress",
        "content": [{"type": "text"}],
    }


def test_3_9_a_tool_call_is_replaced_when_its_output_is_known() -> None:
    conversation = Conversation(answer=lambda arguments: "sunny")
    conversation.receive(wire.output_event("done", wire.call("c1", number=1)))
    if does("runs tools aside"):
        assert conversation.view()[0]["status"] == "in_progress"
        conversation.returned("call_1")
    (item,) = conversation.view()
    assert (item["status"], item["output"]) == ("completed", "sunny")


def test_a_new_item_goes_behind_its_previous_one() -> None:
    conversation = Conversation(answer=lambda arguments: "sunny")
    for event in (
        snapshot("u1"),
        snapshot("u2"),
        snapshot("s1", previous="u1"),
        snapshot("s2", previous="nowhere"),
        # An item that is known keeps its place.
        snapshot("u1", previous="u2"),
    ):
        conversation.receive(event)
    assert [item["item_id"] for item in conversation.view()] == ["u1", "s1", "u2", "s2"]


# Parts that can be told apart, in three kinds.
_PARTS = st.lists(
    st.one_of(
        st.sampled_from([("text", None), ("audio", None)]),
        st.sampled_from([("image", url) for url in (None, "data:a", "data:b")]),
    ),
    max_size=6,
)


def marked(parts: list[tuple[str, str | None]], mark: str) -> list[Part]:
    """Parts with their number as the field ``mark``, and with the URL if they have one."""
    return [
        Part(kind, {mark: number} | ({"image_url": url} if url else {}))
        for number, (kind, url) in enumerate(parts)
    ]


@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(_PARTS, _PARTS)
def test_the_laws_of_a_merge(
    known: list[tuple[str, str | None]], update: list[tuple[str, str | None]]
) -> None:
    parts = merged(marked(known, "known"), marked(update, "update"))
    # 3.11: once more, it changes nothing.
    assert merged(parts, marked(update, "update")) == parts
    # 3.4: all that is known stays, and all of the update is there, in its order.
    numbers = [part.fields["known"] for part in parts if "known" in part.fields]
    assert sorted(numbers) == list(range(len(known)))
    mentioned = [part.fields["update"] for part in parts if "update" in part.fields]
    assert mentioned == list(range(len(update)))
    pairs = [part.fields for part in parts if len(part.fields.keys() & {"known", "update"}) == 2]
    # 3.2: no image is about that of another URL, and none is about a part of another kind.
    for pair in pairs:
        kind, _ = known[pair["known"]]
        assert update[pair["update"]] in (known[pair["known"]], (kind, None))
    for place, part in enumerate(parts):
        if "update" in part.fields:
            continue
        number = part.fields["known"]
        # 3.4: where the update has not changed the order, right after the part that it followed.
        if [pair["known"] for pair in pairs] == sorted(pair["known"] for pair in pairs):
            assert (parts[place - 1].fields.get("known") if place else -1) == number - 1
        # The last paragraph: always behind the earlier ones of its kind.
        rest = [
            other.fields.get("known", number) for other in parts[place:] if other.type == part.type
        ]
        assert min(rest) == number
