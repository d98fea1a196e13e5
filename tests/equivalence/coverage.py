"""What the sequences of a run have exercised, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from .invariants import histories, is_merge, updated_item
from .sequence import Sequence
from .sides import Trace

_EVENTS = ("error", "exception", "audio_interrupted", "function_call")
_FRAMES = ("conversation.item.truncate", "conversation.item.retrieve", "response.cancel")


class Coverage:
    """Counts, for each thing that can be exercised, the sequences in which it was."""

    def __init__(self) -> None:
        self.sequences = 0
        self._steps = 0
        self._found: Counter[str] = Counter()
        self._answers: Counter[tuple[str, bool]] = Counter()
        self._notes: list[str] = []

    def add(self, sequence: Sequence, trace: Trace) -> None:
        self.sequences += 1
        self._steps += len(sequence.steps)
        self._found.update(set(_exercised(sequence, trace)))
        for step, entry in zip(sequence.steps, trace, strict=False):
            if "event" in step and step["event"].get("type") != "error":
                rejected = any(name in ("error", "exception") for name in _events(entry))
                self._answers[str(step["event"].get("type")), rejected] += 1

    def note(self, line: str) -> None:
        """Keep something else to tell."""
        self._notes.append(line)

    def lines(self) -> list[str]:
        """What was counted, one thing per line."""
        return [*self._lines(), *self._notes] if self.sequences else self._notes

    def _lines(self) -> list[str]:
        average = self._steps / self.sequences
        lines = [f"{self.sequences} sequences, {average:.1f} steps on the average; of these had"]
        lines += [f"{count:7} {what}" for what, count in sorted(self._found.items())]
        lines.append("Of the server's events the SDK took for errors")
        for name in sorted({name for name, _ in self._answers}):
            rejected, taken = self._answers[name, True], self._answers[name, False]
            lines.append(f"{rejected:7} of {rejected + taken} {name}")
        return lines


def _events(entry: dict[str, Any]) -> Iterator[str]:
    """Yield the types of the model events of a step."""
    for what, *rest in entry.get("wire", []):
        if what == "event":
            yield rest[0]["type"]


def _exercised(sequence: Sequence, trace: Trace) -> Iterator[str]:
    for name, value in sequence.setup.items():
        if value not in (None, False) and (name, value) != ("async_tools", True):
            yield f"setup: {name} {value}"
        elif (name, value) == ("async_tools", False):
            yield "setup: tools in the listener's task"
    yield from _of_history(sequence, trace)
    yield from _of_connection(sequence, trace)


def _of_history(sequence: Sequence, trace: Trace) -> Iterator[str]:
    updates: Counter[str] = Counter()
    for step, known, new in histories(sequence, trace):
        item = updated_item(step)
        event = step.get("event", {})
        if known is None or new is None:
            updates.clear()
        elif item is not None and item["id"] in known:
            updates[item["id"]] += 1
            yield "history: an update of a known message"
            if max(updates.values()) > 1:
                yield "history: two updates of the same known message"
            if known[item["id"]].get("role") != item["role"]:
                yield "history: an update with another role or type"
            elif known != new:
                yield "history: an update that changes a known message"
            if is_merge(item, known) and len(item.get("content") or []) > 1:
                yield "history: an update with several parts"
            if is_merge(item, known) and not item.get("content"):
                yield "history: an update without content"
        elif event.get("item", {}).get("type") == "function_call" and known != new:
            yield "history: a tool call"
        elif "transcript.delta" in event.get("type", "") and event["item_id"] in known:
            yield "history: a transcript delta for a known message"
        elif "transcription.completed" in event.get("type", "") and known != new:
            order = "after" if event["item_id"] in known else "before"
            yield f"history: a transcription {order} the snapshot"
        elif event.get("type") == "conversation.item.deleted" and known != new:
            yield "history: a deletion"


def _of_connection(sequence: Sequence, trace: Trace) -> Iterator[str]:
    connected = in_response = closed = False
    for step, entry in zip(sequence.steps, trace, strict=False):
        events = list(_events(entry))
        if step["do"] == "connect":
            if connected and closed:
                yield "connection: the same model connects again"
                if in_response:
                    yield "connection: the same model connects again after a close in mid-response"
            connected, closed, in_response = True, False, False
        elif step["do"] == "close":
            closed = True
            yield f"connection: {step.get('owner')}.close()"
            if step.get("line", "plain") in ("raises", "hangs"):
                yield f"connection: a close() whose socket {step['line']}"
        if "turn_started" in events:
            in_response = True
        elif "turn_ended" in events:
            in_response = False
        if step["do"] == "release" and any(what == "event" for what, *_ in entry.get("wire", [])):
            yield "connection: a held handler goes on"
        yield from (f"event: {name}" for name in events if name in _EVENTS)
        yield from _of_wire(entry)
        for name, outcome in entry.get("outcomes", []):
            if outcome != "done" and name in ("close", "connect"):
                how = outcome if isinstance(outcome, str) else f"raises {outcome['raised']}"
                yield f"connection: {name} {how}"


def _of_wire(entry: dict[str, Any]) -> Iterator[str]:
    for what, *rest in entry.get("wire", []):
        if what == "holds":
            yield "connection: a handler is held"
        elif what == "close in a handler":
            yield "connection: a handler's close() fails"
        elif what == "connection" and isinstance(rest[1], dict) and rest[1].get("type") in _FRAMES:
            yield f"frame: {rest[1]['type']}"
