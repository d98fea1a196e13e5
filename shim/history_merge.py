"""history-merge: an update of a known history item loses nothing that is known.

0.2.x replace the known item with the incoming one. 0.3.0 and later merge, but compare parts by
raw index, move images to the front, take "" for news, ignore updates without content, and let a
transcript delta wipe the status and the other parts. 0.3.0 to 0.19.4 never apply the second
update of a tool call.
Upstream: issue #4050, pull requests #1495, #3214 and #4284.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from .said import said, unsent
from .wraps import Fix, Wrap

_SESSION = "agents.realtime.session"


@dataclass(kw_only=True)
class _Arrival:
    """The model event that `RealtimeSession.on_event` is handling, while it does."""

    item_id: str
    event: Any
    heard: str | None
    """The words of the item's transcript deltas; up to 0.2.11 the history does not have them."""


# Tasks that are started meanwhile inherit the variable; by then it is empty for them too.
_arrival: ContextVar[list[_Arrival]] = ContextVar("shim_history_merge_arrival")


def _on_event(
    wrapped: Callable[..., Any], session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Remember the event that brings an update while the release handles it."""

    def event_of(event: Any) -> Any:
        return event

    event = event_of(*args, **kwargs)
    if event.type == "item_updated":
        return _handle(wrapped, session, event, event.item.item_id)
    if event.type == "transcript_delta":
        return _handle(wrapped, session, event, event.item_id)
    return wrapped(*args, **kwargs)


async def _handle(wrapped: Callable[..., Any], session: Any, event: Any, item_id: str) -> Any:
    heard = session._item_transcripts.get(item_id)
    arrivals = [_Arrival(item_id=item_id, event=event, heard=heard)]
    token = _arrival.set(arrivals)
    try:
        return await wrapped(event)
    finally:
        arrivals.clear()
        _arrival.reset(token)


def _get_new_history(
    wrapped: Callable[..., Any], session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Merge the update of a known item; leave new items and transcriptions to the release."""

    def arguments(old_history: Any, event: Any) -> tuple[Any, Any]:
        return old_history, event

    history, update = arguments(*args, **kwargs)
    if update.type not in ("message", "function_call"):
        return wrapped(*args, **kwargs)
    index = _index_of(history, update.item_id)
    if index is None:
        return wrapped(*args, **kwargs)
    new_history = list(history)
    new_history[index] = _updated(history[index], update)
    return new_history


def _index_of(history: Sequence[Any], item_id: str) -> int | None:
    # From the end, where the live item is.
    for index in range(len(history) - 1, -1, -1):
        if history[index].item_id == item_id:
            return index
    return None


def _updated(known: Any, update: Any) -> Any:
    """Return the known item as the update leaves it."""
    arrival = next((each for each in _arrival.get([]) if each.item_id == update.item_id), None)
    if arrival is not None and arrival.event.type == "item_updated":
        update = _as_it_came(update, arrival.event.item)
    if update.type != "message" or known.type != "message" or update.role != known.role:
        return update
    item = _merge_items(known, update)
    if item.role != "assistant" or arrival is None:
        return item
    transcript = _transcript(item)
    if arrival.event.type == "item_updated":
        return item if transcript else _with_transcript(item, arrival.heard)
    return _with_transcript(item, _continued(_transcript(known), transcript, arrival.event.delta))


def _as_it_came(update: Any, original: Any) -> Any:
    """Take back the transcripts that `RealtimeSession.on_event` has put into an update.

    It does so by raw index, which puts them on the wrong parts. Whatever else is different, a
    subclass or another wrapper has changed, and it stays.
    """
    if update is original or update.type != "message":
        return update
    parts = list(update.content or [])
    for index, (part, came) in enumerate(zip(parts, original.content or [], strict=False)):
        filled = getattr(part, "transcript", None)
        if not filled or getattr(came, "transcript", None) or not hasattr(came, "model_copy"):
            continue
        if part == came.model_copy(update={"transcript": filled}):
            parts[index] = came
    return update.model_copy(update={"content": parts})


def _continued(known: str | None, heard: str | None, delta: str) -> str | None:
    """Return the transcript after a delta, given all words heard since the SDK last forgot them.

    It forgets them at the end of every response, also of another one that overlaps, and a snapshot
    can be ahead of them. Neither may shorten what is known.
    """
    if not known or not heard or heard.startswith(known):
        return heard
    return known if known.startswith(heard) else known + delta


def _merge_items(known: Any, update: Any) -> Any:
    """Return ``known`` with what ``update``, a message of the same role, says."""
    fields = said(update)
    # The same in both, and set only where the server sent them: see _is_transcription.
    for name in ("item_id", "type", "role"):
        fields.pop(name, None)
    fields["content"] = _merge_content(
        _as_audio_if_transcribed(known, update.content or []), update.content or []
    )
    item = known.model_copy(update=fields)
    status = getattr(update, "status", None)
    if getattr(item, "status", None) is None and status is not None:
        # The item was made from a delta or a transcription; to the server it is a new one.
        return unsent(item.model_copy(update={"status": status}))
    return item


def _merge_content(known: Sequence[Any], update: Sequence[Any]) -> list[Any]:
    """Return the parts of both, paired by what they are, in the update's order.

    A known part that the update does not bring stays, right after the part that it followed.
    """
    partners = _pair(known, update)
    content: list[list[Any]] = [
        [part if partner is None else _merge_parts(known[partner], part)]
        for part, partner in zip(update, partners, strict=True)
    ]
    leading: list[Any] = []
    for index, position in _left_over(known, partners):
        (leading if position is None else content[position]).append(known[index])
    return leading + [part for group in content for part in group]


def _merge_parts(known: Any, part: Any) -> Any:
    # Who builds items by hand can put anything into them.
    return known.model_copy(update=said(part)) if hasattr(known, "model_copy") else part


def _pair(known: Sequence[Any], update: Sequence[Any]) -> list[int | None]:
    """Return, for each part of the update, the index of the known part that it is about.

    An image with a URL is about the known image of that URL; any other part about the first
    known one of its kind that is still unpaired.
    """
    by_url: dict[str, deque[int]] = {}
    by_kind: dict[Any, deque[int]] = {}
    for index, part in enumerate(known):
        by_kind.setdefault(_kind(part), deque()).append(index)
        if url := _image_url(part):
            by_url.setdefault(url, deque()).append(index)

    partners: list[int | None] = [None] * len(update)
    taken: set[int] = set()
    for position, part in enumerate(update):
        if (url := _image_url(part)) and by_url.get(url):
            partner = by_url[url].popleft()
            partners[position] = partner
            taken.add(partner)
    for position, part in enumerate(update):
        if _image_url(part):
            continue
        candidates = by_kind.get(_kind(part), deque())
        while candidates and candidates[0] in taken:
            candidates.popleft()
        if candidates:
            partners[position] = candidates.popleft()
    return _in_known_order(partners, known)


def _in_known_order(partners: list[int | None], known: Sequence[Any]) -> list[int | None]:
    """Keep known images of the same URL in their order, or the same update would swap them again.

    Which of them an incoming image without a URL, or with theirs, is about cannot be told.
    """
    by_url: dict[str, list[int]] = {}
    for index in sorted(index for index in partners if index is not None):
        if url := _image_url(known[index]):
            by_url.setdefault(url, []).append(index)
    ordered = {url: iter(indices) for url, indices in by_url.items()}
    return [
        next(ordered[url]) if index is not None and (url := _image_url(known[index])) else index
        for index in partners
    ]


def _left_over(
    known: Sequence[Any], partners: Sequence[int | None]
) -> list[tuple[int, int | None]]:
    """Return each unpaired known part's index with the position in the update that it follows.

    That is the position of the part before it; where the update changed the order, no position
    before that of an earlier part of the same kind, or the next update of the same content
    would pair differently. None: it follows no part of the update.
    """
    position_of = {index: position for position, index in enumerate(partners) if index is not None}
    left_over: list[tuple[int, int | None]] = []
    previous = -1
    last_of_kind: dict[Any, int] = {}
    for index, part in enumerate(known):
        kind = _kind(part)
        if index in position_of:
            previous = position_of[index]
        else:
            previous = max(previous, last_of_kind.get(kind, -1))
            left_over.append((index, None if previous < 0 else previous))
        last_of_kind[kind] = max(previous, last_of_kind.get(kind, -1))
    return left_over


def _kind(part: Any) -> Any:
    return getattr(part, "type", None)


def _image_url(part: Any) -> str | None:
    return getattr(part, "image_url", None) if _kind(part) == "input_image" else None


def _as_audio_if_transcribed(known: Any, update: Sequence[Any]) -> list[Any]:
    """Return the known content, its text as audio if it is the transcript of the update's audio.

    A user item whose transcription comes before its first snapshot is made by the release, as
    one text part.
    """
    content = list(known.content or [])
    audio = next((part for part in update if _kind(part) == "input_audio"), None)
    if audio is None or "role" in known.model_fields_set:
        return content
    return [
        type(audio)(transcript=part.text) if _is_transcription(part) else part for part in content
    ]


def _is_transcription(part: Any) -> bool:
    """Tell whether the release made this text part; one from the server has its type set."""
    return _kind(part) == "input_text" and "type" not in getattr(
        part, "model_fields_set", ("type",)
    )


def _transcript(item: Any) -> str | None:
    """Return the transcript of an item's first audio part."""
    audio = next((part for part in item.content or [] if _kind(part) == "audio"), None)
    return getattr(audio, "transcript", None)


def _with_transcript(item: Any, transcript: str | None) -> Any:
    """Return the item with that transcript in its first audio part, if both exist."""
    if not transcript or transcript == _transcript(item):
        return item
    content = list(item.content)
    for index, part in enumerate(content):
        if _kind(part) == "audio" and hasattr(part, "model_copy"):
            content[index] = part.model_copy(update={"transcript": transcript})
            return item.model_copy(update={"content": content})
    return item


FIX = Fix(
    name="history-merge",
    issues=("#4050",),
    wraps=(
        Wrap(module=_SESSION, attribute="RealtimeSession.on_event", wrapper=_on_event),
        Wrap(
            module=_SESSION,
            attribute="RealtimeSession._get_new_history",
            wrapper=_get_new_history,
        ),
    ),
)
