"""The demonstration's output: plain text, at most 100 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from itertools import groupby, zip_longest

from .stage import Stage

WIDTH = 100
_COLUMN = (WIDTH - 4) // 2
_SESSIONS = ("first", "second")


def paragraph(text: str, *, label: str = "") -> str:
    """Return a text in lines, the first one led by the label and the others indented."""
    return "\n".join(
        textwrap.wrap(
            text,
            WIDTH,
            initial_indent=label,
            subsequent_indent=" " * len(label),
            break_on_hyphens=False,
        )
    )


def side_by_side(bare: Stage, shimmed: Stage) -> str:
    """Return the outcomes of both sides of a scene in two columns."""
    lines = [_row("BARE", "SHIMMED"), _row("-" * _COLUMN, "-" * _COLUMN)]
    for title, describe in _SECTIONS:
        lines += ["", title]
        columns = [list(_wrapped(describe(stage))) for stage in (bare, shimmed)]
        lines += [_row(*pair) for pair in zip_longest(*columns, fillvalue="")]
    return "\n".join(lines)


def _row(left: str, right: str) -> str:
    return f"  {left:{_COLUMN}}  {right}".rstrip()


def _wrapped(entries: Iterable[str]) -> Iterator[str]:
    for entry in entries:
        depth = len(entry) - len(entry.lstrip())
        yield from textwrap.wrap(
            entry.lstrip(),
            _COLUMN,
            initial_indent=" " * depth,
            subsequent_indent=" " * (depth + 2),
            break_on_hyphens=False,
        )


def _seen(stage: Stage) -> Iterator[str]:
    for number, session in enumerate(stage.sessions):
        if len(stage.sessions) > 1:
            yield f"{_SESSIONS[number]} session:"
        events = (
            f"{name} x{count}" if count > 1 else name for name, count in session.events.items()
        )
        yield ", ".join(events) or "no events"
        yield from _repeated(session.errors)
    if stage.failure is not None:
        yield f"not played to the end: {stage.failure}"


def _wire(stage: Stage) -> Iterator[str]:
    for number, session in enumerate(stage.sessions):
        if len(stage.sessions) > 1:
            yield f"{_SESSIONS[number]} connection:"
        yield "client:" if session.frames else "client: nothing of interest"
        yield from (f"  {line}" for line in _repeated(session.frames))
        yield "server:" if session.answers else "server: no errors"
        yield from (f"  {line}" for line in _repeated(session.answers))


def _history(stage: Stage) -> Iterator[str]:
    for moment, items in stage.looks.items():
        yield from (f"{item} ({moment})" for item in items)
    if stage.looks and stage.sessions:
        yield "at the end:"
    if stage.sessions:
        yield from [str(item) for item in stage.sessions[-1].history] or ["nothing"]


def _repeated(lines: list[str]) -> Iterator[str]:
    for line, group in groupby(lines):
        count = len(list(group))
        yield f"{line} (x{count})" if count > 1 else line


_SECTIONS = (
    ("What the application saw", _seen),
    ("What went over the wire", _wire),
    ("What the history holds", _history),
)
