"""The child processes of the demonstration: the same application, bare and shimmed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..activation import MODE_VARIABLE

_APPLICATION = Path(__file__).with_name("application.py")
# By its path: importing it by name would import shim.
_BARE = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"
_SHIMMED = f"import shim; {_BARE}"
_LONGEST_ANSWER = 2**20  # bytes


class ChildError(Exception):
    """Why a child did not do what it was asked to, in words."""


class Child:
    """The application in a process of its own.

    Attributes:
        shim: What the shim did in that process, as ``Status.as_dict()`` has it; None if it was
            never imported there.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        assert process.stderr is not None
        self._stderr = asyncio.create_task(process.stderr.read())
        self.shim: dict[str, Any] | None = None
        self._asked = 0

    @classmethod
    async def start(cls, *, shimmed: bool) -> Child:
        """Start the application, which imports the SDK; `wait_until_ready` comes next."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            _SHIMMED if shimmed else _BARE,
            str(_APPLICATION),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=_environment(shimmed=shimmed),
            limit=_LONGEST_ANSWER,
        )
        return cls(process)

    async def wait_until_ready(self) -> None:
        """Wait until the SDK is imported. Raises ChildError if the process ends instead."""
        self.shim = (await self._answer(0))["shim"]

    async def ask(self, do: str, **fields: Any) -> dict[str, Any]:
        """Have the application carry out a command, and return its answer.

        Raises ChildError if the command fails or the process has ended.
        """
        assert self._process.stdin is not None
        self._asked += 1
        command = json.dumps({"number": self._asked, "do": do, **fields})
        with suppress(ConnectionError):  # reading tells why
            self._process.stdin.write(command.encode() + b"\n")
            await self._process.stdin.drain()
        answer = await self._answer(self._asked)
        if "failed" in answer:
            raise ChildError(f"the application could not go on: {answer['failed']}")
        return answer

    async def _answer(self, number: int) -> dict[str, Any]:
        """Return the answer to a command; skips those that came too late for earlier ones."""
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            answer: dict[str, Any] = json.loads(line)
            if answer["number"] == number:
                return answer
        code = await self._process.wait()
        stderr = (await self._stderr).decode(errors="replace").strip()
        last = f": {stderr.splitlines()[-1].strip()}" if stderr else ""
        raise ChildError(f"the child process ended with exit code {code}{last}")

    async def end(self) -> None:
        """End the process, whatever it is doing, and wait until it has ended."""
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        await self._stderr


def _environment(*, shimmed: bool) -> dict[str, str]:
    environment = {
        **os.environ,
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        # The client would look for a proxy even on the way to this machine.
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        "PYTHONIOENCODING": "utf-8",
    }
    if not shimmed:
        # For those who have the shim imported at every start of Python.
        environment[MODE_VARIABLE] = "off"
    return environment
