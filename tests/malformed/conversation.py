"""One model and its session, in one copy of the SDK, and what comes of each step."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from .sdk import Sdk
from .values import Made, made

HANGING = 20.0
"""Seconds after which a step counts as hanging; it then ends."""

_TURNS = 50
_SOON = 0.001
_SUMMARY = 300


class HangError(BaseException):
    """A step does not end. (The SDK catches every Exception.)"""


@dataclass(frozen=True)
class Received:
    """The server sends this."""

    payload: Any


@dataclass(frozen=True)
class Emitted:
    """The model tells its listener this, as a model of the application's own can."""

    event: Made


@dataclass(frozen=True)
class Merged:
    """Somebody asks the session for the history with this update."""

    item: Made


Step = Received | Emitted | Merged


@dataclass(kw_only=True)
class Outcome:
    """What came of a step.

    Attributes:
        raised: The exception, if there was one.
        errors: The errors and exceptions that the session was told of.
        events: The names of the session events, in order.
        updates: The items that the session was given.
        deleted: The ids of the items that it was told to delete.
        transcribed: The ids of the items whose transcription it was given.
        spoken: The ids of the items that the assistant is saying.
        seconds: Processor time.
        before: The history before the step.
        after: The history after it.
    """

    raised: BaseException | None = None
    errors: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    updates: list[Any] = field(default_factory=list)
    deleted: list[Any] = field(default_factory=list)
    transcribed: list[Any] = field(default_factory=list)
    spoken: list[Any] = field(default_factory=list)
    seconds: float = 0.0
    before: list[Any] = field(default_factory=list)
    after: list[Any] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return self.raised is not None or bool(self.errors)


class _Socket:
    """Stands in for the client's WebSocket; what is sent must be JSON."""

    async def send(self, payload: str) -> None:
        json.loads(payload)

    async def close(self) -> None:
        pass


class Conversation:
    """A new model with a new session as its listener."""

    def __init__(self, sdk: Sdk) -> None:
        self._sdk = sdk
        self._model = sdk.model_type()
        self._session = sdk.session_type(self._model, sdk.agent, None)
        self._model._websocket = _Socket()
        self._model.add_listener(self._session)

    async def play(self, step: Step) -> Outcome:
        """Play a step until nothing moves any more, and return what came of it."""
        return await self._outcome(step)

    async def close(self) -> Outcome:
        """Close session and model, and end what they have left running."""
        outcome = await self._outcome(None)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        return outcome

    async def _outcome(self, step: Step | None) -> Outcome:
        outcome = Outcome(before=list(self._session._history))
        action = self._action(step)
        started = time.process_time()
        try:
            with _limited():
                try:
                    await action
                finally:
                    await _settle()
        except (Exception, asyncio.CancelledError, HangError) as error:
            outcome.raised = error
        outcome.seconds = time.process_time() - started
        if isinstance(step, Merged):
            outcome.updates.append(self._merged)
        self._read_queue(outcome)
        outcome.after = self._session._history
        return outcome

    def _action(self, step: Step | None) -> Any:
        """Return what is to be awaited; what the step brings is made by then."""
        if step is None:
            return self._session.close()
        if isinstance(step, Received):
            return self._model._handle_ws_event(made(step.payload, self._sdk))
        if isinstance(step, Emitted):
            return self._session.on_event(made(step.event, self._sdk))
        self._merged = made(step.item, self._sdk)
        return self._merge()

    async def _merge(self) -> None:
        self._session._history = self._session._get_new_history(
            self._session._history, self._merged
        )

    def _read_queue(self, outcome: Outcome) -> None:
        queue = self._session._event_queue
        while not queue.empty():
            event = queue.get_nowait()
            # Close() wakes readers with something that is no event.
            name = getattr(event, "type", None)
            data = getattr(event, "data", None)
            outcome.events.append(f"{name} {data.type}" if data is not None else str(name))
            if name == "error":
                outcome.errors.append(f"error: {_summary(event.error)}")
            elif data is not None:
                _read_data(data, outcome)


def _read_data(data: Any, outcome: Outcome) -> None:
    if data.type == "exception":
        outcome.errors.append(f"exception: {_summary(data.exception)}")
    elif data.type == "error":
        outcome.errors.append(f"model error: {_summary(data.error)}")
    elif data.type == "item_updated":
        outcome.updates.append(data.item)
    elif data.type == "item_deleted":
        outcome.deleted.append(data.item_id)
    elif data.type == "input_audio_transcription_completed":
        outcome.transcribed.append(data.item_id)
    elif data.type == "transcript_delta":
        outcome.spoken.append(data.item_id)


def _summary(error: Any) -> str:
    """Return an error in short; the text of one can hold all that the server has sent."""
    return f"{type(error).__name__} {getattr(error, 'message', '')}"[:_SUMMARY]


async def _settle() -> None:
    """Let the tasks that a step has started come to an end, and what is called when they do."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)
        if len(asyncio.all_tasks()) == 1:
            break
    await asyncio.sleep(0)


@contextmanager
def _limited() -> Iterator[None]:
    """Raise HangError inside if it takes too long, where the platform has such an alarm."""

    def ring(_: int, frame: FrameType | None) -> None:
        code = frame.f_code if frame is not None else None
        place = f" in {code.co_name}() of {code.co_filename}" if code is not None else ""
        raise HangError(f"no end after {HANGING} s{place}")

    if not hasattr(signal, "setitimer"):
        yield
        return
    # Somebody else, such as pytest-timeout, can have set the alarm as well.
    before = signal.signal(signal.SIGALRM, ring)
    started = time.monotonic()
    left, _ = signal.setitimer(signal.ITIMER_REAL, HANGING)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - started), _SOON))
