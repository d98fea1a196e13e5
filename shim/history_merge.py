"""history-merge: an update of a known history item loses nothing that is known.

0.2.x replace the known item with the incoming one. 0.3.0 and later merge, but compare parts by
raw index, move images to the front, take "" for news, ignore updates without content, and let a
transcript delta wipe the status and the other parts. 0.3.0 to 0.19.4 never apply the second
update of a tool call.
Upstream: issue #4050, pull requests #1495, #3214 and #4284.
"""

from __future__ import annotations

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
    """The words of the item's transcript deltas, where the history does not have them."""


# Tasks that are started meanwhile inherit the variable; by then it is empty for them too.
_arrival: ContextVar[list[_Arrival]] = ContextVar("shim_history_merge_arrival")


def _on_event(
    wrapped: Callable[..., Any], session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Remember the event that brings an update while the release handles it."""
    return _handle(wrapped, _event_of(*args, **kwargs), heard={})


def _on_event_without_deltas(
    wrapped: Callable[..., Any], session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The same for 0.2.8 to 0.2.11, whose history has no transcript deltas."""
    return _handle(wrapped, _event_of(*args, **kwargs), heard=session._item_transcripts)


def _event_of(event: Any) -> Any:
    return event


async def _handle(wrapped: Callable[..., Any], event: Any, *, heard: dict[str, str]) -> Any:
    if event.type == "item_updated":
        item_id = event.item.item_id
    elif event.type == "transcript_delta":
        item_id = event.item_id
    else:
        return await wrapped(event)
    arrivals = [_Arrival(item_id=item_id, event=event, heard=heard.get(item_id))]
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
    return next((index for index, item in enumerate(history) if item.item_id == item_id), None)


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
    # The same in both, and left out of items that the release makes: see _as_audio_if_transcribed.
    fields.pop("role", None)
    fields["content"] = _merge_content(
        _as_audio_if_transcribed(known, update.content or []), update.content or []
    )
    item = known.model_copy(update=fields)
    status = getattr(update, "status", None)
    if getattr(item, "status", None) is None and status is not None:
        # Made from a delta or a transcription; to the server it is a new one.
        return unsent(item.model_copy(update={"status": status}))
    return item


def _merge_content(known: Sequence[Any], update: Sequence[Any]) -> list[Any]:
    """Return the parts of both, paired by what they are, in the update's order.

    A known part that the update does not bring stays, right after the part that it followed.
    """
    partners = _pair(known, update)
    content: list[tuple[int | None, Any]] = [
        (partner, part if partner is None else _merge_parts(known[partner], part))
        for part, partner in zip(update, partners, strict=True)
    ]
    for index, part in enumerate(known):
        if index not in partners:
            content.insert(_place(index, known, content), (index, part))
    return [part for _, part in content]


def _merge_parts(known: Any, part: Any) -> Any:
    # Who builds items by hand can put anything into them.
    return known.model_copy(update=said(part)) if hasattr(known, "model_copy") else part


def _pair(known: Sequence[Any], update: Sequence[Any]) -> list[int | None]:
    """Return, for each part of the update, the index of the known part that it is about.

    An image with a URL is about the known image of that URL; any other part about the first
    known one of its kind that is still unpaired, and that no later image with a URL is about.
    """
    unpaired = list(range(len(known)))
    partners: list[int | None] = []
    for part in update:
        later = update[len(partners) + 1 :]
        partner = next(
            (index for index in unpaired if _is_about(part, known, index, unpaired, later)), None
        )
        if partner is not None:
            unpaired.remove(partner)
        partners.append(partner)
    return partners


def _is_about(
    part: Any, known: Sequence[Any], index: int, unpaired: Sequence[int], later: Sequence[Any]
) -> bool:
    if _kind(part) != _kind(known[index]):
        return False
    url, known_url = _image_url(part), _image_url(known[index])
    if url or not known_url:
        return url == known_url
    left = sum(_image_url(known[each]) == known_url for each in unpaired)
    return left > sum(_image_url(each) == known_url for each in later)


def _place(index: int, known: Sequence[Any], content: Sequence[tuple[int | None, Any]]) -> int:
    """Return where an unpaired known part goes: right after the part that it followed.

    Where the update changed the order, it goes no earlier than behind an earlier part of its
    kind, or the next update of the same content would pair differently. All known parts before it
    are in place.
    """
    predecessors = (
        position
        for position, (other, _) in enumerate(content)
        if other is not None
        and other < index
        and (other == index - 1 or _kind(known[other]) == _kind(known[index]))
    )
    return max(predecessors, default=-1) + 1


def _kind(part: Any) -> Any:
    return getattr(part, "type", None)


def _image_url(part: Any) -> str | None:
    return getattr(part, "image_url", None) or None


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
        Wrap(
            module=_SESSION,
            attribute="RealtimeSession.on_event",
            wrapper=_on_event_without_deltas,
            first="0.2.8",
            last="0.2.11",
        ),
        Wrap(
            module=_SESSION,
            attribute="RealtimeSession.on_event",
            wrapper=_on_event,
            first="0.3.0",
        ),
        Wrap(
            module=_SESSION,
            attribute="RealtimeSession._get_new_history",
            wrapper=_get_new_history,
        ),
    ),
)
