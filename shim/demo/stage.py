"""One side of one scene: an application in a child process, and the server's part of it."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from websockets.exceptions import ConnectionClosed

from ..loopback import Connection, LoopbackServer, Turn
from .children import Child, ChildError
from .setting import Setting

_T = TypeVar("_T")

_MARKER = "conversation.item.deleted"
_BARRIER = "input_audio_buffer.clear"
_SHOWN_FRAMES = (
    "conversation.item.create",
    "conversation.item.retrieve",
    "conversation.item.truncate",
    "response.create",
    "response.cancel",
)


@dataclass(frozen=True, kw_only=True)
class Item:
    """An item of the application's history; other items are called by their labels."""

    label: str
    role: str
    status: str | None
    previous: str | None
    parts: tuple[tuple[str, str | None], ...]

    def __str__(self) -> str:
        parts = " + ".join(f'{kind} "{words or ""}"' for kind, words in self.parts)
        follows = f", follows <{self.previous}>" if self.previous else ""
        status = self.status or "no status"
        return f"<{self.label}> {self.role}, {status}{follows}: {parts or 'no content'}"


@dataclass(frozen=True, kw_only=True)
class Session:
    """What the application saw of a session, what went over the wire, and the history.

    Attributes:
        events: How many session events of each type; those about history are left out.
        errors: Error events and exceptions, in words.
        frames: The client's frames that matter, in words.
        answers: The server's errors, and what it said about single items, in words.
        refused: How many of the client's frames the server answered with an error.
        history: The history at the end.
    """

    events: dict[str, int]
    errors: list[str]
    frames: list[str]
    answers: list[str]
    refused: int
    history: list[Item]


class Stage:
    """Plays a scene; a method that needs the application raises ChildError if that is gone.

    Attributes:
        server: The server, to be told what to answer.
        child: The application.
        setting: The SDK that it runs on.
        failure: Why the scene was not played to its end, in words; None if it was.
        sessions: What came of it, once `collect` was called.
        looks: What the history held in mid-scene, by a description of the moment.
    """

    def __init__(self, server: LoopbackServer, child: Child, setting: Setting) -> None:
        self.server = server
        self.child = child
        self.setting = setting
        self.failure: str | None = None
        self.sessions: list[Session] = []
        self.looks: dict[str, list[Item]] = {}
        self._connections: list[Connection] = []
        self._labels: dict[str, str] = {}
        self._barriers = 0

    def turn(self, words: str, *, audio_ms: int = 200, hold: int | None = None) -> Turn:
        """Return a turn of the assistant: spoken if the SDK accepts that, a text otherwise."""
        if self.setting.spoken:
            return Turn(transcript=words, audio_ms=audio_ms, hold_after_deltas=hold)
        return Turn(transcript="", text=words, hold_after_deltas=hold)

    def name(self, item_id: str, label: str) -> None:
        """Choose how an item is called in the report."""
        self._labels[item_id] = label

    async def open(self) -> Connection:
        """Have the application run a session; return its connection once that is set up."""
        number = len(self.server.connections) + 1
        await self.child.ask("open", url=self.server.url)
        connection = await in_words(self.server.connection(number))
        self._connections.append(connection)
        self._barriers = 0
        await self.settle()
        return connection

    async def settle(self) -> None:
        """Wait until both sides have reacted to all that was sent, and to the reactions."""
        connection = self._connections[-1]
        before = None
        while (now := _traffic(connection)) != before:
            before = now
            self._barriers += 1
            marker = f"marker_{self._barriers}"
            await in_words(connection.send({"type": _MARKER, "item_id": marker}))
            if (await self.child.ask("sync", marker=marker)).get("ended"):
                raise ChildError("the application's session ended early")
            await self._received(connection, _BARRIER, count=self._barriers)

    async def _received(self, connection: Connection, frame_type: str, *, count: int) -> None:
        """Wait for a frame, or until the client has closed the connection."""
        waiting = [
            asyncio.ensure_future(connection.wait_for(frame_type, count=count)),
            asyncio.ensure_future(connection.wait_closed()),
        ]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if not waiting[0].done():
                raise ChildError("the application closed the connection")
            await in_words(waiting[0])
        finally:
            for each in waiting:
                each.cancel()

    async def snapshot(self, item_id: str, content: list[dict[str, Any]]) -> None:
        """Let the server send an item once more, with this content and without a status."""
        connection = self._connections[-1]
        item = {**connection.items[item_id], "content": content}
        del item["status"]
        await in_words(connection.send({"type": "conversation.item.retrieved", "item": item}))
        await self.settle()

    async def look(self, moment: str, label: str) -> None:
        """Keep what the history holds now of one item."""
        report = await self.child.ask("report")
        history = self._items(report["sessions"][-1]["history"])
        self.looks[moment] = [item for item in history if item.label == label]

    async def collect(self) -> None:
        """Ask the application what it saw, and set ``sessions``."""
        reports = (await self.child.ask("report"))["sessions"]
        # A session that could not be opened has a connection, maybe, but no report.
        for report, connection in zip(reports, self._connections, strict=False):
            self.sessions.append(
                Session(
                    events=report["events"],
                    errors=[self.in_labels(error) for error in report["errors"]],
                    frames=self._frames(connection),
                    answers=self._answers(connection),
                    refused=len(connection.errors),
                    history=self._items(report["history"]),
                )
            )

    def _items(self, history: list[dict[str, Any]]) -> list[Item]:
        return [
            Item(
                label=self._label(item["id"]),
                role=item["role"],
                status=item["status"],
                previous=self._label(item["previous"]) if item["previous"] else None,
                parts=tuple((kind, words) for kind, words in item["parts"]),
            )
            for item in history
        ]

    def _label(self, item_id: str) -> str:
        return self._labels.get(item_id, "an unknown item")

    def in_labels(self, text: str) -> str:
        """Return a text with the labels of items in place of their ids."""
        for item_id, label in self._labels.items():
            text = re.sub(rf"'?{re.escape(item_id)}'?", f"<{label}>", text)
        return text

    def _frames(self, connection: Connection) -> list[str]:
        shown = (frame for frame in connection.received if frame.get("type") in _SHOWN_FRAMES)
        return [_with_item(frame["type"], self._target(frame)) for frame in shown]

    def _target(self, frame: dict[str, Any]) -> str | None:
        if "item_id" not in frame:
            return None
        return "no item" if frame["item_id"] is None else self._label(frame["item_id"])

    def _answers(self, connection: Connection) -> list[str]:
        answers = []
        for event in connection.sent:
            if event["type"] == "error":
                answers.append(f"error: {self.in_labels(event['error']['message'])}")
            elif event["type"] == "conversation.item.truncated":
                answers.append(_with_item(event["type"], self._target(event)))
            elif event["type"] == "conversation.item.retrieved":
                label = self._label(event["item"]["id"])
                answers.append(f"{_with_item(event['type'], label)}, {_content(event['item'])}")
        return answers


async def in_words(waiting: Coroutine[Any, Any, _T] | asyncio.Future[_T]) -> _T:
    """Await what needs the client; raises ChildError where that closed or did not answer."""
    try:
        return await waiting
    except (ConnectionClosed, ConnectionError):
        raise ChildError("the application closed the connection") from None
    except TimeoutError as error:
        raise ChildError(f"the application did not answer: {error}") from None


def _traffic(connection: Connection) -> int:
    """Count what went over the wire, apart from what `Stage.settle` itself causes."""
    types = Counter(event.get("type") for event in [*connection.received, *connection.sent])
    own = (_MARKER, _BARRIER, "input_audio_buffer.cleared")
    return sum(types.values()) - sum(types[each] for each in own)


def _with_item(event_type: str, label: str | None) -> str:
    return f"{event_type} <{label}>" if label else event_type


def _content(item: dict[str, Any]) -> str:
    """Return what the server said about an item, in words."""
    status = item.get("status") or "no status"
    parts = []
    for part in item["content"]:
        words = part.get("text", part.get("transcript", part.get("image_url")))
        kind = part["type"].removeprefix("input_").removeprefix("output_")
        parts.append(f'{kind} "{words or ""}"')
    return f"{status}, {' + '.join(parts)}"
