"""The command line: ``python -m shim status``, ``releases``, ``demo``, and the help of ``run``.

Exit codes: 0 when all is well, 1 when a fix is refused or the demonstration's shimmed side is not
clean, 2 when the command could not be carried out; then one line on stderr says why.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress

from . import __version__, guard, reports
from .activation import FIXES, MODULES, apply, status
from .errors import CommandError, ShimError, ShimWarning
from .guard import DISTRIBUTION, installed_version


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
        result: int = options.carry_out(options)
        return result
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
    show.add_argument("--json", action="store_true", help="print it as JSON")
    show.set_defaults(carry_out=_status)
    releases = commands.add_parser(
        "releases",
        help="tell which fixes each supported release needs",
        description="Tell which fixes each supported release of the SDK needs.",
    )
    releases.add_argument("version", nargs="?", metavar="VERSION", help="this one (default: all)")
    releases.set_defaults(carry_out=_releases)
    # Only for its help: shim.run carries it out.
    commands.add_parser(
        "run",
        help="run an application with the fixes, and its child processes too",
        usage="python -m shim run (app.py | -m MODULE | -c CODE) [ARGS ...]",
        description="Run a Python application with the fixes, as if its first line were `import "
        "shim`; the Python processes that it starts get them too. Its arguments, exit code, "
        "signals and tracebacks are what they are without. Python's own options come before "
        "-m shim.",
    ).add_argument("application", nargs="+", help=argparse.SUPPRESS)
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
    demo.set_defaults(carry_out=_demo)
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
    if options.json:
        print(json.dumps(reports.status_as_dict(current), indent=2))
    else:
        reports.print_status(current)
    # Pending: the SDK was imported in part only.
    return int(any(fix.state in ("refused", "pending") for fix in current.fixes.values()))


def _releases(options: argparse.Namespace) -> int:
    table = guard.release_table()
    if options.version is not None and options.version not in table:
        raise CommandError(
            f"{DISTRIBUTION} {options.version} is not in the release table, which goes from "
            f"{next(iter(table))} to {list(table)[-1]}. {DISTRIBUTION} releases between that are "
            "not in it have no Realtime layer, or do not exist; for a later one, update "
            "openai-agents-realtime-shim"
        )
    reports.print_releases(table, options.version)
    return 0


def _import_sdk() -> None:
    """Import the SDK's Realtime layer, so that the fixes are applied.

    Refusals are left to the status, which has them all. Raises CommandError if there is nothing
    to import, and in strict mode for a variable that is not understood.
    """
    try:
        apply()
    except ShimError as error:
        raise CommandError(str(error)) from error
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
