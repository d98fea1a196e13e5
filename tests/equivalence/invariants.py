"""Rules of docs/contract.md that every trace must keep, whichever side it comes from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from .sequence import Sequence, Step
from .sides import Trace

History = dict[str, dict[str, Any]]

# Frames and events that are about something, and the event that brings it.
_NEEDED = {
    "conversation.item.truncate": "audio",
    "conversation.item.retrieve": "audio",
    "audio_interrupted": "audio",
    "response.cancel": "turn_started",
}
# Steps and tools that wait for a release.
_HANGING = ('"hold', '"hangs"', '"forecast"', '"almanac"')
_WORDS = ("text", "transcript", "image_url")


def violations(sequence: Sequence, trace: Trace) -> list[str]:
    """Return the rules that a trace breaks, in words."""
    found = [
        *_of_history(sequence, trace),
        *_of_connections(sequence, trace),
        *_of_hanging(sequence, trace),
    ]
    found += [
        (number, problem)
        for number, entry in enumerate(trace)
        for problem in entry.get("problems", [])
    ]
    return [
        f"after step {number}: {problem}: {json.dumps(sequence.steps[number])}"
        for number, problem in found
    ]


def _of_history(sequence: Sequence, trace: Trace) -> Iterator[tuple[int, str]]:
    updated: Step | None = None
    for number, (step, known, new) in enumerate(histories(sequence, trace)):
        item = updated_item(step)
        if item is None or known is None or new is None:
            updated = None
            continue
        for problem in _of_update(item, step, known, new):
            yield number, problem
        if step == updated and known != new:
            yield number, "3.11: the same update twice is not the same as once"
        # Where it made the item, it was no update.
        updated = step if item["id"] in known else None


def _of_connections(sequence: Sequence, trace: Trace) -> Iterator[tuple[int, str]]:
    """Yield what a connection after the first one does about items that it has not heard of."""
    connection = 0
    heard: set[str] = set()
    for number, (step, entry) in enumerate(zip(sequence.steps, trace, strict=False)):
        # The SDK may know of audio that it tells nobody about.
        if step["do"] == "played" or "audio.delta" in step.get("event", {}).get("type", ""):
            heard.add("audio")
        for what, *rest in entry.get("wire", []):
            name = rest[-1].get("type") if isinstance(rest[-1], dict) else None
            if what == "connection" and rest[0] > connection:
                connection, heard = rest[0], set()
            if what == "event":
                heard.add(str(name))
            needed = _NEEDED.get(str(name))
            if connection and needed is not None and needed not in heard:
                yield number, f"2.2: {name} on connection {connection}, which had no {needed}"


def _of_hanging(sequence: Sequence, trace: Trace) -> Iterator[tuple[int, str]]:
    text = sequence.as_json()
    if any(name in text for name in _HANGING):
        return
    for number, entry in enumerate(trace):
        for name, outcome in entry.get("outcomes", []):
            if outcome == "hangs":
                yield number, f"{name} hangs, and nothing was told to"


def histories(
    sequence: Sequence, trace: Trace
) -> Iterator[tuple[Step, History | None, History | None]]:
    """Yield each step with the session's history before and after it, by item id.

    None stands for a history that says nothing: another session has begun with the step.
    """
    latest: dict[int, History] = {}
    session = -1
    for step, entry in zip(sequence.steps, trace, strict=False):
        known = latest.get(session, {})
        is_first = step["do"] == "connect"
        if is_first:
            session += 1
        for number, items in entry.get("history", []):
            latest[number] = {item["all"]["item_id"]: item["all"] for item in items}
        yield (step, None, None) if is_first else (step, known, latest.get(session, {}))


def updated_item(step: Step) -> dict[str, Any] | None:
    """Return the message that a step brings a snapshot of, None if it brings none."""
    item = step.get("event", {}).get("item")
    return item if isinstance(item, dict) and item.get("type") == "message" else None


def is_merge(item: dict[str, Any], known: History) -> bool:
    """Tell whether the snapshot is about an item that is known with the same role."""
    return item["id"] in known and bool(known[item["id"]].get("role") == item["role"])


def _of_update(item: dict[str, Any], step: Step, known: History, new: History) -> list[str]:
    if not is_merge(item, known):
        return []
    before, after = known[item["id"]], new.get(item["id"])
    if after is None:
        return ["3.10: the updated item is gone"]
    problems = []
    if len(after["content"]) < len(before["content"]):
        problems.append("3.4: a part is gone")
    if not any(part.get(field) for part in item.get("content") or [] for field in _WORDS):
        lost = Counter(_words(before)) - Counter(_words(after))
        if lost:
            problems.append(f"3.3: an update without words takes {list(lost)} away")
    says_status = item.get("status") or step["event"]["type"].startswith("response.output_item")
    statuses = before.get("status"), after.get("status")
    if not says_status and statuses[0] in ("completed", "incomplete") and len(set(statuses)) > 1:
        problems.append(f"1.2: an update without a status changes it from {statuses[0]}")
    return problems


def _words(item: dict[str, Any]) -> list[str]:
    return [part[field] for part in item["content"] for field in _WORDS if part.get(field)]
