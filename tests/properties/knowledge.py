"""What is known of a history item, and what an update changes in it.

Written from docs/contract.md alone: rules 1.2, 1.3, 3.1 to 3.6 and 3.9. It knows neither the SDK
nor how the fixes are made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

View = dict[str, Any]
"""An item as the history shows it: its fields that say something, and ``content`` as parts."""


def says_something(value: Any) -> bool:
    """Tell whether a field's value says anything: null, "" and [] do not."""
    return value is not None and value != "" and value != []


def said(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that say something."""
    return {name: value for name, value in fields.items() if says_something(value)}


@dataclass(frozen=True)
class Part:
    """One part of a message: its type in the history, and the fields that are known."""

    type: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    is_transcription: bool = False
    """The SDK has made this text from the transcription of audio that is not there yet."""

    @property
    def url(self) -> str | None:
        return self.fields.get("image_url")

    def view(self) -> View:
        return {"type": self.type, **self.fields}

    def with_fields(self, fields: Mapping[str, Any]) -> Part:
        """Return the part with these fields in place of those of the same names."""
        return replace(self, fields={**self.fields, **fields})


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message: what is known of one, or what an update says about one."""

    item_id: str
    role: str
    parts: tuple[Part, ...] = ()
    status: str | None = None
    is_status_sent: bool = False
    """The status is the server's word."""
    previous_item_id: str | None = None

    def view(self) -> View:
        return {
            "type": "message",
            "item_id": self.item_id,
            "role": self.role,
            "content": [part.view() for part in self.parts],
            **said({"status": self.status, "previous_item_id": self.previous_item_id}),
        }

    def updated(self, update: Message) -> Message:
        """Return what is known after the update of a message with the same role."""
        if update.is_status_sent:
            status, is_status_sent = update.status, True
        else:
            # A message that the SDK has made itself has no status before the server's first word.
            status, is_status_sent = self.status or "in_progress", self.is_status_sent
        return replace(
            self,
            parts=merged(as_audio_if_transcribed(self.parts, update.parts), update.parts),
            status=status,
            is_status_sent=is_status_sent,
            previous_item_id=update.previous_item_id or self.previous_item_id,
        )

    def started(self) -> Message:
        """Return the message as it is in the history when it is new there."""
        return self if self.is_status_sent else replace(self, status="in_progress")


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """A tool call, before or after its output is known."""

    item_id: str
    call_id: str
    name: str
    arguments: str
    output: str | None = None

    def view(self) -> View:
        return {
            "type": "function_call",
            "item_id": self.item_id,
            "call_id": self.call_id,
            "name": self.name,
            "arguments": self.arguments,
            "status": "in_progress" if self.output is None else "completed",
            **said({"output": self.output}),
        }


Item = Message | ToolCall


def as_audio_if_transcribed(known: Sequence[Part], update: Sequence[Part]) -> list[Part]:
    """Return the known parts, a transcription as audio if the update brings the audio (3.6)."""
    if all(part.type != "input_audio" for part in update):
        return list(known)
    return [
        Part("input_audio", said({"transcript": part.fields.get("text")}))
        if part.is_transcription
        else part
        for part in known
    ]


def merged(known: Sequence[Part], update: Sequence[Part]) -> tuple[Part, ...]:
    """Return the parts that are known after an update of a message (3.2 to 3.5)."""
    partners = pairs(known, update)
    parts = list(known)
    for number, partner in partners.items():
        fields = {**known[partner].fields, **update[number].fields}
        parts[partner] = Part(update[number].type, fields)
    added = [number for number in range(len(update)) if number not in partners]
    parts += [update[number] for number in added]
    # An added part is known as well by now, and the last one that is.
    places = partners | {number: len(known) + index for index, number in enumerate(added)}
    order = arranged(known, [places[number] for number in range(len(update))])
    return tuple(parts[index] for index in order)


def pairs(known: Sequence[Part], update: Sequence[Part]) -> dict[int, int]:
    """Return which part of the update is about which known one, by their numbers (3.2)."""
    found: dict[int, int] = {}
    for kind in {part.type for part in update}:
        asking = [number for number, part in enumerate(update) if part.type == kind]
        free = [index for index, part in enumerate(known) if part.type == kind]
        # Images that are still to come take the known images of their URLs, whoever is first.
        wanted = Counter(update[number].url for number in asking if update[number].url)
        for number in asking:
            url = update[number].url
            if url:
                wanted[url] -= 1
            left = Counter(known[index].url for index in free)
            for index in free:
                known_url = known[index].url
                if known_url == url or (not url and left[known_url] > wanted[known_url]):
                    found[number] = index
                    free.remove(index)
                    break
    return found


def arranged(known: Sequence[Part], mentioned: Sequence[int]) -> list[int]:
    """Return the order of the parts, by their numbers (3.4, and the contract's last paragraph).

    ``mentioned`` has those that the update is about, in its order; numbers behind the known ones
    are of parts that are new.
    """
    runs = runs_of(len(known), mentioned)
    heads = list(runs)
    for index in sorted(set(range(len(known))) - set(mentioned)):
        home = next(head for head in heads if index in runs[head])
        later = [
            head
            for head in heads[heads.index(home) + 1 :]
            if any(
                other < index and known[other].type == known[index].type
                for other in (head, *runs[head])
                if other < len(known)
            )
        ]
        if later:
            # What followed the part, and is not mentioned either, goes with it.
            moved = [each for each in runs[home] if each >= index]
            runs[home] = [each for each in runs[home] if each < index]
            runs[later[-1]] = sorted([*runs[later[-1]], *moved])
    return in_order(runs)


def runs_of(count: int, mentioned: Sequence[int]) -> dict[int, list[int]]:
    """Return, for each part that the update is about, those of ``count`` known ones that follow it
    and are left out; -1 stands for the beginning of the content."""
    return {head: _run_from(head + 1, count, mentioned) for head in (-1, *mentioned)}


def in_order(runs: Mapping[int, Sequence[int]]) -> list[int]:
    """Return the numbers of the parts in the order in which the runs have them."""
    return [index for head, run in runs.items() for index in (head, *run)][1:]


def _run_from(first: int, count: int, mentioned: Sequence[int]) -> list[int]:
    end = first
    while end < count and end not in mentioned:
        end += 1
    return list(range(first, end))
