"""Run pytest again and again, each time in a fork of a process that has imported the SDK.

Importing takes most of the time of a run that ends with the first failure. What is tested must not
be imported here. Standard library only, because it runs in environments that hold an old release.

Each line of standard input is a request: a JSON object with ``folder``, where to run, ``arguments``
for pytest, ``output``, the file for what it prints, and ``timeout`` in seconds. Each line of
standard output is the answer to one: pytest's exit code as JSON, or null after the timeout.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

_PAUSE = 0.02


def _serve() -> None:
    for name in sys.argv[1:]:
        # Where one is missing, the tests will say so.
        with suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), flush=True)


def _answer(request: Mapping[str, Any]) -> int | None:
    """Run pytest in a child process; return its exit code, None if it had to be stopped."""
    child = os.fork()
    if child == 0:
        # The tests may start processes of their own.
        os.setsid()
        code = 1
        try:
            code = _run_pytest(request)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    deadline = time.monotonic() + request["timeout"]
    while True:
        finished, status = os.waitpid(child, os.WNOHANG)
        if finished:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(_PAUSE)


def _run_pytest(request: Mapping[str, Any]) -> int:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(request["folder"])
    # As `python -m pytest` has it.
    sys.path[0] = request["folder"]

    import pytest

    return int(pytest.main(request["arguments"]))


if __name__ == "__main__":
    _serve()
