"""The server's process, as the client's process has it."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from types import TracebackType
from typing import Any

from tools.releases import ROOT, UserError
from tools.soak.plan import Protocol

_LONGEST_LINE = 2**20  # bytes


class ServerProcess:
    """The server, for so many clients, as an asynchronous context manager.

    ``patience`` is how many seconds it waits for anything. Entering raises UserError if it does
    not start.

    Attributes:
        protocol: The protocol that it speaks.
        urls: An address for each client.
    """

    urls: list[str]

    def __init__(self, protocol: Protocol, clients: int, *, patience: float) -> None:
        self.protocol: Protocol = protocol
        self._arguments = (protocol, str(clients), str(patience))
        self._reading: asyncio.Task[None]
        self._process: Process
        self._reports: dict[str, asyncio.Future[dict[str, Any]]] = {}

    async def __aenter__(self) -> ServerProcess:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tools.soak.server", *self._arguments),
            stdin=PIPE,
            stdout=PIPE,
            cwd=ROOT,
            limit=_LONGEST_LINE,
        )
        assert self._process.stdout is not None
        first = await self._process.stdout.readline()
        if not first:
            raise UserError("the server did not start")
        self.urls = json.loads(first)["urls"]
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._reading.cancel()
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

    async def report(self, tag: str, *, timeout: float) -> dict[str, Any] | None:
        """Return the server's report of a conversation, once; None if it does not come in time."""
        try:
            return await asyncio.wait_for(asyncio.shield(self._future(tag)), timeout)
        except asyncio.TimeoutError:
            return None
        finally:
            self._reports.pop(tag, None)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            report = json.loads(line)
            future = self._future(str(report["tag"]))
            if not future.done():
                future.set_result(report)

    def _future(self, tag: str) -> asyncio.Future[dict[str, Any]]:
        return self._reports.setdefault(tag, asyncio.get_running_loop().create_future())
