"""``python -m shim run``: an application with the fixes, without a change to its code.

It executes Python anew with the application's own command line, so that its arguments, exit code,
signals and tracebacks are what they are without the shim. `sitecustomize`, in the folder
``startup``, then imports the shim, in that process and in its children.

Imports little, because it is the first half of an application's start.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .errors import CommandError, ShimError

VARIABLE = "OPENAI_AGENTS_SHIM_RUN"
"""Holds the Python environment (``sys.prefix``) whose processes import the shim as they start."""

_PACKAGE = Path(__file__).absolute().parent
_STARTUP = str(_PACKAGE / "startup")

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
    except (CommandError, ShimError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    command = [sys.executable, *_interpreter_options(), *arguments]
    return _execute(command, _environment(os.environ))


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
    """Raise CommandError for what Python could not run or would run without the shim."""
    first = arguments[0]
    if first in _OPTIONS:
        if len(arguments) == 1:
            raise CommandError(f"{first} needs {_OPTIONS[first]}")
    elif first.startswith("-") and first != "-":
        raise CommandError(
            f"{first} is not an option of run. Python's own options come first: "
            f"python {first} -m shim run ..."
        )
    elif first != "-" and not Path(first).exists():
        raise CommandError(
            f"there is no file {first}. To run a module: python -m shim run -m {first}"
        )
    # The first entry of the application's sys.path.
    folder = Path() if first in (*_OPTIONS, "-") else Path(first).resolve().parent
    for file in (folder.absolute() / "shim.py", folder.absolute() / "shim" / "__init__.py"):
        if file.exists() and not file.parent.samefile(_PACKAGE):
            raise CommandError(
                f"the application has a module `shim` of its own, {file}, and can have only one "
                "of that name. Rename it to use this one"
            )


def _check_settings() -> None:
    # Else nothing is imported here, for a fast start; in strict mode a mistake stops the start.
    if os.environ.get("OPENAI_AGENTS_SHIM", "").strip().lower() == "strict":
        from .activation import apply

        apply()


def _interpreter_options() -> list[str]:
    """Return Python's own options: all before ``-m shim`` or ``-mshim``."""
    options = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]
    module = options.pop()
    flags = (options.pop() if module == "shim" else module.removesuffix("shim")).removesuffix("m")
    return options if flags == "-" else [*options, flags]


def _environment(given: os._Environ[str]) -> dict[str, str]:
    folders = [each for each in given.get("PYTHONPATH", "").split(os.pathsep) if each]
    if _STARTUP not in folders:
        folders.insert(0, _STARTUP)
    return {**given, "PYTHONPATH": os.pathsep.join(folders), VARIABLE: sys.prefix}


def _execute(command: list[str], environment: dict[str, str]) -> int:
    if os.name == "nt":  # Where a process that executes another one ends before that does.
        import subprocess

        return subprocess.call(command, env=environment)
    return os.execve(command[0], command, environment)
