"""The server's events, as the service words them, in the protocol of the installed release."""

from __future__ import annotations

from typing import Any

from .release import does

Event = dict[str, Any]

ABSENT: Any = object()
"""Stands for a field that an event leaves out."""

IS_GA = does("speaks the GA protocol")

TEXT, AUDIO = ("output_text", "output_audio") if IS_GA else ("text", "audio")
"""The types of an assistant's parts."""

WEATHER = "weather"
"""The tool that is called."""


def without_absent(**fields: Any) -> Event:
    """Return the fields as an object of an event."""
    return {name: value for name, value in fields.items() if value is not ABSENT}


def message(item_id: str, role: str, content: Any, status: Any = ABSENT) -> Event:
    """Return a message item."""
    return without_absent(
        id=item_id,
        object="realtime.item",
        type="message",
        role=role,
        status=status,
        content=content,
    )


def call(item_id: str, *, number: int, status: str = "completed") -> Event:
    """Return the item of a tool call, the ``number``-th one of a conversation."""
    return {
        "id": item_id,
        "object": "realtime.item",
        "type": "function_call",
        "status": status,
        "name": WEATHER,
        "call_id": f"call_{number}",
        "arguments": f'{{"place": "call_{number}"}}',
    }


def item_event(name: str, item: Event, *, previous: Any = ABSENT) -> Event:
    """Return an event of the conversation with a whole item."""
    return without_absent(type=f"conversation.item.{name}", previous_item_id=previous, item=item)


def output_event(name: str, item: Event) -> Event:
    """Return an event of a response with a whole item."""
    return {
        "type": f"response.output_item.{name}",
        "response_id": "resp_1",
        "output_index": 0,
        "item": item,
    }


def part_event(name: str, item_id: str, *, response_id: str = "resp_1", **fields: Any) -> Event:
    """Return an event about a part of an answer, e.g. ``audio_transcript.delta``."""
    return {
        "type": f"response.output_{name}" if IS_GA else f"response.{name}",
        "response_id": response_id,
        "item_id": item_id,
        "output_index": 0,
        "content_index": 0,
        **fields,
    }


def transcribed(item_id: str, transcript: str) -> Event:
    """Return the event that the words of a user's audio are known."""
    return {
        "type": "conversation.item.input_audio_transcription.completed",
        "item_id": item_id,
        "content_index": 0,
        "transcript": transcript,
        "usage": {"type": "duration", "seconds": 1.0},
    }


def deleted(item_id: str) -> Event:
    """Return the event that an item is deleted."""
    return {"type": "conversation.item.deleted", "item_id": item_id}


def response_event(name: str, response_id: str, status: str) -> Event:
    """Return the event that a response is created, or done."""
    response = {"id": response_id, "object": "realtime.response", "status": status, "output": []}
    return {"type": f"response.{name}", "response": response}


def session_created() -> Event:
    """Return the server's first event, with the format of the sound."""
    if not IS_GA:
        session: Event = {"id": "sess_1", "output_audio_format": "pcm16"}
    else:
        sound = {"output": {"format": {"type": "audio/pcm", "rate": 24000}}}
        session = {"type": "realtime", "model": "gpt-realtime", "audio": sound}
    return {"type": "session.created", "session": session}
