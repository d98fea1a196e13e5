"""Time events, calls, close() and the import: bare, shimmed and patched, in alternation.

Each round takes one sample of each side, one right after the other; a ratio is that of the medians
of all rounds, and its spread the middle half of the ratios within the rounds. The environment has
to hold the release, and the patched side is a tree with its patches, made for the run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AsyncExitStack
from importlib import metadata
from pathlib import Path
from statistics import median
from time import perf_counter

import pyperf  # type: ignore[import-untyped]
from rich.console import Console
from rich.table import Table

from shim.loopback import LoopbackServer
from tools.bench.figures import Key, added_by_run, exceeded, growths, ratio
from tools.checkout import checkout
from tools.patches import published
from tools.releases import CACHE, REPORTS, ROOT, UserError, load_table
from tools.series import load_series

_SIZES = (10, 100, 1000, 5000)
_BY_SIZE = (
    "session_delta",
    "session_snapshot",
    "session_new_item",
    "wire_delta",
    "wire_snapshot",
    "wire_new_item",
)
_CALL_SECONDS = 300
# A round of these takes seconds.
_SLOW_ROUNDS = 30

_IMPORT = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
_STATEMENTS = {
    "bare": "import agents.realtime",
    "shimmed": "import shim; import agents.realtime",
}
_STARTS = {
    "import": ("-c", "import shim"),
    "run": ("-m", "shim", "run", "-c", "pass"),
}

Recorded = dict[Key, dict[str, list[float]]]


class Player:
    """The process of one side; see `tools.bench.player`."""

    def __init__(self, *arguments: str, environment: dict[str, str]) -> None:
        self._command = (sys.executable, "-m", "tools.bench.player", *arguments)
        self._environment = environment

    async def __aenter__(self) -> Player:
        self._process = await asyncio.create_subprocess_exec(
            *self._command, cwd=ROOT, env=self._environment, stdin=PIPE, stdout=PIPE
        )
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()

    async def time(self, workload: str, argument: int) -> float:
        """Return the seconds of one sample; raises UserError if the process ends."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([workload, argument]).encode() + b"\n")
        line = await self._process.stdout.readline()
        if not line:
            raise UserError(f"{' '.join(self._command[1:])} ended in {workload}")
        return float(line)


def workloads() -> Iterator[tuple[Key, tuple[str, ...]]]:
    """Yield what is timed in the players, and on which sides."""
    everywhere = ("bare", "shimmed", "patched")
    for name in _BY_SIZE:
        for size in _SIZES:
            yield (name, size), everywhere
    yield ("whole_call", _CALL_SECONDS), everywhere
    yield ("close_connection", 0), everywhere
    yield ("read_release_table", 0), ("shimmed",)


async def measure(tree: Path, *, rounds: int, starts: int, console: Console) -> Recorded:
    """Return the samples of all workloads, from so many starts of the three processes."""
    recorded: Recorded = defaultdict(lambda: defaultdict(list))
    for start in range(starts):
        console.print(f"start {start + 1} of {starts}", highlight=False)
        async with AsyncExitStack() as stack:
            server = await stack.enter_async_context(LoopbackServer())
            environment = {**os.environ, "BENCH_SERVER": server.url, "PYTHONPATH": str(ROOT)}
            patched = {**environment, "PYTHONPATH": os.pathsep.join((str(tree / "src"), str(ROOT)))}
            players = {
                "bare": Player(environment=environment),
                "shimmed": Player("--shim", environment=environment),
                "patched": Player(environment=patched),
            }
            for player in players.values():
                await stack.enter_async_context(player)
            for key, sides in workloads():
                slow = key[0] in ("whole_call", "close_connection") or key[1] >= 1000
                for number in range(-1, max(1, (rounds if not slow else _SLOW_ROUNDS) // starts)):
                    for side in sides:
                        seconds = await players[side].time(*key)
                        if number >= 0:  # The first round warms up.
                            recorded[key][side].append(seconds)
    return recorded


async def measure_import(*, rounds: int) -> dict[str, list[float]]:
    """Return the seconds that the import takes in a new process, by side."""
    recorded: dict[str, list[float]] = defaultdict(list)
    for number in range(-1, rounds):
        for side, statement in _STATEMENTS.items():
            output = await _output("-c", _IMPORT.format(statement))
            if number >= 0:
                recorded[side].append(float(output))
    return recorded


async def measure_start(*, rounds: int) -> dict[str, list[float]]:
    """Return the seconds that a process with the shim takes, by the way that it gets it."""
    recorded: dict[str, list[float]] = defaultdict(list)
    for number in range(-1, rounds):
        for side, arguments in _STARTS.items():
            started = perf_counter()
            await _output(*arguments)
            if number >= 0:
                recorded[side].append(perf_counter() - started)
    return recorded


async def _output(*arguments: str) -> bytes:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=ROOT, stdout=PIPE
    )
    output, _ = await process.communicate()
    return output


def show(recorded: Recorded, console: Console) -> None:
    """Print the ratios, and what is over its limit."""
    table = Table("what", "items", "bare", "shimmed / bare", "patched / bare")
    for (workload, argument), sides in recorded.items():
        ratios = [
            str(ratio(sides[side], sides["bare"])) if side in sides and "bare" in sides else "-"
            for side in ("shimmed", "patched")
        ]
        first = next(iter(sides.values()))
        unit = 1e6 if median(first) < 1e-3 else 1e3
        amount = f"{median(first) * unit:.1f} {'µs' if unit == 1e6 else 'ms'}"
        table.add_row(workload, str(argument or ""), amount, *ratios)
    console.print(table)
    for side, growth in growths(recorded).items():
        console.print(f"delta at 1,000 items / at 10, {side}: {growth:.1f}", highlight=False)
    if (added := added_by_run(recorded)) is not None:
        console.print(f"python -m shim run adds {added * 1000:.0f} ms", highlight=False)
    for line in exceeded(recorded):
        console.print(f"[red]over the limit[/red] {line}", highlight=False)


def save(recorded: Recorded, folder: Path) -> None:
    """Write the samples as pyperf's files, one for each side."""
    folder.mkdir(parents=True, exist_ok=True)
    for side in dict.fromkeys(side for sides in recorded.values() for side in sides):
        suite = pyperf.BenchmarkSuite(
            [
                pyperf.Benchmark([pyperf.Run(sides[side], metadata={"name": f"{name} {argument}"})])
                for (name, argument), sides in recorded.items()
                if side in sides
            ]
        )
        suite.dump(str(folder / f"bench-{side}.json"), replace=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nox -s bench --", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="(default: %(default)s)")
    parser.add_argument(
        "--starts", type=int, default=3, help="processes of each side (default: %(default)s)"
    )
    parser.add_argument("--imports", type=int, default=20, help="(default: %(default)s)")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Time everything; return 1 if anything is over its limit."""
    options = _parser().parse_args(arguments)
    console = Console(soft_wrap=True)
    try:
        release = metadata.version("openai-agents")
        sources = published(load_table())
        CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            tree = Path(scratch) / "tree"
            checkout(sources, load_series(sources.patches, sources.table), release, tree)
            recorded = asyncio.run(
                measure(tree, rounds=options.rounds, starts=options.starts, console=console)
            )
        recorded["import", 0] = asyncio.run(measure_import(rounds=options.imports))
        recorded["start", 0] = asyncio.run(measure_start(rounds=options.imports))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    show(recorded, console)
    save(recorded, REPORTS)
    return int(bool(exceeded(recorded)))


if __name__ == "__main__":
    sys.exit(main())
