"""The two child processes that a sequence is played to."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .sequence import Sequence

Mode = Literal["shimmed", "patched", "bare"]
Trace = list[dict[str, Any]]

FIXES = ("converter-status", "close-reset", "history-merge")

_TESTS = Path(__file__).resolve().parents[1]
_PATIENCE = 60.0


class SideError(Exception):
    """A child process cannot do what it is for; nothing can be compared."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """How one of the children runs the SDK.

    Attributes:
        name: What to call it in messages.
        mode: Whether the child imports the shim; ``bare`` and ``patched`` must do without.
        tree: A source tree whose ``agents`` it takes, in place of the installed one.
        fixes: The fixes that the shim is to apply.
    """

    name: str
    mode: Mode
    tree: Path | None = None
    fixes: tuple[str, ...] = FIXES

    def check_release(self, release: str) -> None:
        """Raise SideError if the tree says that it is another release."""
        file = self.tree / "pyproject.toml" if self.tree is not None else None
        if file is None or not file.is_file():
            return
        found = re.search(r'^version = "(.+)"$', file.read_text(encoding="utf-8"), re.MULTILINE)
        if found is not None and found[1] != release:
            raise SideError(f"{self.tree} is openai-agents {found[1]}, and {release} is installed")

    @property
    def source(self) -> Path | None:
        """The folder with the package ``agents``; None if it is the installed one."""
        if self.tree is None:
            return None
        for folder in (self.tree / "src", self.tree):
            if (folder / "agents" / "realtime").is_dir():
                return folder
        raise SideError(f"no agents/realtime in {self.tree} or {self.tree / 'src'}")


class Player:
    """A child process, started when it is first needed and again after it has died."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self._process: subprocess.Popen[str] | None = None
        self._hello: dict[str, Any] = {}
        self._asked: deque[Sequence] = deque()

    @property
    def hello(self) -> dict[str, Any]:
        """What the child says of its SDK."""
        self.start()
        return self._hello

    def start(self) -> None:
        if self._process is not None:
            return
        source = self.side.source
        command = [sys.executable, "-m", "equivalence.player", self.side.mode]
        if source is not None:
            command.append(str(source))
        self._process = subprocess.Popen(
            command,
            cwd=_TESTS,
            env=self._environment(source),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        hello = self._answer()
        if hello is None:
            raise SideError(f"the {self.side.name} player does not start; see its error output")
        self._hello = hello
        self.side.check_release(hello["release"])
        states = hello["shim"]
        applied = tuple(fix for fix in FIXES if states.get(fix) == "applied")
        if self.side.mode == "shimmed" and applied != self.side.fixes:
            raise SideError(f"the {self.side.name} player is to apply {self.side.fixes}: {states}")

    def _environment(self, source: Path | None) -> dict[str, str]:
        variables = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("OPENAI_AGENTS", "PYTHON"))
        }
        variables["OPENAI_AGENTS_SHIM"] = "strict"
        variables["OPENAI_AGENTS_SHIM_SKIP"] = ",".join(set(FIXES) - set(self.side.fixes))
        variables["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
        # Both sides go through sets of texts in the same order.
        variables["PYTHONHASHSEED"] = "0"
        if source is not None:
            variables["PYTHONPATH"] = str(source.resolve())
        return variables

    def ask(self, sequence: Sequence) -> None:
        """Hand the child a sequence to play; `answer` gives the traces in the same order.

        Only a few at a time: what has to wait must find room in the pipe.
        """
        self.start()
        self._asked.append(sequence)
        self._send(sequence)

    def _send(self, sequence: Sequence) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        # If it has died, there will be no answer either.
        with suppress(OSError):
            self._process.stdin.write(sequence.as_json() + "\n")
            self._process.stdin.flush()

    def answer(self) -> Trace:
        """Return the next trace; it says so if the child died over the sequence or got stuck."""
        self._asked.popleft()
        trace: Trace | None = self._answer()
        if trace is not None:
            return trace
        for sequence in self._asked:
            self.start()
            self._send(sequence)
        return [{"problems": ["the player died or got stuck"]}]

    def _answer(self) -> Any:
        assert self._process is not None
        assert self._process.stdout is not None
        watchdog = threading.Timer(_PATIENCE, self._process.kill)
        watchdog.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if not line:
            self.stop()
            return None
        return json.loads(line)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
