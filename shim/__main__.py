"""The command line: ``python -m shim status`` and ``python -m shim demo``.

Exit codes: 0 when all is well, 1 when a fix is refused or the demonstration's shimmed side is not
clean, 2 when the command could not be carried out; then one line on stderr says why.
"""

from __future__ import annotations

import sys

# Before anything that an older Python cannot import; see shim/__init__.py.
if sys.version_info < (3, 10):  # noqa: UP036
    sys.stderr.write(
        "error: openai-agents-realtime-shim needs Python 3.10 or later, and this is "
        + sys.version.split()[0]
        + "\n"
    )
    sys.exit(2)

import argparse
import importlib
import json
import os
import textwrap
import warnings
from collections.abc import Sequence
from contextlib import suppress

from . import ShimError, ShimWarning, Status, __version__, status
from .activation import FIXES, MODULES
from .guard import DISTRIBUTION, installed_version

_WIDTH = 100


class CommandError(Exception):
    """Why a command cannot be carried out, and what to do about it; one line."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (``sys.argv`` when omitted) and return its exit code.

    Raises SystemExit for ``--help``, ``--version`` and wrong arguments, as argparse does.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 0
    try:
        return _demo(options) if options.command == "demo" else _status(options)
    except CommandError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever reads the output has seen enough; at exit Python would complain once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m shim",
        description="Three fixes for the Realtime layer of the OpenAI Agents SDK.",
    )
    parser.add_argument(
        "--version", action="version", version=f"openai-agents-realtime-shim {__version__}"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    show = commands.add_parser(
        "status",
        help="apply the fixes to the installed SDK and tell what came of it",
        description="Apply the fixes to the installed SDK and tell what came of it. "
        "The exit code is 1 if a fix is refused.",
    )
    show.add_argument("--json", action="store_true", help="print shim.status() as JSON")
    demo = commands.add_parser(
        "demo",
        help="show the defects and the fixes side by side, on the installed SDK",
        description="Play three conversations with a server on this machine, on the installed SDK "
        "without and with the fixes. The exit code is 1 if the side with the fixes is not clean.",
    )
    demo.add_argument("--port", type=_port, default=0, help="the server's port (default: any)")
    demo.add_argument(
        "--timeout",
        type=_seconds,
        default=30.0,
        metavar="SECONDS",
        help="time for each side of a scene (default: 30)",
    )
    demo.add_argument(
        "--scene",
        action="append",
        choices=[fix.name for fix in FIXES],
        help="play this scene alone; may be repeated (default: all)",
    )
    return parser


def _port(text: str) -> int:
    with suppress(ValueError):
        port = int(text)
        if 0 <= port < 2**16:
            return port
    raise argparse.ArgumentTypeError(f"{text!r} is not a port, a number from 0 to 65535")


def _seconds(text: str) -> float:
    with suppress(ValueError):
        seconds = float(text)
        if 0 < seconds < float("inf"):
            return seconds
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds greater than 0")


def _status(options: argparse.Namespace) -> int:
    _import_sdk()
    current = status()
    print(json.dumps(current.as_dict(), indent=2) if options.json else _as_text(current))
    return 1 if any(fix.state == "refused" for fix in current.fixes.values()) else 0


def _as_text(current: Status) -> str:
    """Return the status as a table: one line for each fix, or more where the reason is long."""
    names = max(map(len, current.fixes))
    states = max(len(fix.state) for fix in current.fixes.values())
    lines = [f"{DISTRIBUTION} {current.version or 'is not installed'}"]
    for name, fix in current.fixes.items():
        head = f"  {name:{names}}  {fix.state:{states}}  "
        lines += textwrap.wrap(
            fix.reason,
            _WIDTH,
            initial_indent=head,
            subsequent_indent=" " * len(head),
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join(lines)


def _import_sdk() -> None:
    """Import the SDK's Realtime layer, so that the fixes are applied.

    Refusals are left to the status, which has them all. Raises CommandError if there is nothing
    to import.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShimWarning)
        try:
            for name in ("agents.realtime", *MODULES):
                importlib.import_module(name)
        except ShimError:
            pass
        except ModuleNotFoundError as error:
            raise CommandError(_missing(error)) from error
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            raise CommandError(f"agents.realtime cannot be imported ({reason})") from error


def _not_installed() -> str:
    return (
        f"{DISTRIBUTION} is not installed. "
        f"Install it with its voice extra: pip install '{DISTRIBUTION}[voice]'"
    )


def _missing(error: ModuleNotFoundError) -> str:
    """Say what the SDK lacks, and how to get it."""
    version = installed_version()
    if version is None:
        return _not_installed()
    install = f"pip install '{DISTRIBUTION}[voice]=={version}'"
    top_level = (error.name or "").partition(".")[0]
    if top_level == "websockets":
        return (
            f"{DISTRIBUTION} lacks its voice extra: {error.name} cannot be imported. "
            f"Install it: {install}"
        )
    if top_level == "agents":
        return (
            f"{error.name} cannot be imported, although {DISTRIBUTION} {version} is installed. "
            "Check which package `agents` comes first on sys.path"
        )
    return f"{DISTRIBUTION} lacks a package: {error.name} cannot be imported. Try: {install}"


def _demo(options: argparse.Namespace) -> int:
    if installed_version() is None:
        raise CommandError(_not_installed())
    try:
        # Not at the top: it needs the voice extra.
        from . import demo
    except ModuleNotFoundError as error:
        raise CommandError(_missing(error)) from error
    try:
        return demo.run(port=options.port, timeout=options.timeout, scenes=options.scene)
    except demo.DemoError as error:
        raise CommandError(str(error)) from error


if __name__ == "__main__":
    sys.exit(main())
