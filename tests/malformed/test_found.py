"""What examples have found, or would find if it broke, each in as few steps as it takes."""

from __future__ import annotations

from typing import Any

import pytest

from .comparison import Comparison
from .conversation import Emitted, Merged, Step
from .values import How, Made

TEXT = Made("InputText", {"text": "Hello"})
AUDIO = Made("AssistantAudio", {"transcript": "Hello"})
PLAIN_AUDIO = Made("AssistantAudio", {"transcript": "Hello there"}, "plain")


def message(role: str, content: Any, *, how: How = "checked", **fields: Any) -> Made:
    name = {"user": "UserMessageItem", "assistant": "AssistantMessageItem"}[role]
    return Made(name, {"item_id": "x1", "content": content, **fields}, how)


def updated(item: Made) -> Step:
    return Emitted(Made("RealtimeModelItemUpdatedEvent", {"item": item}))


def delta(words: str) -> Step:
    fields = {"item_id": "x1", "delta": words, "response_id": "resp_1"}
    return Emitted(Made("RealtimeModelTranscriptDeltaEvent", fields))


def transcribed(words: str) -> Step:
    fields = {"item_id": "x1", "transcript": words}
    return Emitted(Made("RealtimeModelInputAudioTranscriptionCompletedEvent", fields))


FOUND: dict[str, list[Step]] = {
    "a known item that is no model": [
        Merged(message("assistant", [], how="plain")),
        Merged(message("assistant", [])),
    ],
    "two items that are no models": [
        Merged(message("user", [], how="plain")),
        Merged(message("user", [], how="plain")),
    ],
    "content that is a number": [
        Merged(message("assistant", 0.5)),
        Merged(message("assistant", 0.5)),
    ],
    "two items that are no models, one with a status": [
        Merged(message("user", [], status="completed", how="plain")),
        Merged(message("user", [], how="plain")),
    ],
    "two contents that are objects": [
        Merged(message("assistant", {"type": "text"})),
        Merged(message("assistant", {"type": "text", "text": "Hello"})),
    ],
    "content that is an object": [
        Merged(message("assistant", [])),
        Merged(message("assistant", {"type": "text"})),
    ],
    "an id that cannot be hashed": [
        updated(message("assistant", [AUDIO], item_id=["x1"])),
        updated(message("assistant", [AUDIO], item_id=["x1"])),
    ],
    "audio that is no model, after a transcription": [
        transcribed("Hello"),
        Merged(message("user", [Made("InputAudio", {}, "plain")])),
    ],
    "a transcript that is a number, and a delta": [
        Merged(message("assistant", [Made("AssistantAudio", {"transcript": 5})])),
        delta("Hello"),
    ],
    "a part that is no model, for one that is": [
        Merged(message("assistant", [AUDIO])),
        Merged(message("assistant", [PLAIN_AUDIO])),
    ],
    "a part that is a model, for one that is not": [
        Merged(message("assistant", [PLAIN_AUDIO])),
        Merged(message("assistant", [AUDIO])),
    ],
    "two parts that are no models": [
        Merged(message("assistant", [PLAIN_AUDIO])),
        Merged(message("assistant", [PLAIN_AUDIO])),
    ],
    "images that are none": [
        Merged(message("user", [Made("InputText", {"type": "input_image"}, "unchecked")])),
        Merged(message("user", [Made("InputText", {"type": "input_image"}, "unchecked")])),
    ],
    "images whose URL cannot be hashed": [
        Merged(message("user", [Made("InputText", {"type": "input_image", "image_url": {}})])),
        Merged(message("user", [Made("InputText", {"type": "input_image", "image_url": [1]})])),
    ],
    "a kind that cannot be hashed": [
        Merged(message("user", [Made("InputText", {"type": ["input_text"]})])),
        Merged(message("user", [Made("InputText", {"type": ["input_text"]}), TEXT])),
    ],
    "a part that is an object, and a delta": [
        Merged(message("assistant", [{"text": "Hello"}])),
        delta("Hello"),
    ],
    "a part that is nothing, and a transcription": [
        Merged(message("user", [None])),
        Merged(message("user", [TEXT])),
        transcribed("Hello"),
    ],
    "a part that is an object, and a transcription": [
        Merged(message("user", [TEXT, {"text": "Hello"}])),
        Merged(message("user", [TEXT])),
        transcribed("Hello"),
    ],
}


@pytest.mark.parametrize("name", FOUND)
def test_3_12_what_examples_have_found(name: str, comparison: Comparison) -> None:
    comparison.check(FOUND[name])
