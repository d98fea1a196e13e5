"""history-merge: an update of a known history item loses nothing that is known.

0.2.x replace the known item with the incoming one. 0.3.0 and later merge, but compare parts by
raw index, move images to the front, take "" for news, ignore updates without content, and let a
transcript delta wipe the status and the other parts. 0.3.0 to 0.19.4 never apply the second
update of a tool call.
Upstream: issue #4050, pull requests #1495, #3214 and #4284.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextvars import ContextVar
from operator import is_
from typing import Any

from .content import kind_of, merge_content
from .said import said, unsent, with_fields
from .wraps import Fix, Method, Switch, Wrap

_SESSION = "agents.realtime.session"

_logger = logging.getLogger(__name__)

_NO_ARRIVAL = (None, None)

# The model event that a `RealtimeSession.on_event` is handling, if it brings an update, and the
# session. A list, because tasks that are started meanwhile inherit the variable: once the event is
# handled, it is empty for them too.
_arrivals: ContextVar[list[tuple[Any, Any]]] = ContextVar("shim_history_merge_arrivals")


def _on_event(original: Method, _: Switch) -> Method:
    """Remember the event that brings an update while the release handles it.

    Also while the fix is off: then the wraps that ask for it are off as well.
    """

    async def on_event(self: Any, event: Any) -> Any:
        if event.type not in ("transcript_delta", "item_updated"):
            return await original(self, event)
        arrivals = [(event, self)]
        token = _arrivals.set(arrivals)
        try:
            return await original(self, event)
        finally:
            arrivals.clear()
            _arrivals.reset(token)

    return on_event


def _get_new_history(original: Method, switch: Switch) -> Method:
    """Merge the update of a known item; leave new items and transcriptions to the release."""

    def get_new_history(cls: Any, old_history: Any, event: Any) -> Any:
        if event.type not in ("message", "function_call") or not switch.on:
            return original(cls, old_history, event)
        index = _index_of(old_history, event.item_id)
        if index is None:
            return original(cls, old_history, event)
        new_history = list(old_history)
        try:
            new_history[index] = _updated(old_history[index], event)
        except Exception as error:
            # What did not come from the server can be anything. Keep what is known; the text of
            # the error may hold words.
            _logger.error("an update of a history item raised %s", type(error).__name__)
        return new_history

    return get_new_history


def _get_new_history_without_deltas(original: Method, switch: Switch) -> Method:
    """Give a known assistant's item without a transcript the words of the deltas so far.

    The history of 0.2.8 to 0.2.11 gets no transcript deltas, so there is nowhere else to have them.
    """

    def get_new_history(cls: Any, old_history: Any, event: Any) -> Any:
        new_history = original(cls, old_history, event)
        if event.type != "message" or len(new_history) != len(old_history) or not switch.on:
            return new_history
        return [
            item if item is known else _with_words_heard(item, known)
            for known, item in zip(old_history, new_history, strict=True)
        ]

    return get_new_history


def _with_words_heard(item: Any, known: Any) -> Any:
    """Return an item that has just been updated, with those words in its first audio part."""
    _, session = _arrival_of(item.item_id)
    if session is None or getattr(known, "role", None) != "assistant":
        return item
    index = _audio_index(item)
    words = session._item_transcripts.get(item.item_id)
    if index is None or not words or item.content[index].transcript:
        return item
    content = list(item.content)
    content[index] = content[index].model_copy(update={"transcript": words})
    return item.model_copy(update={"content": content})


def _index_of(history: Sequence[Any], item_id: str) -> int | None:
    """Return the index of the first item of that id, None without one.

    Looks from the end, where the item that is being talked about nearly always is.
    """
    for index in range(len(history) - 1, -1, -1):
        item = history[index]
        if item.item_id == item_id:
            if not _has_role_set(item):
                # Perhaps made from a transcription, which adds an item even if there is one of the
                # same id, of another role or type.
                return [each.item_id for each in history].index(item_id)
            return index
    return None


def _has_role_set(item: Any) -> bool:
    """Tell whether the server has sent this item; the release makes others without a role."""
    return "role" in getattr(item, "model_fields_set", ())


def _updated(known: Any, update: Any) -> Any:
    """Return the known item as the update leaves it."""
    event, _ = _arrival_of(update.item_id)
    if event is not None and event.type == "item_updated":
        update = _as_it_came(update, event.item)
    if update.type != "message" or known.type != "message" or update.role != known.role:
        return update
    if event is not None and event.type == "transcript_delta":
        return _with_delta(known, update, event.delta)
    return _merge_items(known, update)


def _arrival_of(item_id: str) -> tuple[Any, Any]:
    """Return the event that brings an update of that item, and its session; None without one."""
    for arrival in _arrivals.get(()):
        event = arrival[0]
        if (event.item if event.type == "item_updated" else event).item_id == item_id:
            return arrival
    return _NO_ARRIVAL


def _as_it_came(update: Any, original: Any) -> Any:
    """Take back the transcripts that `RealtimeSession.on_event` has put into an update.

    It does so by raw index, which puts them on the wrong parts. Whatever else is different, a
    subclass or another wrapper has changed, and it stays.
    """
    if update.type != "message":
        return update
    content, came = update.content or (), original.content or ()
    if all(map(is_, content, came)):
        return update
    as_they_came = [
        original_part if _is_filled(part, original_part) else part
        for part, original_part in zip(content, came, strict=False)
    ]
    return update.model_copy(update={"content": [*as_they_came, *content[len(came) :]]})


def _is_filled(part: Any, came: Any) -> bool:
    """Tell whether a part is the one that came, with a transcript and nothing else added."""
    if getattr(came, "transcript", None) or not hasattr(came, "model_copy"):
        return False
    transcript = getattr(part, "transcript", None)
    return bool(part == came.model_copy(update={"transcript": transcript}))


def _with_delta(known: Any, update: Any, delta: str) -> Any:
    """Return the known item with a transcript delta, which says nothing but that.

    ``update`` is what the release has made of the delta: an item with an audio part that has all
    words heard since the SDK last forgot them. A subclass may have made another one of it.
    """
    index, heard_index = _audio_index(known), _audio_index(update)
    if index is None or heard_index is None:
        return _merge_items(known, update)
    content = list(known.content)
    content[index] = _continued(content[index], update.content[heard_index], delta)
    return with_fields(known, {"content": content})


def _continued(known: Any, heard: Any, delta: str) -> Any:
    """Return the known audio part after a delta, given one with all words heard.

    The SDK forgets those at the end of every response, also of another one that overlaps, and a
    snapshot can be ahead of them. Neither may shorten what is known.
    """
    words, known_words = heard.transcript, getattr(known, "transcript", None)
    if known_words and not words.startswith(known_words):
        words = known_words if known_words.startswith(words) else known_words + delta
    if not words or not hasattr(known, "model_copy"):
        return known
    says_no_more = type(known) is type(heard) and known.model_fields_set == heard.model_fields_set
    if words == heard.transcript and says_no_more:
        return heard
    return with_fields(known, {"transcript": words})


def _merge_items(known: Any, update: Any) -> Any:
    """Return ``known`` with what ``update``, a message of the same role, says."""
    content = update.content or []
    known_content = known.content or []
    if not _has_role_set(known):
        known_content = _as_audio_if_transcribed(known_content, content)
    news = said(update)
    # The same in both, and left out of items that the release makes: see _as_audio_if_transcribed.
    news.pop("role", None)
    news["content"] = merge_content(known_content, content)
    item = with_fields(known, news)
    if getattr(item, "status", None) is None:
        status = getattr(update, "status", None)
        if status is not None:
            # Made from a delta or a transcription; to the server it is a new one.
            return unsent(with_fields(item, {"status": status}))
    return item


def _as_audio_if_transcribed(known: Sequence[Any], update: Sequence[Any]) -> Sequence[Any]:
    """Return the known content, its text as audio if it is the transcript of the update's audio.

    A user item whose transcription comes before its first snapshot is made by the release, as
    one text part.
    """
    audio: Any = next((part for part in update if kind_of(part) == "input_audio"), None)
    if not hasattr(audio, "model_copy"):
        return known
    return [
        type(audio)(transcript=part.text) if _is_transcription(part) else part for part in known
    ]


def _is_transcription(part: Any) -> bool:
    """Tell whether the release made this text part; one from the server has its type set."""
    return kind_of(part) == "input_text" and "type" not in getattr(
        part, "model_fields_set", ("type",)
    )


def _audio_index(item: Any) -> int | None:
    """Return the index of an assistant item's first audio part, None without one."""
    for index, part in enumerate(item.content or ()):
        if getattr(part, "type", None) == "audio":
            return index
    return None


FIX = Fix(
    name="history-merge",
    issues=("#4050",),
    wraps=(
        Wrap(
            module=_SESSION,
            attribute="RealtimeSession.on_event",
            decorator=_on_event,
            first="0.2.8",
        ),
        Wrap(
            module=_SESSION,
            attribute="RealtimeSession._get_new_history",
            decorator=_get_new_history,
        ),
        Wrap(
            module=_SESSION,
            attribute="RealtimeSession._get_new_history",
            decorator=_get_new_history_without_deltas,
            first="0.2.8",
            last="0.2.11",
        ),
    ),
)
