"""What stands in for the WebSocket of a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol

from websockets.exceptions import ConnectionClosedError, ConnectionClosedOK

Closing = Literal["plain", "slow", "raises", "hangs"]


class CloseError(Exception):
    """What closing a connection raises when it is to fail."""


class Wait(Protocol):
    """Waits until the sequence lets go, even if cancelled when ``stubborn``."""

    def __call__(self, *, stubborn: bool = False) -> Awaitable[None]: ...


class Connection:
    """One connection: server events go in, frames come out, and closing it can go wrong."""

    def __init__(self, *, record: Callable[[Any], None], wait: Wait) -> None:
        """Report each frame to ``record``; calls that are to hang do it in ``wait``."""
        self._record = record
        self._wait = wait
        self._inbox: asyncio.Queue[str | BaseException] = asyncio.Queue()
        self._closed = False
        self.closing: Closing = "plain"
        self.refuses_frames = False
        self.holds_response_create = False

    def receive(self, text: str) -> None:
        """Bring a message of the server; a closed connection brings none."""
        if not self._closed:
            self._inbox.put_nowait(text)

    def end(self, error: BaseException | None = None) -> None:
        """End the stream of messages, as the server or a broken line does."""
        self._closed = True
        self._inbox.put_nowait(error or StopAsyncIteration())

    def break_off(self) -> None:
        self.end(ConnectionClosedError(None, None))

    async def send(self, payload: str) -> None:
        if self._closed:
            raise ConnectionClosedOK(None, None)
        if self.refuses_frames:
            raise OSError("the line is dead")
        frame = json.loads(payload)
        self._record(frame)
        if self.holds_response_create and frame.get("type") == "response.create":
            await self._wait(stubborn=True)

    async def close(self) -> None:
        already, self._closed = self._closed, True
        self._record("closed again" if already else "closed")
        if self.closing == "hangs":
            try:
                await self._wait()
            finally:
                self.end()
            return
        self.end()
        if self.closing == "slow":
            for _ in range(3):
                await asyncio.sleep(0)
        if self.closing == "raises":
            raise CloseError("the connection cannot be closed")

    def __aiter__(self) -> Connection:
        return self

    async def __anext__(self) -> str:
        message = await self._inbox.get()
        if isinstance(message, BaseException):
            self._inbox.put_nowait(message)
            raise message
        return message
