"""What happens in a conversation, and what its history must hold at the end.

All of it follows from the conversation's tag, so that the server and the client agree on it
without a word. Every text carries the tag: one that turns up anywhere else is cross-talk.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Literal

Protocol = Literal["ga", "beta"]

Act = Literal[
    "speak", "answer", "type", "call", "interrupt", "barge-in", "close", "close-held", "close-busy"
]
"""What a step is:

- ``speak``: the user speaks, and is transcribed;
- ``answer``: the assistant answers, with audio and transcript;
- ``type``: the user types a message, and the assistant answers;
- ``call``: the assistant calls a tool, and answers when it has the output;
- ``interrupt``: the application interrupts an answer;
- ``barge-in``: the user speaks while the assistant does;
- ``close``: the application closes the session when all is quiet;
- ``close-held``: it closes in the middle of an answer;
- ``close-busy``: it closes while the server's events keep coming.
"""

_COURSES: tuple[tuple[Act, ...], ...] = (
    ("speak", "answer", "speak", "answer", "close"),
    ("speak", "answer", "type", "speak", "answer", "close"),
    ("speak", "call", "speak", "answer", "close"),
    ("speak", "answer", "interrupt", "speak", "answer", "close"),
    ("speak", "barge-in", "answer", "close"),
    ("speak", "answer", "type", "close-held"),
    ("type", "speak", "answer", "close-busy"),
)

COURSES = len(_COURSES)
"""How many courses a conversation can take; those of one client take them in turn."""

AUDIO_MS = 200
"""How much audio an answer has."""

BUSY_WORDS = 60
"""How long the answer is in whose middle the session is closed."""

HOLD_AFTER = 4
"""Deltas after which an answer that will be cut off holds, words and audio in turn."""

_HEARD = 2  # words among them
_WORDS = 8


@dataclass(frozen=True, kw_only=True)
class Row:
    """An item that the history must hold.

    Attributes:
        kind: The role of a message, or ``function_call``.
        status: Its status.
        parts: Kind and words of each of its parts; of a call its arguments and its output.
        cut: It is there in whole, in part or not at all, as nobody knows how much the
            application saw. A part then has the beginning of the words.
    """

    kind: str
    status: str
    parts: tuple[tuple[str, str], ...]
    cut: bool = False

    @property
    def whole(self) -> tuple[str, str | None, tuple[tuple[str, str], ...]]:
        """The item as the history has it, if nothing is cut."""
        return self.kind, self.status, self.parts


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step of a conversation.

    Attributes:
        act: What happens.
        asked: What the user says or types, or the arguments of the call.
        answered: What the assistant says, in full.
    """

    act: Act
    asked: str = ""
    answered: str = ""

    @property
    def heard(self) -> str:
        """What the client has been sent of the answer where that holds."""
        return " ".join(self.answered.split()[:_HEARD])


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The course of a conversation.

    Attributes:
        tag: Its name, as every text begins.
        number: Its place among its client's conversations, from 0.
        steps: What happens, in order; the last step closes the session.
    """

    tag: str
    number: int
    steps: tuple[Step, ...] = field(repr=False)

    @classmethod
    def of(cls, tag: str) -> Plan:
        """Return the plan of the conversation with that tag; ValueError if it is none."""
        match = re.fullmatch(r"<(\d+)\.(\d+)>", tag)
        if match is None:
            raise ValueError(f"{tag!r} is not the tag of a conversation")
        client, number = map(int, match.groups())
        # Clients that run at once take different courses.
        acts = _COURSES[(client + number) % len(_COURSES)]
        steps = tuple(_step(act, tag, position) for position, act in enumerate(acts))
        return cls(tag=tag, number=number, steps=steps)

    def rows(self, protocol: Protocol) -> list[Row]:
        """Return what the history must hold at the end, in order."""
        return [row for step in self.steps for row in _rows(step, self.tag, protocol)]


def tag(client: int, number: int) -> str:
    """Return the tag of a client's conversation of that number."""
    return f"<{client}.{number}>"


def found(tag: str, word: str) -> str:
    """Return what the tool of the conversation of that tag answers when asked for a word."""
    return f"{tag} found {word}"


def _step(act: Act, tag: str, position: int) -> Step:
    def words(what: str, number: int = _WORDS) -> str:
        return " ".join([tag, *(f"{what}-{position}-{word}" for word in range(1, number))])

    if act == "speak":
        return Step(act=act, asked=words("said"))
    if act == "type":
        return Step(act=act, asked=words("typed"), answered=words("reply"))
    if act == "call":
        arguments = json.dumps({"word": f"{tag} word-{position}"})
        return Step(act=act, asked=arguments, answered=words("result"))
    if act == "barge-in":
        return Step(act=act, asked=words("said"), answered=words("cut"))
    if act == "close":
        return Step(act=act)
    if act == "close-busy":
        return Step(act=act, answered=words("lost", BUSY_WORDS))
    return Step(act=act, answered=words("answer"))


def _rows(step: Step, tag: str, protocol: Protocol) -> list[Row]:
    spoken = _spoken("user", "completed", step.asked)
    typed = Row(kind="user", status="completed", parts=(("text", step.asked),))
    whole = _spoken("assistant", "completed", step.answered)
    ended = _spoken("assistant", "incomplete", step.heard)
    if step.act == "speak":
        return [spoken]
    if step.act == "answer":
        return [whole]
    if step.act == "type":
        return [typed, whole]
    if step.act == "call":
        output = found(tag, json.loads(step.asked)["word"])
        called = (("arguments", step.asked), ("output", output))
        return [Row(kind="function_call", status="completed", parts=called), whole]
    if step.act == "interrupt":
        return [ended]
    if step.act == "barge-in":
        return [ended, spoken]
    if step.act == "close-held":
        # The history of 0.2.x knows the words of an answer when that is over.
        heard = (("audio", step.heard),) if protocol == "ga" else ()
        return [Row(kind="assistant", status="in_progress", parts=heard)]
    if step.act == "close-busy":
        lost = (("audio", step.answered),)
        return [Row(kind="assistant", status="in_progress", parts=lost, cut=True)]
    return []


def _spoken(role: str, status: str, words: str) -> Row:
    return Row(kind=role, status=status, parts=(("audio", words),))
