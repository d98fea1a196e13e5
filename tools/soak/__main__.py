"""Hold many conversations with a server on this machine, and see that all is well after them.

Run in an environment that holds a release of the SDK and psutil. The exit code is 1 if anything
was not as it should be, 2 if the test could not be carried out.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import sys
from contextlib import suppress
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING

from tools.releases import PACKAGE, UserError
from tools.soak import memory
from tools.soak.plan import Protocol

if TYPE_CHECKING:
    from tools.soak.run import Result

_MEBIBYTE = 2**20


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__)
    parser.add_argument(
        "--cycles", type=_count, default=1000, help="conversations on one model (%(default)s)"
    )
    parser.add_argument(
        "--sessions", type=_count, default=100, help="sessions at once (%(default)s)"
    )
    parser.add_argument(
        "--seconds",
        type=_seconds,
        default=60.0,
        help="for how long, after a warm-up as long (%(default)g)",
    )
    parser.add_argument(
        "--patience",
        type=_seconds,
        default=60.0,
        metavar="SECONDS",
        help="how long a conversation may take (%(default)g)",
    )
    side = parser.add_mutually_exclusive_group()
    side.add_argument("--bare", action="store_true", help="leave the shim out")
    side.add_argument(
        "--agents-from",
        type=Path,
        metavar="FOLDER",
        help="leave it out, and take the package `agents` from this folder (a patched tree's src)",
    )
    return parser


def _count(text: str) -> int:
    with suppress(ValueError):
        number = int(text)
        if number >= 0:
            return number
    raise argparse.ArgumentTypeError(f"{text!r} is not a number, which is 0 or more")


def _seconds(text: str) -> float:
    with suppress(ValueError):
        seconds = float(text)
        if 0 < seconds < float("inf"):
            return seconds
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds greater than 0")


def _import_sdk(*, shimmed: bool, folder: Path | None) -> str:
    """Import the SDK, and return what it is, in words. Raises UserError if it is not that."""
    os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
    # The client would look for a proxy even on the way to this machine.
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    # For those who have the shim imported at every start of Python.
    os.environ["OPENAI_AGENTS_SHIM"] = "strict" if shimmed else "off"
    if folder is not None:
        sys.path.insert(0, str(folder.resolve()))
    if shimmed:
        import_module("shim")
    try:
        version = metadata.version(PACKAGE)
        agents = import_module("agents.realtime.openai_realtime")
    except ImportError as error:
        raise UserError(f"cannot import the SDK with its voice extra: {error}") from error
    if folder is not None and folder.resolve() not in Path(str(agents.__file__)).parents:
        raise UserError(f"the SDK is {agents.__file__}, and not in {folder}")
    side = "shimmed" if shimmed else "bare" if folder is None else f"from {folder}"
    return f"{PACKAGE} {version}, {side}"


def _protocol() -> Protocol:
    release = tuple(int(number) for number in metadata.version(PACKAGE).split(".")[:2])
    return "ga" if release >= (0, 3) else "beta"


def _as_text(result: Result) -> str:
    """Return what came of a run, a few lines."""
    rate = result.conversations / result.seconds if result.seconds else 0.0
    events = result.events / result.seconds if result.seconds else 0.0
    lines = [
        f"{result.name}: {result.conversations} conversations in {result.seconds:.1f} s, "
        f"{rate:.1f} conversations/s, {events:.0f} server events/s, "
        f"at most {result.at_once} connections at once"
    ]
    if result.warm is not None and result.end is not None:
        marks = (result.before.rss, result.warm.rss, result.end.rss, result.peak)
        start, warm, end, peak = (f"{mark / _MEBIBYTE:.1f}" for mark in marks)
        enough = result.judged >= memory.ENOUGH
        lines += [
            f"  resident memory, MiB: start {start}, after {result.warm.conversations} "
            f"conversations {warm}, end {end}, peak {peak}",
            f"  growth since then, per conversation: {result.rss_growth:.0f} bytes "
            f"(allowed: {memory.BYTES_PER_CONVERSATION}), {result.object_growth:.2f} objects "
            f"(allowed: {memory.OBJECTS_PER_CONVERSATION:g})"
            + ("" if enough else "; too few conversations to judge that"),
        ]
    for kind, number in result.problems.most_common():
        lines.append(f"  {number} x {result.examples[kind]}")
    if not result.problems:
        lines.append("  all as it should be")
    return "\n".join(lines)


async def _run(options: argparse.Namespace) -> bool:
    # Not at the top: it imports the SDK, which comes after the shim.
    from tools.soak.run import run_crowd, run_cycles

    protocol = _protocol()
    good = True
    if options.cycles:
        result = await run_cycles(protocol, options.cycles, patience=options.patience)
        print(_as_text(result), flush=True)
        good = not result.problems
    if options.sessions:
        result = await run_crowd(
            protocol, options.sessions, options.seconds, patience=options.patience
        )
        print(_as_text(result), flush=True)
        good = good and not result.problems
    return good


def main(arguments: list[str] | None = None) -> int:
    """Run both parts of the soak test and print what came of them; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        shimmed = not options.bare and options.agents_from is None
        sdk = _import_sdk(shimmed=shimmed, folder=options.agents_from)
        print(f"{sdk}, Python {platform.python_version()}", flush=True)
        return 0 if asyncio.run(_run(options)) else 1
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
