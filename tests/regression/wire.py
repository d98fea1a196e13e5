"""Server events of both protocols, as the service words them.

Releases 0.2.x of the SDK speak the beta protocol, 0.3.0 and later the GA one.
"""

from __future__ import annotations

import base64
from importlib import metadata
from typing import Any, Literal

import pytest

Event = dict[str, Any]
Role = Literal["assistant", "user", "system"]

RELEASE = metadata.version("openai-agents")


def release_key(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


def since(release: str) -> bool:
    """Tell whether the installed release is ``release`` or later."""
    return release_key(RELEASE) >= release_key(release)


GA = since("0.3.0")
PROTOCOL: Literal["ga", "beta"] = "ga" if GA else "beta"

needs_assistant_audio = pytest.mark.skipif(
    not since("0.2.1"), reason="0.2.0 accepts no audio in assistant messages"
)
needs_images = pytest.mark.skipif(not GA, reason="0.2.x accept no images")
needs_playback_tracker = pytest.mark.skipif(
    not since("0.2.4"), reason="RealtimePlaybackTracker came with 0.2.4"
)

_OUTPUT_TYPES = {"text": "output_text", "audio": "output_audio"}
_BYTES_PER_MS = 48  # PCM16 at 24 kHz


def text(words: str | None, **fields: Any) -> Event:
    """A text part; its type on the wire follows from the item's role."""
    return {"type": "text", "text": words, **fields}


def audio(transcript: str | None = None, **fields: Any) -> Event:
    """An audio part; the transcript is left out when None."""
    words = {} if transcript is None else {"transcript": transcript}
    return {"type": "audio", **words, **fields}


def image(url: str | None = None, **fields: Any) -> Event:
    """An image part; the URL is left out when None."""
    return {"type": "image", **({} if url is None else {"image_url": url}), **fields}


def message(item_id: str, role: Role, *content: Event, **fields: Any) -> Event:
    """A message item, e.g. ``message("i1", "assistant", audio("hi"), status="completed")``."""
    return {
        "id": item_id,
        "object": "realtime.item",
        "type": "message",
        "role": role,
        "content": [{**part, "type": _part_type(part["type"], role)} for part in content],
        **fields,
    }


def _part_type(kind: str, role: Role) -> str:
    if role != "assistant":
        return f"input_{kind}"
    return _OUTPUT_TYPES[kind] if GA else kind


def item_event(event_type: str, item: Event, *, previous: str | None = None) -> Event:
    """A ``conversation.item.*`` event with a whole item."""
    if event_type == "conversation.item.retrieved":
        return {"type": event_type, "item": item}
    return {"type": event_type, "item": item, "previous_item_id": previous}


def created(item: Event, *, previous: str | None = None) -> Event:
    return item_event("conversation.item.created", item, previous=previous)


def retrieved(item: Event) -> Event:
    return item_event("conversation.item.retrieved", item)


def deleted(item_id: str) -> Event:
    return {"type": "conversation.item.deleted", "item_id": item_id}


def output_added(item: Event) -> Event:
    return _output("response.output_item.added", item)


def output_done(item: Event) -> Event:
    return _output("response.output_item.done", item)


def _output(event_type: str, item: Event) -> Event:
    return {"type": event_type, "response_id": "resp_1", "output_index": 0, "item": item}


def transcript_delta(item_id: str, delta: str) -> Event:
    return _part_event(
        "response.output_audio_transcript.delta" if GA else "response.audio_transcript.delta",
        item_id,
        delta=delta,
    )


def audio_delta(item_id: str, *, response_id: str = "resp_1", ms: int = 100) -> Event:
    """So many milliseconds of audio, PCM16 at 24 kHz."""
    event_type = "response.output_audio.delta" if GA else "response.audio.delta"
    delta = base64.b64encode(bytes(ms * _BYTES_PER_MS)).decode()
    return {**_part_event(event_type, item_id, delta=delta), "response_id": response_id}


def _part_event(event_type: str, item_id: str, **fields: Any) -> Event:
    return {
        "type": event_type,
        "response_id": "resp_1",
        "item_id": item_id,
        "output_index": 0,
        "content_index": 0,
        **fields,
    }


def transcribed(item_id: str, transcript: str) -> Event:
    """The user's words in an item are known."""
    return {
        "type": "conversation.item.input_audio_transcription.completed",
        "item_id": item_id,
        "content_index": 0,
        "transcript": transcript,
        "usage": {"type": "duration", "seconds": 1.0},
    }


def truncated(item_id: str) -> Event:
    return {
        "type": "conversation.item.truncated",
        "item_id": item_id,
        "content_index": 0,
        "audio_end_ms": 50,
    }


def speech_started(item_id: str) -> Event:
    return {
        "type": "input_audio_buffer.speech_started",
        "item_id": item_id,
        "audio_start_ms": 10,
    }


def response_created(response_id: str = "resp_1") -> Event:
    return {"type": "response.created", "response": _response(response_id, "in_progress")}


def response_done(response_id: str = "resp_1", *, status: str = "completed") -> Event:
    return {"type": "response.done", "response": _response(response_id, status)}


def _response(response_id: str, status: str) -> Event:
    return {"id": response_id, "object": "realtime.response", "status": status, "output": []}


def session_created() -> Event:
    """A session that interrupts responses by itself and speaks PCM16."""
    detection = {"type": "server_vad", "interrupt_response": True}
    if not GA:
        session: Event = {
            "id": "sess_1",
            "turn_detection": detection,
            "output_audio_format": "pcm16",
        }
    else:
        session = {
            "type": "realtime",
            "model": "gpt-realtime",
            "audio": {
                "input": {"turn_detection": detection},
                "output": {"format": {"type": "audio/pcm", "rate": 24000}},
            },
        }
    return {"type": "session.created", "session": session}
