"""What the conversations of a run have exercised, so that a generator gone blind is noticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from .conversation import Conversation, is_message, update_of
from .invariants import is_repeatable
from .knowledge import (
    Item,
    Message,
    Part,
    arranged,
    as_audio_if_transcribed,
    in_order,
    pairs,
    runs_of,
    says_something,
)
from .release import does
from .wire import Event

_GA = "speaks the GA protocol"
_IMAGES = "accepts images"
_DELTAS = "puts transcript deltas into the history"
_TRANSCRIBED = "adds a message for a transcription"

TOOL_RETURNS = "(the tool returns)"
"""Stands for the type of an event where a tool returns, which is none of the server's."""

# Each situation, and what a release has to do that it can come about ("" for nothing). The first
# ones are there in any 200 conversations, most often in 10 % of them or more. The others take more.
OFTEN = {
    "update: a known message": "",
    "update: without content": "",
    "update: a part more": "",
    "update: a known part left out": "",
    "update: parts in another order": "",
    "update: two parts of one kind": "",
    "update: text absent": "",
    "update: text empty": "",
    "update: transcript absent": "",
    "update: transcript null": "",
    "update: transcript empty": "",
    "update: audio absent": "",
    "update: another role or type": "",
    "status: omitted over one that was sent": "",
    "status: null over one that was sent": "",
    "status: in_progress over completed": "",
    "previous item: omitted over a known one": "",
    "previous item: another one than known": "",
    "image: a known one": _IMAGES,
    "delta: makes the item": _DELTAS,
    "delta: goes on": _DELTAS,
    "delta: after words that were not heard": _DELTAS,
    "transcription: of a known item": "",
    "transcription: its status was sent": "",
    "transcription: before the snapshot": _TRANSCRIBED,
    "deletion: of an unknown item": "",
    "tool: returns": "runs tools aside",
    "twice: a snapshot": "",
    "aside": "",
}
SELDOM = {
    "update: text null": "",
    "update: after a deletion": "",
    "update: audio null": "",
    "update: audio empty": "",
    "update: annotations absent": "",
    "update: annotations null": "",
    "update: annotations empty": "",
    "update: a part goes behind one of its kind": "",
    "update: of an id that two items have": _TRANSCRIBED,
    "status: empty": _GA,
    "previous item: a new item goes behind it": "",
    "image: detail absent": _IMAGES,
    "image: image_url absent": _IMAGES,
    "image: moves with its URL": _IMAGES,
    "image: image_url null": _IMAGES,
    "image: image_url empty": _IMAGES,
    "image: detail null": _IMAGES,
    "image: two of one URL": _IMAGES,
    "image: one without URL before one with": _IMAGES,
    "delta: makes the audio part": _DELTAS,
    "delta: a snapshot is ahead": _DELTAS,
    "delta: a snapshot is behind": _DELTAS,
    "delta: after a deletion": _DELTAS,
    "delta: another role or type": _DELTAS,
    "delta: of another response than the one under way": _DELTAS,
    "transcription: then the audio": _TRANSCRIBED,
    "transcription: then a text": _TRANSCRIBED,
    "transcription: of an id that is no user message": _TRANSCRIBED,
    "transcription: without a word": "",
    "deletion: of a known item": "",
    "response: two at once": "",
    "tool: returns after its call was deleted": "runs tools aside",
    "tool: returns after its call became a message": "runs tools aside",
    "tool: two at once": "runs tools aside",
    "tool: another type": "",
    "twice: a deletion": "",
}


class Situations:
    """Counts, for each situation, the conversations in which it came about."""

    def __init__(self) -> None:
        self.conversations = 0
        self.events = 0
        self._found: Counter[str] = Counter()
        self._current: set[str] = set()

    def begin(self) -> None:
        """Begin a conversation."""
        self._current = set()
        self.conversations += 1

    def note(self, event: Event, known: Conversation, *, previous: Sequence[Event]) -> None:
        """Take in an event that is about to be sent, with what is known and was sent so far."""
        self.events += 1
        self._current.update(_situations(event, known, previous))

    def end(self) -> None:
        """End the conversation."""
        self._found.update(self._current)

    def missing(self, situations: dict[str, str]) -> list[str]:
        """Return those that never came about, of the ones that the release can be in."""
        return [
            name
            for name, needed in situations.items()
            if not self._found[name] and (not needed or does(needed))
        ]

    def lines(self) -> list[str]:
        """Return what was counted, one thing per line."""
        if not self.conversations:
            return []
        average = self.events / self.conversations
        head = (
            f"{self.conversations} conversations, {average:.1f} events on the average; of these had"
        )
        return [head] + [
            f"{100 * count / self.conversations:6.2f} % {name}"
            for name, count in sorted(self._found.items())
        ]


def _situations(event: Event, known: Conversation, previous: Sequence[Event]) -> Iterator[str]:
    name = event["type"]
    item_id = event.get("item_id", event.get("item", {}).get("id"))
    earlier = None if item_id is None else known.find(item_id)
    was_deleted = {"type": "conversation.item.deleted", "item_id": item_id} in previous
    if previous and event is previous[-1] and is_repeatable(event):
        yield "twice: a deletion" if name.endswith(".deleted") else "twice: a snapshot"
    if is_message(event):
        yield from _of_snapshot(event, known, earlier)
        if earlier is None and was_deleted:
            yield "update: after a deletion"
    elif name == TOOL_RETURNS:
        yield from _of_return(known, earlier)
    elif "call_id" in event.get("item", {}) and name == "response.output_item.done":
        if isinstance(earlier, Message):
            yield "tool: another type"
    elif name.endswith("transcript.delta"):
        yield from _of_delta(event, known, earlier)
        if earlier is None and was_deleted:
            yield "delta: after a deletion"
    elif name.endswith("transcription.completed"):
        yield from _of_transcription(event, earlier)
    elif name.endswith(".deleted"):
        yield f"deletion: of {'an unknown' if earlier is None else 'a known'} item"
    elif name == "response.created":
        if known.response not in (None, event["response"]["id"]):
            yield "response: two at once"
    elif name not in ("session.created", "response.done"):
        yield "aside"


def _of_snapshot(event: Event, known: Conversation, earlier: Item | None) -> Iterator[str]:
    update = update_of(event)
    if event["item"].get("status") == "":
        yield "status: empty"
    if earlier is None:
        if update.previous_item_id and known.find(update.previous_item_id) is not None:
            yield "previous item: a new item goes behind it"
        return
    if [item.item_id for item in known.items].count(update.item_id) > 1:
        yield "update: of an id that two items have"
    if not isinstance(earlier, Message) or earlier.role != update.role:
        yield "update: another role or type"
        return
    yield "update: a known message"
    yield from _of_fields(event, update, earlier)
    yield from _of_content(event, update, earlier)


def _of_fields(event: Event, update: Message, earlier: Message) -> Iterator[str]:
    if earlier.is_status_sent and not update.is_status_sent:
        way = "null" if "status" in event["item"] else "omitted"
        yield f"status: {way} over one that was sent"
    if (earlier.status, update.status) == ("completed", "in_progress"):
        yield "status: in_progress over completed"
    if earlier.previous_item_id is not None:
        if update.previous_item_id is None:
            yield "previous item: omitted over a known one"
        elif update.previous_item_id != earlier.previous_item_id:
            yield "previous item: another one than known"


def _of_content(event: Event, update: Message, earlier: Message) -> Iterator[str]:
    if not update.parts:
        yield "update: without content"
        return
    if any(part.is_transcription for part in earlier.parts):
        kinds = {part.type for part in update.parts}
        if "input_audio" in kinds:
            yield "transcription: then the audio"
        elif "input_text" in kinds:
            yield "transcription: then a text"
    known = as_audio_if_transcribed(earlier.parts, update.parts)
    partners = pairs(known, update.parts)
    if len(partners) < len(update.parts):
        yield "update: a part more"
    if len(partners) < len(known):
        yield "update: a known part left out"
    yield from _of_order(known, update.parts, partners)
    yield from _of_images(update.parts)
    content = event["item"].get("content") or []
    # Some releases leave out parts of an answer.
    if len(content) == len(update.parts):
        for number, partner in partners.items():
            yield from _of_part(content[number], known[partner])


def _of_order(
    known: Sequence[Part], update: Sequence[Part], partners: dict[int, int]
) -> Iterator[str]:
    if any(count > 1 for count in Counter(part.type for part in update).values()):
        yield "update: two parts of one kind"
    order = [partners[number] for number in sorted(partners)]
    if order != sorted(order):
        yield "update: parts in another order"
        if any(update[number].url and partners[number] != number for number in partners):
            yield "image: moves with its URL"
    places = [partners.get(number, len(known)) for number in range(len(update))]
    if arranged(known, places) != in_order(runs_of(len(known), places)):
        yield "update: a part goes behind one of its kind"


def _of_images(update: Sequence[Part]) -> Iterator[str]:
    urls = [part.url for part in update if part.type == "input_image"]
    if any(url and urls.count(url) > 1 for url in urls):
        yield "image: two of one URL"
    if None in urls and any(urls[urls.index(None) :]):
        yield "image: one without URL before one with"


def _of_part(part: Event, known: Part) -> Iterator[str]:
    if known.type == "input_image":
        yield "image: a known one"
    for field in known.fields:
        value = part.get(field, ...)
        if value is ... or not says_something(value):
            way = "absent" if value is ... else "null" if value is None else "empty"
            kind = "image" if field in ("image_url", "detail") else "update"
            yield f"{kind}: {field} {way}"


def _of_delta(event: Event, known: Conversation, earlier: Item | None) -> Iterator[str]:
    if known.response not in (None, event["response_id"]):
        yield "delta: of another response than the one under way"
    if earlier is None:
        yield "delta: makes the item"
        return
    if not isinstance(earlier, Message) or earlier.role != "assistant":
        yield "delta: another role or type"
        return
    audio = next((part for part in earlier.parts if part.type == "audio"), None)
    if audio is None:
        yield "delta: makes the audio part"
        return
    transcript = audio.fields.get("transcript", "")
    heard = known.heard(earlier.item_id)
    if transcript == heard:
        yield "delta: goes on"
    elif transcript.startswith(heard + event["delta"]):
        yield "delta: a snapshot is ahead"
    elif heard.startswith(transcript):
        yield "delta: a snapshot is behind"
    else:
        yield "delta: after words that were not heard"


def _of_transcription(event: Event, earlier: Item | None) -> Iterator[str]:
    if not event["transcript"]:
        yield "transcription: without a word"
    if earlier is None:
        yield "transcription: before the snapshot"
    elif not isinstance(earlier, Message) or earlier.role != "user":
        yield "transcription: of an id that is no user message"
    else:
        yield "transcription: of a known item"
        if earlier.is_status_sent:
            yield "transcription: its status was sent"


def _of_return(known: Conversation, earlier: Item | None) -> Iterator[str]:
    yield "tool: returns"
    if len(known.calls) > 1:
        yield "tool: two at once"
    if earlier is None:
        yield "tool: returns after its call was deleted"
    elif isinstance(earlier, Message):
        yield "tool: returns after its call became a message"
