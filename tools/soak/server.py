"""The server's side of the soak test: ``python -m tools.soak.server PROTOCOL CLIENTS PATIENCE``.

It prints a JSON object per line: first ``{"urls": [...]}``, an address for each client, then a
report of every conversation whose connection has closed. Each address is a server of its own, so
that its turns are for its client alone. PATIENCE is how many seconds it waits for anything. It
ends with its stdin.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack, suppress
from typing import Any

from websockets.exceptions import ConnectionClosed

from shim.loopback import Behaviour, Connection, FunctionCall, LoopbackServer, Protocol, Turn
from tools.soak.crossing import crossed
from tools.soak.cues import BARRIER, CUE_EVENT, cue
from tools.soak.judge import UNFINISHED
from tools.soak.plan import AUDIO_MS, BUSY_WORDS, HOLD_AFTER, Plan, Step

Event = dict[str, Any]

_CLEARED = "input_audio_buffer.cleared"

# In every second conversation the server leaves out what it need not say again.
_BEHAVIOURS = (
    Behaviour(),
    Behaviour(
        omit=frozenset({"status@conversation.item.retrieved"}),
        null=frozenset({"transcript@conversation.item.retrieved"}),
    ),
)


class Script:
    """Plays the server's part of a conversation."""

    def __init__(self, server: LoopbackServer, connection: Connection, *, patience: float) -> None:
        self._server = server
        self._connection = connection
        self._patience = patience
        self._barriers = 0

    async def play(self) -> None:
        """Play a conversation until its connection is closed.

        Raises OSError, ConnectionClosed, TimeoutError or ValueError if the client does not do its
        part.
        """
        # The session's settings, and the tracing that follows session.created.
        await self._connection.wait_for("session.update", count=2, timeout=self._patience)
        plan = Plan.of(self._connection.session["instructions"])
        self._server.behaviour = _BEHAVIOURS[plan.number % len(_BEHAVIOURS)]
        for step in plan.steps:
            await self._settle()
            await self._play(step)

    async def _play(self, step: Step) -> None:
        connection = self._connection
        if step.act == "speak":
            await connection.user_speaks(step.asked)
        elif step.act == "answer":
            await connection.respond(_spoken(step.answered))
        elif step.act == "type":
            self._prepare(step)
            await self._cue("type", step.asked)
            await self._answer()
        elif step.act == "call":
            self._prepare(step)
            call = FunctionCall(name="lookup", arguments=step.asked)
            await connection.respond(Turn(transcript="", function_call=call))
            await self._answer()
        elif step.act == "interrupt":
            await self._hold(step)
            truncate = "conversation.item.truncate"
            count = sum(frame["type"] == truncate for frame in connection.received) + 1
            await self._cue("interrupt")
            await connection.wait_for(truncate, count=count, timeout=self._patience)
        elif step.act == "barge-in":
            await self._hold(step)
            await connection.user_speaks(step.asked)
        else:
            await self._end(step)

    def _prepare(self, step: Step) -> None:
        """Set the answer to the client's response.create, before that can come."""
        self._server.turns.append(_spoken(step.answered, hold=0))

    async def _answer(self) -> None:
        """Answer the client's response.create, when it has come."""
        await self._connection.wait_until_held(timeout=self._patience)
        await self._connection.release()

    async def _hold(self, step: Step) -> None:
        await self._connection.respond(_spoken(step.answered, hold=HOLD_AFTER))
        await self._settle()

    async def _end(self, step: Step) -> None:
        """Have the application close the session, and wait until it has."""
        if step.act == "close-held":
            await self._hold(step)
        await self._cue("close")
        if step.act == "close-busy":
            with suppress(ConnectionError, ConnectionClosed):
                await self._connection.respond(_spoken(step.answered, hold=BUSY_WORDS))
        await asyncio.wait_for(self._connection.wait_closed(), self._patience)

    async def _cue(self, act: str, words: str = "") -> None:
        await self._connection.send(cue(act, words))

    async def _settle(self) -> None:
        """Wait until the client has reacted to all events, and the server to its reactions."""
        before = None
        while (now := self._traffic()) != before:
            before = now
            self._barriers += 1
            await self._cue("sync")
            await self._connection.wait_for(BARRIER, count=self._barriers, timeout=self._patience)

    def _traffic(self) -> int:
        """Count what went over the wire, apart from what `_settle` itself causes."""
        types = [each.get("type") for each in (*self._connection.received, *self._connection.sent)]
        return sum(each not in (CUE_EVENT, BARRIER, _CLEARED) for each in types)


def _spoken(words: str, *, hold: int | None = None) -> Turn:
    return Turn(transcript=words, audio_ms=AUDIO_MS, hold_after_deltas=hold)


def report(connection: Connection, failure: str | None) -> Event:
    """Return what the server has to say about a conversation that is over.

    ``tag`` is the conversation's, ``items`` are id, type and status of its items, in order, and
    ``problems`` are in words.
    """
    tag = connection.session["instructions"]
    problems = [f"server error: {each['error']['message']}" for each in connection.errors]
    problems += crossed(connection.received, connection.sent, tag)
    if failure is not None:
        problems.append(f"{UNFINISHED}: {failure}")
    items = [[item["id"], item["type"], item["status"]] for item in connection.items.values()]
    return {"tag": tag, "items": items, "problems": problems}


async def _serve_client(server: LoopbackServer, *, patience: float) -> None:
    """Play one conversation after another, and print a report of each."""
    number = 0
    while True:
        number += 1
        connection = await server.connection(number, timeout=float("inf"))
        failure = None
        try:
            await Script(server, connection, patience=patience).play()
        # The one of asyncio is another one before Python 3.11.
        except (ConnectionClosed, OSError, asyncio.TimeoutError, ValueError) as error:
            failure = f"{type(error).__name__}: {error}"
            # Or the client would wait for cues that do not come.
            await connection.close()
        print(json.dumps(report(connection, failure)), flush=True)
        server.turns.clear()
        # Or the server would grow, and slow down.
        connection.received.clear()
        connection.sent.clear()


async def _main(protocol: Protocol, clients: int, patience: float) -> None:
    servers = [LoopbackServer(protocol=protocol) for _ in range(clients)]
    async with AsyncExitStack() as stack:
        for server in servers:
            await stack.enter_async_context(server)
        print(json.dumps({"urls": [server.url for server in servers]}), flush=True)
        playing = [asyncio.create_task(_serve_client(each, patience=patience)) for each in servers]
        ended = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
        done, _ = await asyncio.wait({ended, *playing}, return_when=asyncio.FIRST_COMPLETED)
        for task in playing:
            task.cancel()
        for task in done:
            task.result()


if __name__ == "__main__":
    asyncio.run(
        _main("ga" if sys.argv[1] == "ga" else "beta", int(sys.argv[2]), float(sys.argv[3]))
    )
