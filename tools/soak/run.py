"""The two runs of the soak test: one model again and again, and many sessions at once."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import psutil

from tools.soak import judge, memory
from tools.soak.application import Application
from tools.soak.plan import COURSES, Plan, Protocol, tag
from tools.soak.process import ServerProcess

_SAMPLES = 30  # in a run of cycles
_WARM_UP = 1 / 3  # of the cycles
_TOO_MANY = 5  # conversations that do not come to their end
_INTERVAL = 0.5  # seconds from one look at the process to the next


@dataclass(kw_only=True)
class Result:
    """What came of a run.

    Attributes:
        name: What was done.
        conversations: How many there were.
        events: How many events the server sent in them.
        seconds: How long they took.
        at_once: How many sockets were open at the same time, at most.
        peak: Resident bytes, at most.
        before: Memory before the first conversation.
        warm: Memory after the warm-up; this and ``end`` are None if the run broke off before.
        end: Memory after the last conversation.
        rss_growth: Resident bytes that each conversation since the warm-up added.
        problems: How many problems of each kind there were.
        examples: The first of each kind, in words.
    """

    name: str
    conversations: int = 0
    events: int = 0
    seconds: float = 0.0
    at_once: int = 0
    peak: int = 0
    before: memory.Sample = field(default_factory=lambda: memory.sample(0))
    warm: memory.Sample | None = None
    end: memory.Sample | None = None
    rss_growth: float = 0.0
    problems: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, problems: Iterable[str]) -> None:
        """Count problems; what stands before a colon is the kind."""
        for problem in problems:
            kind, _, _ = problem.partition(": ")
            self.problems[kind] += 1
            self.examples.setdefault(kind, problem)

    @property
    def hopeless(self) -> bool:
        """Whether there is no use in going on."""
        return self.problems[judge.UNFINISHED] >= _TOO_MANY

    @property
    def judged(self) -> int:
        """How many conversations there were after the warm-up."""
        return self.conversations - self.warm.conversations if self.warm else 0

    @property
    def object_growth(self) -> float:
        """How many objects each conversation since the warm-up added."""
        if self.warm is None or self.end is None or not self.judged:
            return 0.0
        return (self.end.objects - self.warm.objects) / self.judged


async def run_cycles(protocol: Protocol, cycles: int, *, patience: float) -> Result:
    """Hold so many conversations, one after another, on one model."""
    result = Result(name=f"{cycles} conversations on one model")
    between = max(1, cycles // _SAMPLES)
    rss: list[tuple[float, float]] = []
    async with ServerProcess(protocol, 1, patience=patience) as server, _watching(result, []):
        own_tasks = asyncio.all_tasks()
        client = _Client(Application(), server, number=0, patience=patience)
        for number in range(1, cycles + 1):
            started = time.monotonic()
            await client.converse(result)
            result.seconds += time.monotonic() - started
            if result.hopeless:
                break
            if (number % between == 0 and number >= cycles * _WARM_UP) or number == cycles:
                result.add(await memory.left_behind(own_tasks))
                result.end = memory.sample(result.conversations)
                result.warm = result.warm or result.end
                rss.append((number, result.end.rss))
        _judge_memory(result, rss)
    return result


async def run_crowd(
    protocol: Protocol, sessions: int, seconds: float, *, patience: float
) -> Result:
    """Hold conversations at so many clients at once, for so long.

    The warm-up before is as long, and longer if that does not suffice for a conversation of every
    course at every client.
    """
    result = Result(name=f"{sessions} sessions at once")
    rss: list[tuple[float, float]] = []
    async with ServerProcess(protocol, sessions, patience=patience) as server:
        async with _watching(result, rss):
            own_tasks = asyncio.all_tasks()
            clients = [
                _Client(Application(), server, number=number, patience=patience)
                for number in range(sessions)
            ]
            await _converse_at_once(clients, seconds, result, at_least=COURSES)
            result.add(await memory.left_behind(own_tasks))
            result.warm = memory.sample(result.conversations)
            rss.clear()
            await _converse_at_once(clients, seconds, result)
            result.add(await memory.left_behind(own_tasks))
            result.end = memory.sample(result.conversations)
        # While the clients are there: they were at the end of the warm-up.
        _judge_memory(result, rss)
    return result


async def _converse_at_once(
    clients: list[_Client], seconds: float, result: Result, *, at_least: int = 1
) -> None:
    started = time.monotonic()
    end = started + seconds
    await asyncio.gather(*(each.converse_until(end, result, at_least=at_least) for each in clients))
    result.seconds += time.monotonic() - started


class _Client:
    """One model, and the address that it connects to again and again."""

    def __init__(
        self, application: Application, server: ServerProcess, *, number: int, patience: float
    ) -> None:
        self._application = application
        self._server = server
        self._number = number
        self._patience = patience
        self._held = 0

    async def converse(self, result: Result) -> None:
        """Hold a conversation, and judge it."""
        plan = Plan.of(tag(self._number, self._held))
        self._held += 1
        outcome = await self._application.converse(
            url=self._server.urls[self._number], tag=plan.tag, patience=self._patience
        )
        report = await self._server.report(plan.tag, timeout=self._patience)
        result.conversations += 1
        result.events += outcome.events
        result.add(judge.problems(plan, self._server.protocol, outcome, report))

    async def converse_until(self, end: float, result: Result, *, at_least: int) -> None:
        """Hold so many conversations, and more until the time is up."""
        held = 0
        while not result.hopeless and (held < at_least or time.monotonic() < end):
            await self.converse(result)
            held += 1


def _judge_memory(result: Result, rss: list[tuple[float, float]]) -> None:
    """Judge what is left of the conversations, given resident bytes at numbers of them."""
    result.add(f"left in the shim: {name}" for name in memory.remembered(sys.modules))
    if result.warm is None or result.end is None:
        return
    result.rss_growth = memory.slope(rss)
    result.add(memory.more_instances(result.warm, result.end))
    result.add(
        memory.growth_problems(
            rss=result.rss_growth, objects=result.object_growth, conversations=result.judged
        )
    )


@asynccontextmanager
async def _watching(result: Result, rss: list[tuple[float, float]]) -> AsyncIterator[None]:
    """Watch the process during a run; resident bytes at numbers of conversations go to ``rss``."""
    process = psutil.Process()

    async def watch() -> None:
        while True:
            resident = process.memory_info().rss
            result.peak = max(result.peak, resident)
            result.at_once = max(result.at_once, len(process.net_connections(kind="inet")))
            rss.append((result.conversations, resident))
            await asyncio.sleep(_INTERVAL)

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
