"""The application of the demonstration as a program: what it answers, and when it ends."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from children import ROOT

from shim.demo.application import describe
from shim.loopback import Connection, LoopbackServer, Turn

PROGRAM = ROOT / "shim" / "demo" / "application.py"
RUN = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"
TIMEOUT = 60.0  # seconds; only a failing test takes so long

ERROR = {"type": "error", "error": {"type": "invalid_request_error", "message": "Not so."}}


class Program:
    """The application in a process, and the server that it talks to."""

    def __init__(self, process: Process, server: LoopbackServer) -> None:
        self._process = process
        self._number = 0
        self.server = server

    async def answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), TIMEOUT)
        answer: dict[str, Any] = json.loads(line)
        assert answer.pop("number") == self._number
        return answer

    async def do(self, command: str, **fields: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._number += 1
        text = json.dumps({"number": self._number, "do": command, **fields})
        self._process.stdin.write(text.encode() + b"\n")
        return await self.answer()

    async def open(self) -> Connection:
        assert await self.do("open", url=self.server.url) == {}
        return await self.server.connection(len(self.server.connections), timeout=TIMEOUT)

    async def sync(self, connection: Connection, marker: str) -> dict[str, Any]:
        await connection.send({"type": "conversation.item.deleted", "item_id": marker})
        return await self.do("sync", marker=marker)

    async def session(self) -> dict[str, Any]:
        """The report of the last session."""
        session: dict[str, Any] = (await self.do("report"))["sessions"][-1]
        return session

    async def end(self) -> int:
        """End the program by the end of its input; return its exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            return await asyncio.wait_for(self._process.wait(), TIMEOUT)
        except asyncio.TimeoutError:
            self._process.kill()
            raise


@pytest_asyncio.fixture
async def program() -> AsyncIterator[Program]:
    async with LoopbackServer() as server:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", RUN, str(PROGRAM)),
            stdin=PIPE,
            stdout=PIPE,
            env={**os.environ, "OPENAI_AGENTS_DISABLE_TRACING": "1", "NO_PROXY": "127.0.0.1"},
            cwd=ROOT,
        )
        program = Program(process, server)
        assert await program.answer() == {"shim": None}
        yield program
        assert await program.end() == 0


@pytest.mark.asyncio
async def test_a_conversation(program: Program) -> None:
    connection = await program.open()
    heard = await connection.user_speaks("Which bird?")
    answer = await connection.respond(Turn(transcript="A heron.", hold_after_deltas=2))
    assert await program.sync(connection, "in mid-answer") == {}
    assert await program.do("interrupt") == {}
    await connection.wait_for("conversation.item.truncate", timeout=TIMEOUT)
    assert await program.sync(connection, "interrupted") == {}
    program.server.turns.append(Turn(transcript="", text="Yes."))
    assert await program.do("say", message="Really?") == {}
    await connection.wait_for("response.create", timeout=TIMEOUT)
    assert await program.sync(connection, "asked") == {}
    session = await program.session()
    typed = next(item for item in session["history"] if ["text", "Really?"] in item["parts"])
    assert typed["role"] == "user"
    spoken = {item["id"]: item["role"] for item in session["history"]}
    assert (spoken[heard], spoken[answer]) == ("user", "assistant")
    assert session["events"]["audio_interrupted"] == 1
    assert session["errors"] == []
    assert await program.do("close") == {}
    await connection.wait_closed()


@pytest.mark.asyncio
async def test_every_session_is_reported(program: Program) -> None:
    for marker in ("first", "second"):
        connection = await program.open()
        assert await program.sync(connection, marker) == {}
        assert await program.do("close") == {}
    assert len((await program.do("report"))["sessions"]) == 2


@pytest.mark.asyncio
async def test_errors_are_reported_in_a_line_each(program: Program) -> None:
    connection = await program.open()
    await connection.send(ERROR)
    assert await program.sync(connection, "after the error") == {}
    connection.abort()
    assert await program.do("sync", marker="never sent") == {"ended": True}
    refused, lost = (await program.session())["errors"]
    assert refused == "error: Not so."
    assert lost.startswith("exception: ConnectionClosedError: ")


@pytest.mark.asyncio
async def test_a_command_that_fails_is_not_the_end(program: Program) -> None:
    failed = (await program.do("open", url="ws://127.0.0.1:1/"))["failed"]
    assert failed.startswith(("ConnectionRefusedError: ", "OSError: "))
    assert await program.do("unheard of") == {}
    assert (await program.do("close"))["failed"].startswith("IndexError: ")
    assert await program.do("report") == {"sessions": []}


def test_what_the_shim_did_is_told_first() -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"import shim; {RUN}", str(PROGRAM)],
        input="",
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        check=False,
    )
    (line,) = run.stdout.splitlines()
    fixes = json.loads(line)["shim"]["fixes"]
    assert set(fixes) == {"converter-status", "close-reset", "history-merge"}
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("first\nsecond"), "ValueError: first"),
        (ValueError(), "ValueError: "),
        ("no exception", "no exception"),
    ],
)
def test_an_error_in_one_line(error: object, words: str) -> None:
    assert describe(error) == words
