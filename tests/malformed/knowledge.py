"""What a history knows, and what a step has taken away from it.

The principle of the contract, without any of the rules for how to merge: words, sounds, images and
statuses that are known may be replaced by others, but do not disappear.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel

from .conversation import Outcome

_WORDS = ("text", "transcript")
_OTHERS = ("audio", "detail")


def lost(outcome: Outcome) -> Iterator[str]:
    """Yield what the history knew before a step and does not know any more, in words.

    Only message items are looked at, and only those that nobody has deleted or replaced.
    """
    touched = [
        *outcome.deleted,
        *outcome.transcribed,
        *outcome.spoken,
        *(each.item_id for each in outcome.updates),
    ]
    before = [item for item in outcome.before if _is_message(item)]
    after = [item for item in outcome.after if _is_message(item)]
    standing = [item for item in before if not _among(item.item_id, touched)]
    left = iter(after)
    for item in standing:
        if not any(each is item for each in left):
            yield f"an item that the step is not about is not the same any more: {item!r:.300}"
    for item in before:
        is_valid = _is_own(item, "type", "role")
        if is_valid and _among(item.item_id, touched) and not _goes(item, outcome):
            now = _counterpart(item, before, after)
            yield from ["a known item is gone"] if now is None else _lost_in(item, now)


def updates_known_message(outcome: Outcome, update: Any) -> bool:
    """Tell whether an update of a step is about a message that was known before it."""
    return _is_message(update) and any(
        _is_message(item) and _same(item.item_id, update.item_id) and _same(item.role, update.role)
        for item in outcome.before
    )


def _is_message(item: Any) -> bool:
    return bool(getattr(item, "type", None) == "message")


def _same(one: Any, other: Any) -> bool:
    try:
        return one is other or bool(one == other)
    except RecursionError:  # The release cannot compare them either.
        return False


def _among(value: Any, values: Sequence[Any]) -> bool:
    return any(_same(value, each) for each in values)


def _goes(item: Any, outcome: Outcome) -> bool:
    """Tell whether an item is deleted, or replaced by one of another type or role."""
    if _among(item.item_id, outcome.deleted):
        return True
    if item.role != "assistant" and _among(item.item_id, outcome.spoken):
        return True
    return any(
        _same(each.item_id, item.item_id)
        and not (_is_message(each) and _same(each.role, item.role))
        for each in outcome.updates
    )


def _counterpart(item: Any, before: Sequence[Any], after: Sequence[Any]) -> Any:
    """Return what became of an item: itself, or else the first of its id and role, and so on.

    An id can be there twice: a transcription only goes into user items.
    """
    if any(each is item for each in after):
        return item

    def alike(items: Sequence[Any]) -> list[Any]:
        return [
            each
            for each in items
            if _same(each.item_id, item.item_id) and _same(each.role, item.role)
        ]

    place = next(number for number, each in enumerate(alike(before)) if each is item)
    return next(iter(alike(after)[place : place + 1]), None)


def _lost_in(item: Any, now: Any) -> Iterator[str]:
    for name in ("status", "previous_item_id"):
        if _is_known(getattr(item, name, None)) and not _is_known(getattr(now, name, None)):
            yield f"the {name} of a known item is gone"
    old, new = _parts(item), _parts(now)
    if len(new) < len(old):
        yield f"of {len(old)} known parts {len(new)} are left"
    for names in (_WORDS, *((name,) for name in _OTHERS)):
        known, left = _count(old, names), _count(new, names)
        if left < known:
            yield f"of {known} known fields {' and '.join(names)} {left} are left"
    if not _urls(old) <= _urls(new):
        yield "a known image is gone"


def _is_own(value: Any, *names: str) -> bool:
    """Tell whether these fields of an instance are what they are in all of its class.

    Who builds items by hand can put in anything, and that need not survive.
    """
    fields = type(value).model_fields if isinstance(value, BaseModel) else {}
    return all(
        name in fields and _same(getattr(value, name, None), fields[name].default) for name in names
    )


def _parts(item: Any) -> list[Any]:
    """Return the parts of an item that are ones."""
    content = getattr(item, "content", None)
    if not isinstance(content, list | tuple):
        return []
    return [part for part in content if _is_own(part, "type")]


def _count(parts: Sequence[Any], names: Sequence[str]) -> int:
    return sum(_is_known(getattr(part, name, None)) for part in parts for name in names)


def _urls(parts: Sequence[Any]) -> set[str]:
    urls = {str(part.image_url) for part in parts if part.type == "input_image"}
    return urls - {"", "None"}


def _is_known(value: Any) -> bool:
    return value is not None and value not in ("", [])
