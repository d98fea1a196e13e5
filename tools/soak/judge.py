"""What is wrong with a conversation: the application's side held against plan and server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from tools.soak.cues import is_cue
from tools.soak.plan import Plan, Protocol, Row

HistoryRow = tuple[str, str | None, tuple[tuple[str, str], ...]]
"""An item of the history: kind, status, and the kind and words of each part; see `Row`."""

UNFINISHED = "not played to its end"
"""Begins the problem that a conversation did not come to its end."""

# What the server has as an item of its own, and the history as a part of the call.
_OUTPUT = "function_call_output"


@dataclass(kw_only=True)
class Outcome:
    """What the application saw of a conversation.

    Attributes:
        history: The items of the history when the session was closed.
        ids: Their ids.
        named: The ids of all items that session events were about.
        problems: Errors and exceptions, in words.
        events: How many events the server sent.
    """

    history: list[HistoryRow] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    named: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    events: int = 0


def problems(
    plan: Plan, protocol: Protocol, outcome: Outcome, report: dict[str, Any] | None
) -> list[str]:
    """Return, in words, what is wrong with a conversation.

    ``report`` is the server's (see `tools.soak.server.report`), or None if it gave none.
    """
    found = list(outcome.problems)
    found += _history_problems(plan.rows(protocol), outcome.history)
    if report is None:
        return [*found, f"{UNFINISHED}: no report from the server"]
    items = [item for item in report["items"] if item[1] != _OUTPUT]
    if len(outcome.ids) == len(items) - 1 and plan.rows(protocol)[-1].cut:
        items.pop()
    if (ids := [item_id for item_id, *_ in items]) != outcome.ids:
        found.append(f"other items: {outcome.ids} in the history, {ids} at the server")
    statuses = [status for _, status, _ in outcome.history]
    if (said := [status for *_, status in items]) != statuses:
        found.append(f"other statuses: {statuses} in the history, {said} at the server")
    own = {item_id for item_id, *_ in report["items"]}
    foreign = sorted(name for name in outcome.named - own if not is_cue(name))
    found += [f"cross-talk: an event is about {name!r}" for name in foreign]
    return [*found, *report["problems"]]


def _history_problems(rows: list[Row], history: Sequence[HistoryRow]) -> list[str]:
    if rows[-1].cut and len(history) == len(rows) - 1:
        rows = rows[:-1]
    return [
        f"wrong history: {_words(found)} instead of {_words(row.whole if row else None)}"
        for row, found in zip_longest(rows, history)
        if row is None or found is None or not _is_met(row, found)
    ]


def _is_met(row: Row, found: HistoryRow) -> bool:
    if not row.cut:
        return row.whole == found
    kind, status, parts = found
    ((part, words),) = row.parts
    return (kind, status) == (row.kind, row.status) and all(
        each == part and words.startswith(heard) for each, heard in parts
    )


def _words(row: HistoryRow | None) -> str:
    if row is None:
        return "nothing"
    kind, status, parts = row
    content = " + ".join(f"{part} {words!r}" for part, words in parts)
    return f"{kind}, {status or 'no status'}: {content or 'no content'}"
