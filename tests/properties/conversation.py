"""What a client knows of a conversation after the server's events.

Written from docs/contract.md: how an item changes is in `knowledge`, this is about the history as a
whole, transcript deltas (3.7), transcriptions and session events (3.13). Where the contract is
silent it does what the releases do; in what they differ, see `release`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .knowledge import Item, Message, Part, ToolCall, View, said, says_something
from .release import does
from .wire import Event

RAW = "raw: "
"""What the names of events begin with that a session only hands through from the model."""

_HISTORY_TYPES = {"output_text": "text", "output_audio": "audio"}
_STATUSES = ("in_progress", "completed", "incomplete")
_OUTPUT_FIELDS = {"text": ("text",), "audio": ("audio", "transcript")}


class Conversation:
    """The items that are known, and what a session tells about them."""

    def __init__(self, *, answer: Callable[[str], str]) -> None:
        """``answer`` gives the output of a tool for the arguments of a call."""
        self.items: list[Item] = []
        self.calls: dict[str, ToolCall] = {}
        """The calls whose tool has not returned yet, by their call id, the first one first."""
        self._answer = answer
        self.response: str | None = None
        """The response that is under way."""
        self._heard: dict[str, str] = {}

    def view(self) -> list[View]:
        return [item.view() for item in self.items]

    def find(self, item_id: str) -> Item | None:
        """Return the first item of this id."""
        return next((item for item in self.items if item.item_id == item_id), None)

    def heard(self, item_id: str) -> str:
        """Return the words of an item's transcript deltas that the SDK has not forgotten."""
        return self._heard.get(item_id, "")

    def receive(self, event: Event) -> list[str]:
        """Take in a server event, and return the names of the session's events about it."""
        told = [RAW + "raw_server_event"]
        # The GA protocol has output_audio and output_text where the beta one has audio and text.
        name = event["type"].replace(".output_audio", ".audio").replace(".output_text", ".text")
        if name.startswith(("conversation.item.", "response.output_item.")) and "item" in event:
            return told + self._snapshot(event)
        if name == "response.audio_transcript.delta":
            return told + self._transcript_delta(event)
        if name == "response.text.delta" and does("tells text deltas"):
            self._reconcile(event["response_id"])
            return [*told, RAW + "output_text_delta"]
        if name == "response.audio.delta":
            return [*told, RAW + "audio", "audio"]
        if name == "response.audio.done":
            return [*told, RAW + "audio_done", "audio_end"]
        if name == "conversation.item.input_audio_transcription.completed":
            return told + self._transcription(event)
        if name == "conversation.item.deleted":
            self.items = [item for item in self.items if item.item_id != event["item_id"]]
            return [*told, RAW + "item_deleted", "history_updated"]
        if name == "response.created":
            self.response = event["response"]["id"]
            return [*told, RAW + "turn_started", "agent_start"]
        if name == "response.done":
            return told + self._response_done(event)
        return told

    def returned(self, call_id: str) -> list[str]:
        """Take in that a tool has returned its output, and return the names of the events."""
        call = self.calls.pop(call_id)
        return [*self._updated(replace(call, output=self._answer(call.arguments))), "tool_end"]

    def _snapshot(self, event: Event) -> list[str]:
        item = event["item"]
        if is_message(event):
            return self._updated(update_of(event))
        if item["type"] == "function_call" and event["type"].startswith("response.output_item."):
            return self._call(item) if item["status"] == "completed" else []
        return []

    def _updated(self, update: Item) -> list[str]:
        """Take in an update of an item."""
        told = [RAW + "item_updated"]
        known = self.find(update.item_id)
        if known is not None:
            self.items[self.items.index(known)] = _after(known, update)
            return [*told, "history_updated"]
        place = len(self.items)
        if isinstance(update, Message):
            update = update.started()
            previous = update.previous_item_id
            if previous is not None and (item := self.find(previous)) is not None:
                place = self.items.index(item) + 1
        self.items.insert(place, update)
        return [*told, "history_added"]

    def _call(self, item: Event) -> list[str]:
        call = ToolCall(
            item_id=item["id"],
            call_id=item["call_id"],
            name=item["name"],
            arguments=item["arguments"],
        )
        told = [*self._updated(call), RAW + "function_call", "tool_start"]
        self.calls[call.call_id] = call
        if not does("runs tools aside"):
            told += self.returned(call.call_id)
        return told

    def _transcription(self, event: Event) -> list[str]:
        item_id, transcript = event["item_id"], event["transcript"]
        told = [RAW + "input_audio_transcription_completed"]
        is_known = False
        for index, item in enumerate(self.items):
            if isinstance(item, Message) and (item.item_id, item.role) == (item_id, "user"):
                self.items[index] = _transcribed(item, transcript)
                is_known = True
        if is_known or not does("adds a message for a transcription"):
            return [*told, "history_updated"]
        text = Part("input_text", said({"text": transcript}), is_transcription=True)
        # It has no status before the server sends a snapshot.
        self.items.append(Message(item_id=item_id, role="user", parts=(text,)))
        return [*told, "history_added"]

    def _transcript_delta(self, event: Event) -> list[str]:
        told = [RAW + "transcript_delta"]
        item_id, delta = event["item_id"], event["delta"]
        self._reconcile(event["response_id"])
        self._heard[item_id] = self.heard(item_id) + delta
        if not does("puts transcript deltas into the history"):
            return told
        known = self.find(item_id)
        if isinstance(known, Message) and known.role == "assistant":
            self.items[self.items.index(known)] = self._continued(known, delta)
            return told
        audio = Part("audio", said({"transcript": self.heard(item_id)}))
        # It has no status before the server sends a snapshot.
        message = Message(item_id=item_id, role="assistant", parts=(audio,))
        if known is None:
            self.items.append(message)
        else:
            self.items[self.items.index(known)] = message
        return told

    def _continued(self, known: Message, delta: str) -> Message:
        """Return an assistant message after a transcript delta of it."""
        parts = list(known.parts)
        audio = next((index for index, part in enumerate(parts) if part.type == "audio"), None)
        if audio is None:
            audio = len(parts)
            parts.append(Part("audio"))
        transcript = parts[audio].fields.get("transcript", "")
        heard = self.heard(known.item_id)
        if heard.startswith(transcript):
            # All that is known has been heard, or a snapshot was behind the deltas.
            transcript = heard
        elif not transcript.startswith(heard):
            # Other words are known, or some that the SDK has forgotten. The delta goes on from
            # there, unless a snapshot is ahead of all that has been heard.
            transcript += delta
        parts[audio] = parts[audio].with_fields(said({"transcript": transcript}))
        return replace(known, parts=tuple(parts))

    def _reconcile(self, response_id: str) -> None:
        """Take the response of a delta for the one under way, if none has begun."""
        self.response = self.response or response_id

    def _response_done(self, event: Event) -> list[str]:
        told = [RAW + "turn_ended"]
        if does("keeps track of responses") and event["response"]["id"] != self.response:
            return told
        self._heard.clear()
        self.response = None
        return [*told, "agent_end"]


def _after(known: Item, update: Item) -> Item:
    """Return a known item after an update with its id."""
    if isinstance(update, ToolCall):
        return update
    if isinstance(known, Message) and known.role == update.role:
        return known.updated(update)
    return update.started()


def _transcribed(message: Message, transcript: str) -> Message:
    """Return a known user message after the transcription of its audio.

    The releases take the transcript as it is, even without a word, and for all audio in there.
    """
    parts = tuple(
        replace(part, fields=said({**part.fields, "transcript": transcript}))
        if part.type == "input_audio"
        else part
        for part in message.parts
    )
    status = message.status if message.is_status_sent else "completed"
    return replace(message, parts=parts, status=status)


def is_message(event: Event) -> bool:
    """Tell whether the event is a snapshot of a message; no release handles ``.done`` of the GA
    protocol's conversation."""
    has_message: bool = event.get("item", {}).get("type") == "message"
    return has_message and event["type"] != "conversation.item.done"


def update_of(event: Event) -> Message:
    """Return what a snapshot of a message says."""
    is_output = event["type"].startswith("response.")
    if is_output and does("speaks the GA protocol"):
        return _output(event["item"], is_done=event["type"].endswith(".done"))
    # The releases hand it on from no other event.
    is_placed = event["type"] == "conversation.item.created"
    return _message(event["item"], event.get("previous_item_id") if is_placed else None)


def _message(item: Event, previous_item_id: str | None) -> Message:
    return Message(
        item_id=item["id"],
        role=item["role"],
        parts=tuple(_part(part) for part in item.get("content") or ()),
        status=item.get("status"),
        is_status_sent=says_something(item.get("status")),
        previous_item_id=previous_item_id or None,
    )


def _part(part: Event) -> Part:
    fields = {name: value for name, value in part.items() if name != "type"}
    return Part(str(_HISTORY_TYPES.get(part["type"], part["type"])), said(fields))


def _output(item: Event, *, is_done: bool) -> Message:
    """Return what the releases of the GA protocol take from a message in response.output_item.*."""
    parts = []
    for part in item.get("content") or ():
        if part["type"] in _HISTORY_TYPES and not does(f"reads {part['type']} in output"):
            continue
        kind = str(_HISTORY_TYPES.get(part["type"], part["type"]))
        parts.append(Part(kind, said({name: part.get(name) for name in _OUTPUT_FIELDS[kind]})))
    status = item.get("status")
    if status not in _STATUSES:
        status = "completed" if is_done else "in_progress"
    return Message(
        item_id=item["id"],
        role=item.get("role", "assistant"),
        parts=tuple(parts),
        status=status,
        is_status_sent=True,
    )
