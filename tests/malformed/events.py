"""Valid server events to start from, and what to put into them."""

from __future__ import annotations

import itertools
from typing import Any

import wire

from .values import Deep, Long, Many

Event = dict[str, Any]

IDS = ("a1", "u1", "s1", "f1", "x1", "")
ROLES = ("assistant", "user", "system", "function_call", "developer")
KINDS = (
    *("text", "audio", "input_text", "input_audio", "input_image", "output_text"),
    *("output_audio", "input_file", "refusal", "item_reference"),
)
STATUSES = ("in_progress", "completed", "incomplete", "failed", "cancelled")
NAMES = (
    *("id", "type", "role", "status", "content", "text", "transcript", "audio", "image_url"),
    *("detail", "item_id", "previous_item_id", "output", "name", "arguments", "call_id"),
    *("model_copy", "model_fields_set", "model_extra", "__class__", "__dict__", "self"),
)

JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 10**30, 0.5, float("nan"), float("inf")),
    *("", " ", "\x00\x07\x1b", "\ud800", "\u202e", "true", "0", "a", "Hello there"),
    *([], [None], [[]], [0], {}, {"type": None}, {"type": "text"}, {"": ""}),
    *(Deep(20, "list"), Deep(200, "dict"), Deep(300, "dict"), Deep(900, "list")),
    *(Long(10_000), Long(1_000_000), Many([0], 1_000)),
)
"""Values for any field."""

TEXTS = ("", " ", "\x00\x07\x1b", "\ud800", "\u202e", "Hello there", Long(10_000))
"""Values for a field that has a text."""

_IMAGE = "data:image/png;base64,AA=="


def snapshots() -> list[Event]:
    """Return valid events of the release's protocol that bring an item, about few items."""
    names = ["conversation.item.created", "conversation.item.retrieved"]
    if wire.GA:
        names += ["conversation.item.added", "conversation.item.done"]
    found = [wire.item_event(name, item) for name, item in itertools.product(names, _messages())]
    found += [wire.created(item, previous="u1") for item in _messages()]
    for item in [*_messages(role="assistant"), _call(), _call_output()]:
        found += [wire.output_added(item), wire.output_done(item)]
    return [
        _numbered(each) for each in (*found, wire.created(_call()), wire.created(_call_output()))
    ]


def _numbered(event: Event) -> Event:
    return {"event_id": "event_1", **event}


def _messages(*, role: str | None = None) -> list[Event]:
    text, audio, image = wire.text, wire.audio, wire.image
    messages = [
        wire.message("a1", "assistant"),
        wire.message("a1", "assistant", audio(), status="in_progress"),
        wire.message("a1", "assistant", audio("Hello"), status="completed"),
        wire.message("a1", "assistant", audio("Hel"), status="incomplete"),
        wire.message("a1", "assistant", text("Hello", logprobs=[0.5])),
        wire.message("a1", "assistant", text("See"), audio("Look there"), text("Bye"), status=None),
        wire.message("u1", "user", audio(), status="in_progress"),
        wire.message("u1", "user", audio("What is this?"), status="completed"),
        wire.message("u1", "user", text("What is this?")),
        wire.message("u1", "user", text("One"), audio(), text("Two"), audio(None, format="pcm")),
        wire.message("s1", "system", text("Be brief."), status="completed"),
        wire.message("s1", "system", text("Be brief."), text("Be kind.", tone="warm")),
    ]
    if wire.GA:
        messages += [
            wire.message("u1", "user", image(_IMAGE, detail="low"), text("This"), audio()),
            wire.message("u1", "user", text("This"), image(_IMAGE), image("https://example.com/1")),
            wire.message("u1", "user", image(), image(), status="completed"),
        ]
    return [each for each in messages if role in (None, each["role"])]


def _call() -> Event:
    return {
        "id": "f1",
        "object": "realtime.item",
        "type": "function_call",
        "status": "completed",
        "name": "look_up",
        "call_id": "call_1",
        "arguments": '{"word": "shim"}',
    }


def _call_output() -> Event:
    return {
        "id": "f2",
        "object": "realtime.item",
        "type": "function_call_output",
        "call_id": "call_1",
        "output": "what shim means",
    }


def others() -> list[Event]:
    """Return valid events of the release's protocol that bring none."""
    output = "response.output_" if wire.GA else "response."
    part = {"response_id": "resp_1", "item_id": "a1", "output_index": 0, "content_index": 0}
    usage = {"total_tokens": 3, "input_tokens": 1, "output_tokens": 2}
    done = wire.response_done()
    found = [
        wire.transcript_delta("a1", "Hello"),
        wire.transcript_delta("a1", " there"),
        wire.transcribed("u1", "What is this?"),
        wire.transcribed("x1", "Nobody has heard of me."),
        wire.truncated("a1"),
        wire.deleted("u1"),
        wire.deleted("a1"),
        wire.speech_started("u1"),
        wire.session_created(),
        {**wire.session_created(), "type": "session.updated"},
        wire.response_created(),
        done,
        {**done, "response": {**done["response"], "usage": usage}},
        wire.audio_delta("a1", ms=20),
        {"type": f"{output}audio.done", **part},
        {"type": f"{output}text.delta", **part, "delta": "Hello"},
        {"type": f"{output}audio_transcript.done", **part, "transcript": "Hello there"},
        {"type": "response.function_call_arguments.delta", **part, "call_id": "c", "delta": "{"},
        {"type": "error", "error": {"type": "invalid_request_error", "message": "No."}},
        {"type": "rate_limits.updated", "rate_limits": []},
    ]
    return [_numbered(each) for each in found]
