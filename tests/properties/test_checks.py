"""The checks find what they are for, and nothing else."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from . import wire
from .handed import HandedOut
from .invariants import differences, problems_of_loss
from .knowledge import View
from .wire import Event

KNOWN: View = {
    "type": "message",
    "item_id": "u1",
    "role": "user",
    "status": "completed",
    "content": [
        {"type": "input_text", "text": "one"},
        {"type": "input_audio", "transcript": "two", "audio": "UklGRg=="},
    ],
}


def with_parts(*parts: Event) -> View:
    return {**KNOWN, "content": list(parts)}


def update(*parts: Event) -> Event:
    return wire.item_event("retrieved", wire.message("u1", "user", list(parts)))


def losses(after: list[View], event: Event, *, before: View = KNOWN) -> list[str]:
    return [problem.text for problem in problems_of_loss([before], after, event)]


TEXT, AUDIO = KNOWN["content"]


@pytest.mark.parametrize(
    ("after", "event"),
    [
        ([], update()),
        ([{key: value for key, value in KNOWN.items() if key != "status"}], update()),
        ([with_parts(AUDIO)], update()),
        ([with_parts(TEXT, {"type": "input_audio", "transcript": "two"})], update()),
        ([with_parts({**TEXT, "text": "uno"}, AUDIO)], update({**TEXT, "text": ""})),
        # One part says something, and two have changed.
        (
            [with_parts({**TEXT, "text": "uno"}, {**AUDIO, "transcript": "due"})],
            update({**TEXT, "text": "uno"}),
        ),
    ],
    ids=["item", "status", "part", "field", "text", "two words for one"],
)
def test_what_is_gone_is_a_loss(after: list[View], event: Event) -> None:
    assert losses(after, event)


@pytest.mark.parametrize(
    ("after", "event"),
    [
        ([KNOWN], update()),
        ([with_parts({**TEXT, "text": "uno"}, AUDIO)], update({**TEXT, "text": "uno"})),
        ([with_parts({"type": "input_audio", "transcript": "one"}, AUDIO)], update()),
        ([with_parts(TEXT, {**AUDIO, "transcript": "due"})], wire.transcribed("u1", "due")),
        ([{**KNOWN, "role": "assistant", "content": []}], update()),
        ([], wire.deleted("u1")),
    ],
    ids=["the same", "another text", "a transcript", "transcribed", "another role", "deleted"],
)
def test_what_is_told_anew_is_no_loss(after: list[View], event: Event) -> None:
    assert not losses(after, event)


def test_a_delta_takes_no_words_away() -> None:
    def answer(transcript: str) -> View:
        parts = [{"type": "audio", "transcript": transcript}]
        return {"type": "message", "item_id": "a1", "role": "assistant", "content": parts}

    event = wire.part_event("audio_transcript.delta", "a1", delta="lo")
    assert not losses([answer("Hello")], event, before=answer("Hel"))
    assert losses([answer("lo")], event, before=answer("Hel"))


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"item_id": "u2"}, "item_id in history"),
        ({"role": "system"}, "type or role in history"),
        ({"status": "incomplete"}, "status in history"),
        ({"previous_item_id": "root"}, "previous_item_id in history"),
        ({"content": []}, "content in history"),
        ({"rating": 4}, "content in history"),
    ],
)
def test_a_difference_is_named(changed: View, rule: str) -> None:
    (problem,) = differences([{**KNOWN, **changed}], [KNOWN])
    assert problem.rule == rule
    assert not list(differences([dict(KNOWN)], [KNOWN]))


class Item(BaseModel):
    """An item of a history, as far as it matters here."""

    item_id: str
    text: str = "one"


def item(item_id: str) -> Item:
    return Item(item_id=item_id)


# That a field was set tells it from its default, even if it is the same.
@pytest.mark.parametrize("text", ["uno", "one"])
def test_a_changed_item_is_seen(text: str) -> None:
    history = [item("u1"), item("u2")]
    handed_out = HandedOut(history)
    assert not list(handed_out.problems(list(history), touched="u1"))
    history[0].text = text
    assert list(handed_out.problems(list(history), touched="u1"))
    assert handed_out.problem()


def test_a_changed_list_is_seen_even_later() -> None:
    history = [item("u1")]
    handed_out = HandedOut(history)
    assert not list(handed_out.problems([*history, item("u2")], touched="u2"))
    assert handed_out.problem() is None
    history.append(item("u3"))
    assert handed_out.problem()


@pytest.mark.parametrize("touched", [None, "u1"])
def test_a_copy_of_an_item_that_the_event_is_not_about_is_seen(touched: str | None) -> None:
    history = [item("u1"), item("u2")]
    handed_out = HandedOut(history)
    copied = [*history[:1], item("u2")]
    assert list(handed_out.problems(copied, touched=touched))
    assert not list(HandedOut(history).problems(copied, touched="u2"))
