"""What can be wrong with a history after an event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from .knowledge import View, says_something
from .wire import Event

_REPEATABLE = (
    "conversation.item.created",
    "conversation.item.added",
    "conversation.item.retrieved",
    "conversation.item.deleted",
    "response.output_item.added",
    "response.output_item.done",
)


@dataclass(frozen=True)
class Problem:
    """What is wrong after an event: the rule or the property that is broken, and how."""

    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


def is_repeatable(event: Event) -> bool:
    """Tell whether the same event, right after itself, has to change nothing (3.11).

    A delta is another word, a transcription is no update, and a call would be another call.
    """
    is_call = event.get("item", {}).get("type") == "function_call"
    return event["type"] in _REPEATABLE and not is_call


def touched_id(event: Event) -> str | None:
    """Return the id of the item that the event is about, if it is about one."""
    if "item" in event:
        return str(event["item"]["id"])
    item_id: str | None = event.get("item_id")
    return item_id


def problems_of_loss(
    before: Sequence[View], after: Sequence[View], event: Event
) -> Iterator[Problem]:
    """Yield what was known before the event, and neither is known now nor was taken back."""
    item_id = touched_id(event)
    if item_id is None or event["type"] == "conversation.item.deleted":
        return
    known = [item for item in before if item["item_id"] == item_id]
    now = [item for item in after if item["item_id"] == item_id]
    if len(now) < len(known):
        yield Problem("loss", f"the item {item_id} is gone")
        return
    for old, new in zip(known, now, strict=False):
        is_message = old["type"] == new["type"] == "message"
        if is_message and old["role"] == new["role"]:
            yield from _losses(old, new, event)


def _losses(old: View, new: View, event: Event) -> Iterator[Problem]:
    for name in old.keys() - new.keys():
        yield Problem("loss", f"{name} is no longer known, it was {old[name]!r}")
    if "transcript" in event:
        # The transcription of a user's audio replaces all that is known of its words.
        return
    if len(new["content"]) < len(old["content"]):
        yield Problem("loss", f"a part is gone of {old['content']}")
    lost = Counter(_values(old)) - Counter(_values(new))
    if "delta" in event:
        # It goes on with what is known.
        longer = [value for value in lost if any(map(partial(_goes_on, value), _values(new)))]
        lost -= Counter(longer)
    # What an update says can take the place of as many values, and no more.
    item = event.get("item", {})
    update = _values({"role": old["role"], "content": item.get("content")})
    left = Counter(_place(value) for value in lost.elements())
    left -= Counter(_place(value) for value in update)
    for (kind, name), count in left.items():
        yield Problem("loss", f"{count} of {kind} {name} are gone of {old['content']}")


_Value = tuple[str, str, str]


def _place(value: _Value) -> tuple[str, str]:
    kind, name, _ = value
    return kind, name


def _goes_on(value: _Value, other: _Value) -> bool:
    return _place(value) == _place(other) and other[-1].startswith(value[-1])


def _values(item: View) -> Iterator[_Value]:
    """Yield what the parts of a message say: the kind of the part, the field, and its value."""
    for part in item.get("content") or []:
        kind = str(part["type"]).removeprefix("input_").removeprefix("output_")
        for name in part.keys() - {"type"}:
            if not says_something(part[name]):
                continue
            value = str(part[name])
            if item["role"] == "user" and name in ("text", "transcript"):
                # A text that is the transcript of audio becomes one (3.6).
                yield "words", "of the user", value
            else:
                yield kind, name, value


def differences(history: Sequence[View], expected: Sequence[View]) -> Iterator[Problem]:
    """Yield in what a history differs from the one that is expected."""
    if history == expected:
        return
    for names in (("item_id",), ("type", "role"), ("status",), ("previous_item_id",)):
        got, wanted = (
            [tuple(item.get(name) for name in names) for item in items]
            for items in (history, expected)
        )
        if got != wanted:
            yield Problem(f"{' or '.join(names)} in history", f"{got}, and not {wanted}")
            return
    for item, other in zip(history, expected, strict=True):
        if item != other:
            yield Problem("content in history", f"{item}, and not {other}")
