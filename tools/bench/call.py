"""The server events of a spoken conversation, in the words of the GA protocol."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

Event = dict[str, Any]

SECONDS_PER_TURN = 10
_AUDIO_DELTA = base64.b64encode(bytes(4800)).decode()  # 100 ms of PCM16 at 24 kHz
_ANSWER = "Your train to the coast leaves at nine from platform four, and a seat is booked. "


def message(item_id: str, role: str, status: str, *content: Event) -> Event:
    """Return a message item."""
    return {
        "id": item_id,
        "object": "realtime.item",
        "type": "message",
        "role": role,
        "status": status,
        "content": list(content),
    }


def transcript_delta(item_id: str, delta: str) -> Event:
    """Return the event of a transcript delta."""
    return _output("response.output_audio_transcript.delta", item_id, delta=delta)


def retrieved(item_id: str, status: str, transcript: str) -> Event:
    """Return the event of an assistant's item that was asked for."""
    part = {"type": "output_audio", "transcript": transcript}
    return _event("conversation.item.retrieved", item=message(item_id, "assistant", status, part))


def call(*, turns: int) -> Iterator[Event]:
    """Yield the events of so many turns: the user speaks for a while, the assistant answers."""
    previous = None
    for turn in range(turns):
        question, answer, response = f"item_{2 * turn}", f"item_{2 * turn + 1}", f"resp_{turn}"
        yield from _question(question, previous)
        yield from _answer(answer, question, response)
        previous = answer


def _question(item_id: str, previous: str | None) -> Iterator[Event]:
    buffer = "input_audio_buffer"
    yield _event(f"{buffer}.speech_started", item_id=item_id, audio_start_ms=0)
    yield _event(f"{buffer}.speech_stopped", item_id=item_id, audio_end_ms=4000)
    yield _event(f"{buffer}.committed", item_id=item_id, previous_item_id=previous)
    item = message(item_id, "user", "completed", {"type": "input_audio", "transcript": None})
    yield _event("conversation.item.added", item=item, previous_item_id=previous)
    yield _event("conversation.item.done", item=item, previous_item_id=previous)
    yield _event(
        "conversation.item.input_audio_transcription.completed",
        item_id=item_id,
        content_index=0,
        transcript="When does my train leave, and do I have a seat?",
        usage={"type": "duration", "seconds": 4.0},
    )


def _answer(item_id: str, previous: str, response: str) -> Iterator[Event]:
    yield _response("response.created", response, "in_progress")
    begun = message(item_id, "assistant", "in_progress")
    yield _item("response.output_item.added", response, begun)
    yield _event("conversation.item.added", item=begun, previous_item_id=previous)
    words = _ANSWER.split(" ")
    for index in range(SECONDS_PER_TURN * 5):  # It speaks half of the time, 10 deltas a second.
        if index < len(words):
            yield transcript_delta(item_id, f"{words[index]} ")
        yield _output("response.output_audio.delta", item_id, response, delta=_AUDIO_DELTA)
    yield _output("response.output_audio.done", item_id, response)
    yield _output("response.output_audio_transcript.done", item_id, response, transcript=_ANSWER)
    ended = message(
        item_id, "assistant", "completed", {"type": "output_audio", "transcript": _ANSWER}
    )
    yield _item("response.output_item.done", response, ended)
    yield _event("conversation.item.done", item=ended, previous_item_id=previous)
    yield _response("response.done", response, "completed")


def _event(event_type: str, **fields: Any) -> Event:
    return {"type": event_type, "event_id": "event", **fields}


def _output(event_type: str, item_id: str, response: str = "resp", **fields: Any) -> Event:
    place = {"response_id": response, "item_id": item_id, "output_index": 0, "content_index": 0}
    return _event(event_type, **place, **fields)


def _item(event_type: str, response: str, item: Event) -> Event:
    return _event(event_type, response_id=response, output_index=0, item=item)


def _response(event_type: str, response: str, status: str) -> Event:
    resource = {"id": response, "object": "realtime.response", "status": status, "output": []}
    return _event(event_type, response=resource)
