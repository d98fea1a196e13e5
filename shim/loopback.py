"""A server on the loopback interface that speaks the OpenAI Realtime protocol.

For tests and demonstrations: a real WebSocket server, so that a client's own connection,
listener and teardown code run, with scripted answers instead of a model. It speaks the GA
protocol (openai-agents 0.3.0 and later) and the beta one (0.2.x), and can leave out or blank
fields as the service is known to do (``Behaviour``).

    async with LoopbackServer(turns=[Turn(transcript="Good morning.")]) as server:
        ...  # let a client connect to server.url
        connection = await server.connection()
        await connection.wait_for("response.create")

What it does not do: hear speech in appended audio (``Connection.user_speaks`` plays it), honour
the overrides in ``response.create`` and the output format or modalities of the session (the
``Turn`` decides, audio is PCM16 at 24 kHz), run transcription sessions, and check
``audio_end_ms`` against the length of the audio.

The module imports nothing but the standard library and ``websockets``, and can be loaded by file
path; register it in ``sys.modules`` before executing it, as ``dataclasses`` needs that.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import copy
import json
import re
import uuid
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal, TypeVar

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

__all__ = ["Behaviour", "Connection", "FunctionCall", "LoopbackServer", "Protocol", "Turn"]

Protocol = Literal["ga", "beta"]
Event = dict[str, Any]
_T = TypeVar("_T")

_BYTES_PER_MS = 48  # PCM16, mono, 24 kHz
_CHUNK_MS = 50  # a multiple of three bytes, so that the chunks' base64 can be concatenated
_CLOSE_TIMEOUT = 2.0  # seconds for a client to answer the closing handshake
_MAX_FRAME = 16 * 1024 * 1024  # bytes; the service takes 15 MB of audio in one frame

_PART_FIELDS = {
    "input_text": ("text",),
    "output_text": ("text",),
    "text": ("text",),
    "input_image": ("image_url",),
    "input_audio": ("audio", "transcript"),
    "output_audio": ("audio", "transcript"),
    "audio": ("audio", "transcript"),
}
_INPUT = ("input_text", "input_audio")
_SYSTEM = ("input_text",)
_PART_TYPES: dict[Protocol, dict[str, tuple[str, ...]]] = {
    "ga": {
        "user": (*_INPUT, "input_image"),
        "assistant": ("output_text", "output_audio"),
        "system": _SYSTEM,
    },
    "beta": {"user": _INPUT, "assistant": ("text", "audio"), "system": _SYSTEM},
}
_AUTOMATIC = {"create_response": True, "interrupt_response": True}
_SERVER_VAD = {"threshold": 0.5, "prefix_padding_ms": 300, "silence_duration_ms": 500}
_TURN_DETECTION: dict[str, Event] = {
    "server_vad": {"type": "server_vad", **_SERVER_VAD, **_AUTOMATIC},
    "semantic_vad": {"type": "semantic_vad", "eagerness": "auto", **_AUTOMATIC},
}


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """How the server deviates from one that is complete and prompt.

    ``omit``, ``null`` and ``empty`` name fields that are left out of the items in server events,
    sent as null, or sent as ``""``. An entry is a field (``"transcript"``), or a field in one
    type of event (``"status@conversation.item.retrieved"``). The fields are ``status`` of any
    item (not for ``empty``), and of a content part, where the part's type has it, ``text``,
    ``transcript``, ``audio`` and ``image_url``. The first of the three that names a field counts.

    ``delay`` is the time in seconds before each event. After an event of the type ``cut_after``
    has been sent the TCP connection is cut, without a closing handshake.

    Raises ValueError for a field that is not in this list and for a negative delay.
    """

    omit: frozenset[str] = frozenset()
    null: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()
    delay: float = 0.0
    cut_after: str | None = None

    def __post_init__(self) -> None:
        fields = {"status", "text", "transcript", "audio", "image_url"}
        _check_rules("omit", self.omit, known=fields)
        _check_rules("null", self.null, known=fields)
        _check_rules("empty", self.empty, known=fields - {"status"})
        if self.delay < 0:
            raise ValueError(f"delay must not be negative: {self.delay}")

    def edit(self, item: Event, *, event_type: str) -> None:
        """Change an item, which an event of this type is to carry, in place."""
        self._edit_field(item, "status", event_type)
        for part in item.get("content", ()):
            for field in _PART_FIELDS[part["type"]]:
                self._edit_field(part, field, event_type)

    def _edit_field(self, target: Event, field: str, event_type: str) -> None:
        rules = {field, f"{field}@{event_type}"}
        if rules & self.omit:
            target.pop(field, None)
        elif rules & self.null:
            target[field] = None
        elif rules & self.empty:
            target[field] = ""


def _check_rules(name: str, rules: Iterable[str], *, known: set[str]) -> None:
    unknown = {rule.partition("@")[0] for rule in rules} - known
    if unknown:
        raise ValueError(f"{name} cannot name {sorted(unknown)}, only {sorted(known)}")


@dataclass(frozen=True, kw_only=True)
class FunctionCall:
    """A tool call of the assistant: the tool's name and its arguments, a JSON text."""

    name: str
    arguments: str = "{}"


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One scripted response of the assistant.

    ``transcript`` is spoken: it becomes an audio part with ``audio_ms`` milliseconds of silence,
    unless it is empty. ``text`` becomes a text part of the same message. ``function_call``
    becomes an item of its own, after the message or, where that would have no part, instead.

    With ``hold_after_deltas`` the response stops after so many deltas of any kind (all of them,
    if there are fewer) and stays in progress until it is released or cancelled; with 0 it stops
    before the first content part.

    Raises ValueError for negative numbers and for a turn with nothing to send.
    """

    transcript: str = "Hello from the loopback server."
    text: str | None = None
    audio_ms: int = 200
    hold_after_deltas: int | None = None
    function_call: FunctionCall | None = None

    def __post_init__(self) -> None:
        if self.audio_ms < 0 or (self.hold_after_deltas or 0) < 0:
            raise ValueError("audio_ms and hold_after_deltas must not be negative")
        if not self.parts() and self.function_call is None:
            raise ValueError("a turn needs a transcript, a text or a function call")

    def parts(self) -> list[list[tuple[str, str]]]:
        """Return, for each content part, its deltas in order as (field, delta) pairs."""
        parts = []
        if self.transcript:
            words = (("transcript", word) for word in _pieces(self.transcript))
            chunks = (("audio", chunk) for chunk in _silence(self.audio_ms))
            pairs = zip_longest(words, chunks)
            parts.append([delta for pair in pairs for delta in pair if delta is not None])
        if self.text:
            parts.append([("text", word) for word in _pieces(self.text)])
        return parts

    def arguments(self) -> list[tuple[str, str]]:
        """Return the deltas of the function call, if there is one, as (field, delta) pairs."""
        text = self.function_call.arguments if self.function_call else ""
        return [("arguments", piece) for piece in _pieces(text)]


def _pieces(text: str) -> list[str]:
    """Split a text into words, each with the white space before it; together they are the text."""
    return re.findall(r"\s*\S+|\s+$", text)


def _silence(milliseconds: int) -> Iterator[str]:
    for start in range(0, milliseconds, _CHUNK_MS):
        yield _encoded(bytes(min(_CHUNK_MS, milliseconds - start) * _BYTES_PER_MS))


def _encoded(audio: bytes) -> str:
    return base64.b64encode(audio).decode("ascii")


def _new_id(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:20]}"


class _ClientError(Exception):
    """A client frame that the server answers with an error event."""

    def __init__(self, message: str, *, code: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.param = param


class _Changes:
    """Lets tasks wait until something about a mutable object is true."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def notify(self) -> None:
        self._event.set()

    async def until(
        self, probe: Callable[[], _T | None], *, timeout: float, describe: Callable[[], str]
    ) -> _T:
        """Return the probe's first answer that is not None; TimeoutError after `timeout` s."""

        async def poll() -> _T:
            while (answer := probe()) is None:
                self._event.clear()
                await self._event.wait()
            return answer

        try:
            return await asyncio.wait_for(poll(), timeout)
        except asyncio.TimeoutError:  # not the built-in one before Python 3.11
            raise TimeoutError(describe()) from None


class _Response:
    """A response in progress."""

    def __init__(self, turn: Turn) -> None:
        self.id = _new_id("resp")
        self.turn = turn
        self.parts = turn.parts()
        self.arguments = turn.arguments()
        total = sum(map(len, self.parts)) + len(self.arguments)
        hold = turn.hold_after_deltas
        self.hold_at = None if hold is None else min(hold, total)
        self.items: list[Event] = []
        self.deltas: Counter[str] = Counter()  # by field
        self.cancelled: str | None = None  # the reason, in the protocol's words
        self.held = False
        self.lost = False  # the connection ended before it did
        self.resume = asyncio.Event()  # released or cancelled
        self.settled = asyncio.Event()  # held or over
        self.task: asyncio.Task[None]


class Connection:
    """One client's connection, as the server sees it.

    ``received`` holds every client frame that was a JSON object, ``sent`` every server event,
    both in order; ``items`` is the conversation, by item id and in order; ``session`` is the
    session's configuration. They are live: read them, and change them through the methods.

    A method that sends raises ``websockets.exceptions.ConnectionClosed`` once the connection is
    closed.
    """

    def __init__(self, websocket: ServerConnection, server: LoopbackServer) -> None:
        self.received: list[Event] = []
        self.sent: list[Event] = []
        self.items: dict[str, Event] = {}
        self.session = _default_session(server.protocol)
        self._websocket = websocket
        self._server = server
        self._ga = server.protocol == "ga"
        self._output = "output_" if self._ga else ""  # prefix of event and content types
        self._changes = _Changes()
        self._sending = asyncio.Lock()
        self._active: _Response | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._audio = bytearray()  # the input audio buffer
        self._heard_ms = 0  # where the user's speech is on the session's clock

    @property
    def errors(self) -> list[Event]:
        """The error events among those sent."""
        return [event for event in self.sent if event.get("type") == "error"]

    # What a test or a demonstration does

    async def send(self, event: Event) -> None:
        """Send a raw event, as it is; an event_id is added where it has none.

        The server's ``Behaviour`` does not change the event, but delays it and may cut the
        connection after it.
        """
        message = json.dumps({"event_id": _new_id("event"), **event})
        async with self._sending:
            behaviour = self._server.behaviour
            if behaviour.delay:
                # Not a mere sleep, so that closing the server need not wait for it.
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self.wait_closed(), behaviour.delay)
            # Before it goes out, so that a client's reaction never finds it missing.
            self.sent.append(json.loads(message))
            try:
                await self._websocket.send(message)
            except ConnectionClosed:
                self.sent.pop()
                raise
            if behaviour.cut_after and event.get("type") == behaviour.cut_after:
                self.abort()
                await self.wait_closed()
        # websockets need not yield while it sends: let the connection read in mid-response.
        await asyncio.sleep(0)

    async def wait_for(
        self, frame_type: str, *, count: int = 1, timeout: float = 5.0
    ) -> dict[str, Any]:
        """Return the client's `count`-th frame of this type, waiting for it if need be.

        What the frame changes in ``items`` and ``session`` has changed by then, unless it first
        has to end a response; answers to it may still be on their way. Raises TimeoutError, with
        the types of the frames that did come, after `timeout` seconds.
        """

        def probe() -> Event | None:
            frames = [frame for frame in self.received if frame.get("type") == frame_type]
            return frames[count - 1] if len(frames) >= count else None

        def describe() -> str:
            types = [frame.get("type") for frame in self.received]
            return f"no frame {frame_type!r} number {count} in {timeout} s; received: {types}"

        return await self._changes.until(probe, timeout=timeout, describe=describe)

    async def respond(self, turn: Turn) -> str:
        """Play a response without being asked, and return the id of its first item.

        Returns when the response is over (completed or cancelled) or held. Raises RuntimeError
        if a response is in progress, ConnectionError if the connection is lost before the end.
        """
        if self._active:
            raise RuntimeError(f"response {self._active.id} is still in progress")
        response = self._start(turn)
        await response.settled.wait()
        if response.lost:
            raise ConnectionError("the connection was lost before the response was over")
        return str(response.items[0]["id"])

    async def wait_until_held(self, *, timeout: float = 5.0) -> str:
        """Wait until a response holds (``Turn.hold_after_deltas``); return its first item's id.

        Raises TimeoutError after `timeout` seconds.
        """

        def probe() -> str | None:
            response = self._active
            return str(response.items[0]["id"]) if response and response.held else None

        return await self._changes.until(
            probe, timeout=timeout, describe=lambda: f"no response was held in {timeout} s"
        )

    async def release(self) -> None:
        """Let a held response go on, and wait until it is over.

        Raises RuntimeError if no response is in progress, ConnectionError if the connection is
        lost before the end.
        """
        response = self._active
        if response is None:
            raise RuntimeError("no response is in progress")
        response.resume.set()
        await asyncio.wait({response.task})
        if response.lost:
            raise ConnectionError("the connection was lost before the response was over")

    async def speech_started(self) -> str:
        """Tell the client that the user began to speak; return the id of the user's coming item.

        As in the service, this cancels the response in progress if the session's turn detection
        has ``interrupt_response``.
        """
        item_id = _new_id("item")
        started = "input_audio_buffer.speech_started"
        await self._event(started, item_id=item_id, audio_start_ms=self._heard_ms)
        if (self._input()["turn_detection"] or {}).get("interrupt_response"):
            await self._cancel("turn_detected")
        return item_id

    async def user_speaks(self, transcript: str, *, audio_ms: int = 500) -> str:
        """Play a user's utterance of `audio_ms` milliseconds; return the id of the user's item.

        Speech started and stopped, buffer committed, item announced, transcription completed.
        The transcription comes whether or not the session asks for one, and no response is
        started, whatever the turn detection says: call ``respond``.
        """
        item_id = await self.speech_started()
        self._heard_ms += audio_ms
        stopped = "input_audio_buffer.speech_stopped"
        await self._event(stopped, item_id=item_id, audio_end_ms=self._heard_ms)
        await self._commit(item_id, bytes(audio_ms * _BYTES_PER_MS), transcript)
        return item_id

    async def close(self, code: int = 1000) -> None:
        """Close the connection with a closing handshake."""
        await self._websocket.close(code)

    def abort(self) -> None:
        """Cut the TCP connection, without a closing handshake."""
        self._websocket.transport.abort()

    async def wait_closed(self) -> None:
        """Wait until the connection is closed, by whichever side."""
        await self._websocket.wait_closed()

    # The connection's life

    async def _run(self, opened: Callable[[Connection], None]) -> None:
        try:
            await self._event("session.created", session=self.session)
            opened(self)
            async for message in self._websocket:
                await self._receive(message)
        except ConnectionClosed:
            pass  # how a connection ends is the client's business
        finally:
            tasks = tuple(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _event(self, event_type: str, **fields: Any) -> None:
        await self.send({"type": event_type, **fields})

    async def _receive(self, message: str | bytes) -> None:
        try:
            frame = json.loads(message)
        except (ValueError, RecursionError):
            frame = None
        if isinstance(frame, dict):
            self.received.append(frame)
            self._changes.notify()
        try:
            await _handler(frame)(self, frame)
        except _ClientError as error:
            await self._send_error(error, frame)

    async def _send_error(self, error: _ClientError, frame: object) -> None:
        event_id = frame.get("event_id") if isinstance(frame, dict) else None
        body = {
            "type": "invalid_request_error",
            "code": error.code,
            "message": str(error),
            "param": error.param,
            "event_id": event_id if isinstance(event_id, str) else None,
        }
        await self._event("error", error=body)

    # The client's frames

    async def _on_session_update(self, frame: Event) -> None:
        session = copy.deepcopy(self.session)
        _merge(session, frame.get("session"), path="session")
        session.update(id=self.session["id"], object=self.session["object"])
        self.session = session
        await self._event("session.updated", session=session)

    async def _on_item_create(self, frame: Event) -> None:
        item = _checked_item(frame.get("item"), self._server.protocol)
        if item["id"] in self.items:
            raise _ClientError(
                f"Error adding item: an item with id '{item['id']}' already exists.",
                code="item_create_duplicate_item_id",
                param="item.id",
            )
        self._insert(item, after=frame.get("previous_item_id"))
        await self._announce(item)

    async def _on_item_retrieve(self, frame: Event) -> None:
        item = self._known(frame, "retrieve")
        await self._send_item("conversation.item.retrieved", item)

    async def _on_item_truncate(self, frame: Event) -> None:
        item = self._known(frame, "truncate")
        index = _whole_number(frame, "content_index")
        end_ms = _whole_number(frame, "audio_end_ms")
        await self._end_response_of(item)
        content = item.get("content", [])
        part = content[index] if index < len(content) else {}
        if item.get("role") != "assistant" or part.get("type") != f"{self._output}audio":
            raise _ClientError(
                f"Error truncating item: item '{item['id']}' has no output audio at index {index}.",
                code="invalid_value",
                param="content_index",
            )
        audio = base64.b64decode(part.get("audio") or "")
        # The words go as a whole: nobody knows which of them the user has heard.
        part.update(transcript="", audio=_encoded(audio[: end_ms * _BYTES_PER_MS]))
        place = {"item_id": item["id"], "content_index": index}
        await self._event("conversation.item.truncated", audio_end_ms=end_ms, **place)

    async def _on_item_delete(self, frame: Event) -> None:
        item = self._known(frame, "delete")
        await self._end_response_of(item)
        del self.items[item["id"]]
        await self._event("conversation.item.deleted", item_id=item["id"])

    async def _on_audio_append(self, frame: Event) -> None:
        try:
            self._audio += base64.b64decode(frame["audio"], validate=True)
        except (KeyError, TypeError, ValueError, binascii.Error):
            raise _invalid("audio", "base64-encoded bytes") from None

    async def _on_audio_commit(self, frame: Event) -> None:
        if not self._audio:
            raise _ClientError(
                "Error committing input audio buffer: the buffer is empty.",
                code="input_audio_buffer_commit_empty",
            )
        audio = bytes(self._audio)
        self._audio.clear()
        wanted = self._input()["transcription" if self._ga else "input_audio_transcription"]
        await self._commit(_new_id("item"), audio, self._server.heard if wanted else None)

    async def _on_audio_clear(self, frame: Event) -> None:
        self._audio.clear()
        await self._event("input_audio_buffer.cleared")

    async def _on_response_create(self, frame: Event) -> None:
        if self._active:
            raise _ClientError(
                "Conversation already has an active response in progress: "
                f"{self._active.id}. Wait until it is finished before creating a new one.",
                code="conversation_already_has_active_response",
            )
        turns = self._server.turns
        self._start(turns.popleft() if turns else Turn())

    async def _on_response_cancel(self, frame: Event) -> None:
        wanted = frame.get("response_id")
        if self._active is None or wanted not in (None, self._active.id):
            raise _ClientError(
                "Cancellation failed: no active response found", code="response_cancel_not_active"
            )
        await self._cancel("client_cancelled")

    # The conversation

    def _input(self) -> Event:
        """The part of the session that configures the input."""
        session: Event = self.session["audio"]["input"] if self._ga else self.session
        return session

    def _known(self, frame: Event, action: str) -> Event:
        item_id = frame.get("item_id")
        if isinstance(item_id, str) and item_id in self.items:
            return self.items[item_id]
        raise _ClientError(
            f"Error in conversation.item.{action}: the item with id '{item_id}' does not exist.",
            code=f"item_{action}_invalid_item_id",
            param="item_id",
        )

    def _insert(self, item: Event, *, after: object = None) -> None:
        entries = list(self.items.values())
        position = len(entries)
        if after == "root":
            position = 0
        elif after is not None:
            ids = list(self.items)
            if after not in ids:
                raise _ClientError(
                    f"Error adding item: the previous item with id '{after}' does not exist.",
                    code="item_create_invalid_previous_item_id",
                    param="previous_item_id",
                )
            position = ids.index(str(after)) + 1
        entries.insert(position, item)
        self.items.clear()
        self.items.update((entry["id"], entry) for entry in entries)

    def _before(self, item: Event) -> str | None:
        ids = list(self.items)
        position = ids.index(item["id"])
        return ids[position - 1] if position else None

    def _snapshot(self, event_type: str, item: Event) -> Event:
        item = copy.deepcopy(item)
        if event_type != "conversation.item.retrieved":
            for part in item.get("content", ()):
                part.pop("audio", None)  # the service sends audio in answer to a retrieve alone
        self._server.behaviour.edit(item, event_type=event_type)
        return item

    async def _send_item(self, event_type: str, item: Event, **fields: Any) -> None:
        item = self._snapshot(event_type, item)
        await self._event(event_type, item=item, **fields)

    async def _announce(self, item: Event) -> None:
        """Tell the client about an item that is in the conversation and complete."""
        before = self._before(item)
        for name in ("added", "done") if self._ga else ("created",):
            await self._send_item(f"conversation.item.{name}", item, previous_item_id=before)

    async def _commit(self, item_id: str, audio: bytes, transcript: str | None) -> None:
        part: Event = {"type": "input_audio", "audio": _encoded(audio), "transcript": None}
        item = _item(item_id, "message", status="completed", role="user", content=[part])
        self._insert(item)
        place = {"item_id": item_id, "previous_item_id": self._before(item)}
        await self._event("input_audio_buffer.committed", **place)
        await self._announce(item)
        if transcript is not None:
            part["transcript"] = transcript
            await self._event(
                "conversation.item.input_audio_transcription.completed",
                item_id=item_id,
                content_index=0,
                transcript=transcript,
                usage={"type": "duration", "seconds": len(audio) / _BYTES_PER_MS / 1000},
            )

    # Responses

    def _start(self, turn: Turn) -> _Response:
        response = self._active = _Response(turn)
        response.task = asyncio.create_task(self._play(response))
        self._tasks.add(response.task)
        response.task.add_done_callback(self._tasks.discard)
        return response

    async def _cancel(self, reason: str) -> None:
        """End the response in progress, if there is one, and wait until it is over."""
        if response := self._active:
            response.cancelled = reason
            response.resume.set()
            await asyncio.wait({response.task})

    async def _end_response_of(self, item: Event) -> None:
        if self._active and item in self._active.items:
            await self._cancel("client_cancelled")

    async def _play(self, response: _Response) -> None:
        try:
            await self._send_response("response.created", response, status="in_progress")
            if response.parts:
                await self._play_message(response)
            if response.turn.function_call and not response.cancelled:
                await self._play_call(response, response.turn.function_call)
            # First, so that a client may answer response.done with response.create.
            self._active = None
            status = "cancelled" if response.cancelled else "completed"
            await self._send_response("response.done", response, status=status)
        except (ConnectionClosed, asyncio.CancelledError):  # cancelled by _run() alone
            response.lost = True
        finally:
            if self._active is response:
                self._active = None
            response.held = False
            response.settled.set()

    async def _proceed(self, response: _Response) -> bool:
        """Hold the response if this is the place, and tell whether it goes on."""
        if sum(response.deltas.values()) == response.hold_at and not response.resume.is_set():
            response.held = True
            response.settled.set()
            self._changes.notify()
            await response.resume.wait()
            response.held = False
        return not response.cancelled

    async def _play_message(self, response: _Response) -> None:
        item = _item(_new_id("item"), "message", status="in_progress", role="assistant", content=[])
        place = await self._open_item(response, item)
        for index, deltas in enumerate(response.parts):
            if not await self._proceed(response):
                break
            await self._play_part(response, item, deltas, {**place, "content_index": index})
        await self._close_item(response, item)

    async def _play_part(
        self, response: _Response, item: Event, deltas: list[tuple[str, str]], place: Event
    ) -> None:
        kind, words = ("text", "text") if deltas[0][0] == "text" else ("audio", "transcript")
        stem = f"response.{self._output}"
        types = {"audio": f"{stem}audio", "transcript": f"{stem}audio_transcript"}
        types["text"] = f"{stem}text"
        part = {"type": f"{self._output}{kind}", words: ""}
        # In the two events of a part its type has no prefix, in either protocol.
        shown = {"type": kind, words: ""}
        await self._event("response.content_part.added", part=shown, **place)
        item["content"].append(part)
        await self._stream(response, part, deltas, types=types, place=place)
        if kind == "audio":
            await self._event(f"{types['audio']}.done", **place)
        await self._event(f"{types[words]}.done", **{words: part[words]}, **place)
        shown = {"type": kind, words: part[words]}
        await self._event("response.content_part.done", part=shown, **place)

    async def _play_call(self, response: _Response, call: FunctionCall) -> None:
        fields = {"name": call.name, "call_id": _new_id("call"), "arguments": ""}
        item = _item(_new_id("item"), "function_call", status="in_progress", **fields)
        place = {**await self._open_item(response, item), "call_id": item["call_id"]}
        arguments = "response.function_call_arguments"
        if await self._proceed(response):
            types = {"arguments": arguments}
            await self._stream(response, item, response.arguments, types=types, place=place)
        done = {"name": item["name"], "arguments": item["arguments"]}
        await self._event(f"{arguments}.done", **done, **place)
        await self._close_item(response, item)

    async def _stream(
        self,
        response: _Response,
        target: Event,
        deltas: list[tuple[str, str]],
        *,
        types: dict[str, str],
        place: Event,
    ) -> None:
        for field, delta in deltas:
            target[field] = target.get(field, "") + delta
            response.deltas[field] += 1
            await self._event(f"{types[field]}.delta", delta=delta, **place)
            if not await self._proceed(response):
                break

    async def _open_item(self, response: _Response, item: Event) -> Event:
        """Add an item to the response; return the fields that say where its parts belong."""
        index = len(response.items)
        response.items.append(item)
        self._insert(item)
        place = {"response_id": response.id, "output_index": index}
        await self._send_item("response.output_item.added", item, **place)
        name = "conversation.item.added" if self._ga else "conversation.item.created"
        await self._send_item(name, item, previous_item_id=self._before(item))
        return {**place, "item_id": item["id"]}

    async def _close_item(self, response: _Response, item: Event) -> None:
        item["status"] = "incomplete" if response.cancelled else "completed"
        place = {"response_id": response.id, "output_index": response.items.index(item)}
        await self._send_item("response.output_item.done", item, **place)
        if self._ga:
            before = self._before(item)
            await self._send_item("conversation.item.done", item, previous_item_id=before)

    async def _send_response(self, event_type: str, response: _Response, *, status: str) -> None:
        cancelled = {"type": "cancelled", "reason": response.cancelled}
        body: Event = {
            "object": "realtime.response",
            "id": response.id,
            "status": status,
            "status_details": cancelled if status == "cancelled" else None,
            "output": [self._snapshot(event_type, item) for item in response.items],
            "conversation_id": self.session["id"].replace("sess", "conv"),
            "metadata": None,
            "usage": None if status == "in_progress" else self._usage(response),
        }
        if self._ga:
            output = self.session["audio"]["output"]
            body["output_modalities"] = self.session["output_modalities"]
            body["audio"] = {"output": {key: output[key] for key in ("format", "voice")}}
        else:
            body.update({key: self.session[key] for key in ("modalities", "voice")})
            body["output_audio_format"] = self.session["output_audio_format"]
        await self._event(event_type, response=body)

    def _usage(self, response: _Response) -> Event:
        """Plausible numbers: a token is a word of an earlier item, or a delta of this response."""
        earlier = (item for item in self.items.values() if item not in response.items)
        parts = (part for item in earlier for part in item.get("content", ()))
        words = (part.get("text") or part.get("transcript") or "" for part in parts)
        read = sum(len(text.split()) for text in words)
        spoken = response.deltas["audio"]
        written = sum(response.deltas.values()) - spoken
        return {
            "total_tokens": read + spoken + written,
            "input_tokens": read,
            "output_tokens": spoken + written,
            "input_token_details": {"cached_tokens": 0, "text_tokens": read, "audio_tokens": 0},
            "output_token_details": {"text_tokens": written, "audio_tokens": spoken},
        }


_Handler = Callable[[Connection, Event], Awaitable[None]]
_HANDLERS: dict[str, _Handler] = {
    "session.update": Connection._on_session_update,
    "conversation.item.create": Connection._on_item_create,
    "conversation.item.retrieve": Connection._on_item_retrieve,
    "conversation.item.truncate": Connection._on_item_truncate,
    "conversation.item.delete": Connection._on_item_delete,
    "input_audio_buffer.append": Connection._on_audio_append,
    "input_audio_buffer.commit": Connection._on_audio_commit,
    "input_audio_buffer.clear": Connection._on_audio_clear,
    "response.create": Connection._on_response_create,
    "response.cancel": Connection._on_response_cancel,
}


def _handler(frame: object) -> _Handler:
    if not isinstance(frame, dict):
        raise _ClientError(
            "Could not parse the frame: expected a JSON object.", code="invalid_json"
        )
    frame_type = frame.get("type")
    if not isinstance(frame_type, str) or frame_type not in _HANDLERS:
        raise _ClientError(
            f"Invalid value: {frame_type!r}. Supported values are: {', '.join(_HANDLERS)}.",
            code="invalid_value",
            param="type",
        )
    return _HANDLERS[frame_type]


class LoopbackServer:
    """The server, as an asynchronous context manager.

    ``protocol`` is the dialect it speaks to every client. ``turns`` are the responses it gives to
    ``response.create``, in order and over all connections; afterwards every one is ``Turn()``.
    ``heard`` is the transcription of audio that a client commits. It listens on ``host`` and
    ``port``, 0 meaning any free port. ``behaviour`` and ``turns`` may be changed at any time.

    Entering raises OSError, with the host and the port, if the address cannot be bound. Leaving
    closes every connection (code 1001) and waits for everything that the server started.
    """

    def __init__(
        self,
        *,
        protocol: Protocol = "ga",
        behaviour: Behaviour = Behaviour(),
        turns: Iterable[Turn] = (),
        heard: str = "Hello.",
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.protocol: Protocol = protocol
        self.behaviour = behaviour
        self.turns = deque(turns)
        self.heard = heard
        self.connections: list[Connection] = []
        self._host = host
        self._port = port
        self._changes = _Changes()
        self._server: Server | None = None

    @property
    def url(self) -> str:
        """The address for clients, ``ws://HOST:PORT/v1/realtime``; RuntimeError if not started."""
        if self._server is None:
            raise RuntimeError("the server is not started: use it in `async with`")
        return f"ws://{self._host}:{self._port}/v1/realtime"

    async def __aenter__(self) -> LoopbackServer:
        try:
            self._server = await serve(
                self._serve,
                self._host,
                self._port,
                max_size=_MAX_FRAME,
                ping_interval=None,
                close_timeout=_CLOSE_TIMEOUT,
                # An event counts as sent when the kernel has it: a cut then loses nothing.
                write_limit=0,
            )
        except OSError as error:
            reason = f"cannot listen on {self._host}:{self._port}: {error.strerror or error}"
            raise OSError(error.errno, reason) from error
        self._port = next(iter(self._server.sockets)).getsockname()[1]
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def connection(self, number: int = 1, *, timeout: float = 5.0) -> Connection:
        """Return the `number`-th connection, counted from 1, waiting for it if need be.

        It has got its ``session.created`` by then. Raises TimeoutError after `timeout` seconds.
        """

        def probe() -> Connection | None:
            return self.connections[number - 1] if len(self.connections) >= number else None

        def describe() -> str:
            return f"no connection number {number} in {timeout} s, only {len(self.connections)}"

        return await self._changes.until(probe, timeout=timeout, describe=describe)

    async def _serve(self, websocket: ServerConnection) -> None:
        def opened(connection: Connection) -> None:
            self.connections.append(connection)
            self._changes.notify()

        await Connection(websocket, self)._run(opened)


def _item(item_id: str, item_type: str, *, status: str, **fields: Any) -> Event:
    head = {"id": item_id, "object": "realtime.item", "type": item_type, "status": status}
    return {**head, **fields}


def _default_session(protocol: Protocol) -> Event:
    common: Event = {
        "id": _new_id("sess"),
        "object": "realtime.session",
        "instructions": "",
        "tools": [],
        "tool_choice": "auto",
        "tracing": None,
    }
    turn_detection = dict(_TURN_DETECTION["server_vad"])
    if protocol == "beta":
        return {
            **common,
            "model": "gpt-4o-realtime-preview",
            "modalities": ["text", "audio"],
            "voice": "alloy",
            "input_audio_format": "pcm16",
            "output_audio_format": "pcm16",
            "input_audio_transcription": None,
            "turn_detection": turn_detection,
            "temperature": 0.8,
            "max_response_output_tokens": "inf",
        }
    pcm = {"type": "audio/pcm", "rate": 24000}
    listening = {"format": pcm, "transcription": None, "turn_detection": turn_detection}
    speaking = {"format": pcm, "voice": "alloy", "speed": 1.0}
    return {
        **common,
        "type": "realtime",
        "model": "gpt-realtime",
        "output_modalities": ["audio"],
        "max_output_tokens": "inf",
        "audio": {"input": listening, "output": speaking},
    }


def _merge(current: Event, update: object, *, path: str) -> None:
    """Merge a client's session into the server's, as deep as the protocol's objects go."""
    if not isinstance(update, dict):
        raise _invalid(path, "an object")
    for key, value in update.items():
        inner = f"{path}.{key}"
        if key == "turn_detection":
            current[key] = _turn_detection(current.get(key), value, path=inner)
        elif inner in ("session.audio", "session.audio.input", "session.audio.output"):
            _merge(current.setdefault(key, {}), value, path=inner)
        else:
            current[key] = value


def _turn_detection(current: Event | None, update: object, *, path: str) -> Event | None:
    if update is None:
        return None
    kind = update.get("type", (current or {}).get("type")) if isinstance(update, dict) else None
    if not isinstance(update, dict) or kind not in tuple(_TURN_DETECTION):
        raise _invalid(path, f"null or an object with a type of {', '.join(_TURN_DETECTION)}")
    same = current is not None and current["type"] == kind
    return {**((current if same else None) or _TURN_DETECTION[kind]), **update}


def _invalid(param: str, expected: str) -> _ClientError:
    return _ClientError(
        f"Invalid '{param}': expected {expected}.", code="invalid_value", param=param
    )


def _whole_number(frame: Event, param: str) -> int:
    """Return a number that is not negative without its fraction, which SDK 0.2.0 sends."""
    value = frame.get(param)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 2**53:
        return int(value)
    raise _invalid(param, "a number that is not negative")


def _text(container: Event, key: str, *, path: str) -> str:
    value = container.get(key)
    if not isinstance(value, str):
        raise _invalid(f"{path}.{key}", "a text")
    return value


def _checked_item(item: object, protocol: Protocol) -> Event:
    """Return the server's form of a client's item; refuse what the protocol does not have."""
    if not isinstance(item, dict):
        raise _invalid("item", "an object")
    item_id = _new_id("item") if item.get("id") is None else _text(item, "id", path="item")
    item_type = item.get("type")
    fields: Event
    if item_type == "message":
        fields = _checked_message(item, protocol)
    elif item_type == "function_call":
        fields = {key: _text(item, key, path="item") for key in ("name", "call_id", "arguments")}
    elif item_type == "function_call_output":
        fields = {key: _text(item, key, path="item") for key in ("call_id", "output")}
    else:
        raise _invalid("item.type", "message, function_call or function_call_output")
    return _item(item_id, item_type, status="completed", **fields)


def _checked_message(item: Event, protocol: Protocol) -> Event:
    roles = _PART_TYPES[protocol]
    role = _text(item, "role", path="item")
    if role not in roles:
        raise _invalid("item.role", f"one of {', '.join(roles)}")
    content = item.get("content")
    if not isinstance(content, list):
        raise _invalid("item.content", "an array")
    for index, part in enumerate(content):
        _check_part(part, roles[role], path=f"item.content[{index}]")
    return {"role": role, "content": copy.deepcopy(content)}


def _check_part(part: object, types: tuple[str, ...], *, path: str) -> None:
    if not isinstance(part, dict) or part.get("type") not in types:
        raise _invalid(path, f"an object with a type of {', '.join(types)}")
    for field in _PART_FIELDS[part["type"]]:
        if part.get(field) is not None:
            _text(part, field, path=path)
    if part.get("detail") not in (None, "auto", "low", "high"):
        raise _invalid(f"{path}.detail", "auto, low or high")
