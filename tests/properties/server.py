"""What the server can do, as hypothesis strategies for its events; made without the SDK.

The ids are few and go with a role, so that most events are about an item that is known. A part and
most other things are one draw from a table of all there can be, which is what makes this fast; the
simplest comes first in a table, because failures shrink towards it.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from .knowledge import Message, Part
from .release import does
from .wire import (
    ABSENT,
    AUDIO,
    IS_GA,
    TEXT,
    Event,
    call,
    deleted,
    item_event,
    message,
    output_event,
    part_event,
    response_event,
    transcribed,
    without_absent,
)

Events = st.SearchStrategy[Event]

# An answer is either spoken or written, and this one is written.
_WRITTEN = "a3"
_CALLS = ("call_item_1", "call_item_2")
_USUAL = (("u1", "user"), ("a1", "assistant"))
_OTHERS = (("s1", "system"), ("u2", "user"), ("a2", "assistant"))
# Ids of items that most often have another role or type.
_ODD = (("u1", "assistant"), ("a1", "user"), ("s1", "user"), (_CALLS[0], "user"), ("a1", "system"))
_SENDERS = (*_USUAL * 12, *_OTHERS * 3, *_ODD)
_ANSWERS = (*["a1"] * 9, "a2", "a2", _WRITTEN, "u1", _CALLS[0])
_SPOKEN = (*["a1"] * 9, "a2", "a2", "u1", _CALLS[0])
_HEARD = (*["u1"] * 9, "u2", "u2", "a1", _CALLS[0])
_CALLED = (*_CALLS, *_CALLS, "a2", "u2")
_ANY = ("u1", "a1", "s1", "u2", "a2", _WRITTEN, *_CALLS)
_RESPONSES = ("resp_1", "resp_1", "resp_2")

_STATUSES = ("completed", ABSENT, "in_progress", "incomplete", None, ABSENT)
# The SDK does not look into output; elsewhere the protocol has an enumeration, without "".
_OUTPUT_STATUSES = (*_STATUSES, "") if IS_GA else _STATUSES
_PREVIOUS = (None, ABSENT, "a1", "u1", "s1", _CALLS[0], "nowhere", "")
_ITEM_EVENTS = ("created", "retrieved", "added") if IS_GA else ("created", "retrieved")

_WORDS = ("Hello", ABSENT, None, "", "Hel", "Hello there.", "Bye")
_DELTAS = ("Hel", "lo", " there", ".", "Hello", "")
_SOUNDS = (ABSENT, ABSENT, None, "", "UklGRg==", "UklGRjI=")
_URLS = ("data:a", "data:b", "data:c", ABSENT, None, "", "data:a", "data:b", "data:c")
_DETAILS = (ABSENT, None, "low", "high")
# A field that the SDK knows nothing of.
_NOTES: tuple[Any, ...] = (ABSENT, ABSENT, ABSENT, None, "", [], ["note"], ["other"], 0)


def _table(**fields: Iterable[Any]) -> Events:
    """Return any of the objects with one of these values in each of the fields."""
    return st.sampled_from(
        [
            without_absent(**dict(zip(fields, values, strict=True)))
            for values in itertools.product(*fields.values())
        ]
    )


def _texts(kind: str) -> Events:
    return _table(type=[kind], text=_WORDS, annotations=_NOTES)


def _audios(kind: str) -> Events:
    return _table(type=[kind], transcript=_WORDS, audio=_SOUNDS, annotations=_NOTES)


_IMAGES = _table(type=["input_image"], image_url=_URLS, detail=_DETAILS, annotations=_NOTES[2:])
_PARTS = {
    "user": [_texts("input_text"), _audios("input_audio")],
    "assistant": [_texts(TEXT), _audios(AUDIO)],
    "system": [_texts("input_text")],
}
# The SDK reads both names there.
_OUTPUT_PARTS = _PARTS["assistant"] + ([_texts("text"), _audios("audio")] if IS_GA else [])


def _contents(parts: list[Events], *, can_be_missing: bool) -> st.SearchStrategy[Any]:
    """Return lists of up to four parts, and now and then none at all if that can be."""
    usual = st.lists(st.one_of(parts), max_size=4)
    missing = [st.sampled_from([ABSENT, None])] if can_be_missing else []
    return st.one_of([usual, usual, usual, *missing])


# The GA protocol asks for the content of items, but the SDK does not look into output.
_CONTENTS = {role: _contents(parts, can_be_missing=not IS_GA) for role, parts in _PARTS.items()}
_OUTPUT_CONTENTS = _contents(_OUTPUT_PARTS, can_be_missing=True)
if does("accepts images"):
    _PARTS["user"].append(_IMAGES)
    # By chance alone there are hardly ever several of them in a message.
    _CONTENTS["user"] = st.one_of(
        st.lists(st.one_of(_PARTS["user"]), max_size=4), st.lists(_IMAGES, min_size=2, max_size=4)
    )


@st.composite
def snapshots(draw: st.DrawFn) -> Event:
    """An event of the conversation with a whole message."""
    item_id, role = draw(st.sampled_from(_SENDERS))
    item = message(item_id, role, draw(_CONTENTS[role]), draw(st.sampled_from(_STATUSES)))
    return _placed(draw, item)


def _placed(draw: st.DrawFn, item: Event) -> Event:
    name = draw(st.sampled_from(_ITEM_EVENTS))
    previous = ABSENT if name == "retrieved" else draw(st.sampled_from(_PREVIOUS))
    return item_event(name, item, previous=previous)


@st.composite
def outputs(draw: st.DrawFn) -> Event:
    """An event of a response with a whole message of the assistant."""
    item_id = draw(st.sampled_from(_ANSWERS))
    status = draw(st.sampled_from(_OUTPUT_STATUSES))
    item = message(item_id, "assistant", draw(_OUTPUT_CONTENTS), status)
    if IS_GA and draw(st.sampled_from((False, False, False, True))):
        del item["role"]
    return output_event(draw(st.sampled_from(("added", "done"))), item)


@st.composite
def restatements(draw: st.DrawFn, known: Message) -> Event:
    """An event with parts of a known message: some of them, in any order, with less in them."""
    numbers = st.integers(0, max(len(known.parts) - 1, 0))
    order = draw(st.lists(numbers, unique=True, max_size=len(known.parts)))
    content = [_restated(draw, known.parts[number]) for number in order]
    if draw(st.booleans()):
        content.append(draw(st.one_of(_PARTS[known.role])))
    item = message(known.item_id, known.role, content, draw(st.sampled_from(_STATUSES)))
    return _placed(draw, item)


_WIRE_TYPES = {"text": TEXT, "audio": AUDIO}


def _restated(draw: st.DrawFn, part: Part) -> Event:
    fields = {"type": _WIRE_TYPES.get(part.type, part.type)}
    for name, value in part.fields.items():
        # The protocol has an enumeration for the detail, without "".
        ways = (value, ABSENT, None) if name == "detail" else (value, ABSENT, None, "")
        fields[name] = draw(st.sampled_from(ways))
    return without_absent(**fields)


def transcript_deltas() -> Events:
    """Words of an answer that is spoken."""
    return _part_events("audio_transcript.delta", _SPOKEN, delta=_DELTAS)


def _part_events(name: str, item_ids: Iterable[str], **fields: Iterable[Any]) -> Events:
    tables = _table(item_id=item_ids, response_id=_RESPONSES, **fields)
    return tables.map(lambda about: part_event(name, **about))


def transcriptions() -> Events:
    """The words of the user's audio are known."""
    transcripts = ("Hello", "Hello there.", "Bye", "")
    return st.sampled_from(
        [transcribed(item_id, words) for item_id in _HEARD for words in transcripts]
    )


def deletions() -> Events:
    """An item is deleted."""
    return st.sampled_from([deleted(item_id) for item_id in _ANY])


def responses() -> Events:
    """A response begins or ends."""
    statuses = ("completed", "cancelled", "incomplete")
    return st.sampled_from(
        [response_event("created", each, "in_progress") for each in _RESPONSES]
        + [response_event("done", each, status) for each in _RESPONSES for status in statuses]
    )


def calls(number: int) -> Events:
    """The call of a tool is complete: the ``number``-th one of a conversation."""
    return st.sampled_from(
        [output_event("done", call(item_id, number=number)) for item_id in _CALLED]
    )


def asides() -> Events:
    """What changes nothing in the history: sound, written words, and what no handler is for."""
    unfinished = call(_CALLS[0], number=9, status="in_progress")
    output = {"id": "output_1", "type": "function_call_output", "call_id": "call_1", "output": "x"}
    part = {"item_id": "u1", "content_index": 0}
    events: list[Event] = [
        {"type": "conversation.item.truncated", **part, "item_id": "a1", "audio_end_ms": 50},
        {"type": "conversation.item.input_audio_transcription.delta", **part, "delta": "Hel"},
        {"type": "input_audio_buffer.committed", "item_id": "u1", "previous_item_id": None},
        output_event("added", unfinished),
        item_event("created", unfinished),
        item_event("created", {**output, "object": "realtime.item"}),
    ]
    if IS_GA:
        done = message("u1", "user", [{"type": "input_text", "text": "done"}], "completed")
        events.append(item_event("done", done, previous=None))
    sound = base64.b64encode(bytes(480)).decode()
    return st.one_of(
        st.sampled_from(events),
        _part_events("text.delta", [_WRITTEN], delta=_DELTAS),
        _part_events("audio.delta", ["a1", "a2"], delta=[sound]),
        _part_events("audio.done", ["a1"]),
        _part_events("audio_transcript.done", ["a1"], transcript=["Hello there."]),
    )
