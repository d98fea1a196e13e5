"""``python -m shim run``: an application with the fixes, without a change to its code.

It executes Python anew with the application's own command line, so that its arguments, exit code,
signals and tracebacks are what they are without the shim. `sitecustomize`, in the folder
``startup``, then imports the shim, in that process and in its children.

Imports little, because it is the first half of an application's start.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path

from .errors import CommandError, ShimError

VARIABLE = "OPENAI_AGENTS_SHIM_RUN"
"""Holds the real path of ``sys.prefix``: processes of that environment import the shim."""

_PACKAGE = Path(__file__).absolute().parent

STARTUP = str(_PACKAGE / "startup")
"""The folder that comes first in the application's PYTHONPATH."""

_OPTIONS = {"-m": "a module", "-c": "code"}


def main(arguments: Sequence[str]) -> int:
    """Run ``app.py ARGS``, ``-m module ARGS`` or ``-c code ARGS``.

    Returns only if that is not possible, with exit code 2 and the reason on stderr. On Windows it
    waits for the application, and returns its exit code.
    """
    try:
        _check_interpreter()
        _check_application(arguments)
        _check_settings()
        command = [sys.executable, *_interpreter_options(arguments), *arguments]
    except (CommandError, ShimError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return _execute(command, _environment())


def _check_interpreter() -> None:
    for option, is_set in {
        "-I": sys.flags.isolated,
        "-E": sys.flags.ignore_environment,
        "-S": sys.flags.no_site,
    }.items():
        if is_set:
            raise CommandError(
                f"with Python's option {option} the shim cannot be there before the application. "
                "Leave the option out, or write `import shim` into the application"
            )


def _check_application(arguments: Sequence[str]) -> None:
    """Raise CommandError for what Python could not run, or would run without the shim."""
    first = arguments[0]
    if first[:2] in _OPTIONS:
        if first in _OPTIONS and len(arguments) == 1:
            raise CommandError(f"{first} needs {_OPTIONS[first]}")
    elif first.startswith("-") and first != "-":
        raise CommandError(
            f"run takes app.py, -m MODULE or -c CODE, and not {first}. Python's own options come "
            "before -m shim"
        )
    elif first != "-" and not os.path.lexists(first):
        is_module = first.replace(".", "_").isidentifier() and not first.endswith(".py")
        hint = f". To run a module: python -m shim run -m {first}" if is_module else ""
        raise CommandError(f"there is no file {first}{hint}")
    entry = _first_on_path(first)
    spec = None if entry is None else PathFinder.find_spec("shim", [entry])
    # Not samefile(): what is in a zip file cannot be asked for.
    own = os.path.realpath(_PACKAGE / "__init__.py")
    if spec is not None and spec.origin and os.path.realpath(spec.origin) != own:
        raise CommandError(
            f"the application has a module `shim` of its own, {spec.origin}, and can have only "
            "one of that name. Rename it to use this one"
        )


def _first_on_path(first: str) -> str | None:
    """Return where the application's modules are looked for first; None if nowhere special."""
    if getattr(sys.flags, "safe_path", False):  # New in Python 3.11.
        return None
    try:
        if first == "-" or first[:2] in _OPTIONS:
            return str(Path.cwd())
        # A folder or a zip file with a __main__.py is run with itself on the path.
        is_container = PathFinder.find_spec("__main__", [first]) is not None
        return first if is_container else str(Path(os.path.realpath(first)).parent)
    except OSError:  # Python will say it better.
        return None


def _check_settings() -> None:
    # Else nothing is imported here, for a fast start; in strict mode a mistake stops the start.
    if os.environ.get("OPENAI_AGENTS_SHIM", "").strip().lower() == "strict":
        from .activation import apply

        apply()


def _interpreter_options(arguments: Sequence[str]) -> list[str]:
    """Return Python's own options: all before ``-m shim run`` or ``-mshim run``.

    Raises CommandError if this process was not started so.
    """
    options, own = sys.orig_argv[1:], ["run", *arguments]
    if options[-len(own) :] == own:
        options = options[: -len(own)]
        last = options.pop() if options else ""
        flags = options.pop() if last == "shim" and options else last.removesuffix("shim")
        if re.fullmatch("-[A-Za-z]*m", flags):
            return options if flags == "-m" else [*options, flags.removesuffix("m")]
    raise CommandError("run is for the command line: python -m shim run app.py")


def _environment() -> dict[str, str]:
    given = os.environ.get("PYTHONPATH")
    # An empty folder among others is the current one, and stays.
    folders = [folder for folder in (given.split(os.pathsep) if given else ()) if folder != STARTUP]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([STARTUP, *folders]),
        VARIABLE: os.path.realpath(sys.prefix),
    }


def _execute(command: list[str], environment: dict[str, str]) -> int:
    if os.name == "nt":  # Where a process that executes another one ends before that does.
        import subprocess

        return subprocess.call(command, env=environment)
    return os.execve(command[0], command, environment)
