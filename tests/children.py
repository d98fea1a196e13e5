"""Child processes: what the shim does is done once per process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

REPORT = """
import json as _json, shim as _shim
print("REPORT " + _json.dumps(_shim.status().as_dict()))
"""


class Child:
    """What came of a child process."""

    def __init__(self, result: subprocess.CompletedProcess[str]) -> None:
        self.returncode = result.returncode
        self.stdout = result.stdout
        self.stderr = result.stderr

    @property
    def report(self) -> dict[str, Any]:
        """The status that the code printed by ending with `REPORT`."""
        lines = [line for line in self.stdout.splitlines() if line.startswith("REPORT ")]
        assert lines, self.stderr
        report: dict[str, Any] = json.loads(lines[-1].removeprefix("REPORT "))
        return report

    @property
    def states(self) -> dict[str, str]:
        return {name: fix["state"] for name, fix in self.report["fixes"].items()}

    @property
    def error(self) -> str:
        """The one line that a command which could not be carried out has printed."""
        assert (self.returncode, self.stdout) == (2, "")
        (line,) = self.stderr.splitlines()
        assert line.startswith("error: ")
        return line

    @property
    def warnings(self) -> list[str]:
        return [line for line in self.stderr.splitlines() if "ShimWarning" in line]


def python(
    code: str, *options: str, path: Path | None = None, environment: dict[str, str] | None = None
) -> Child:
    """Run code in a new interpreter, with ``path`` ahead of the installed packages."""
    return run([sys.executable, *options, "-c", code], path=path, environment=environment)


def command_line(
    *arguments: str,
    interpreter: tuple[str, ...] = (sys.executable,),
    path: Path | None = None,
    environment: dict[str, str] | None = None,
) -> Child:
    """Run ``python -m shim``, with ``path`` ahead of the installed packages."""
    return run([*interpreter, "-m", "shim", *arguments], path=path, environment=environment)


def run(
    command: list[str],
    *,
    path: Path | None = None,
    environment: dict[str, str] | None = None,
    folder: Path | None = None,
    text: str = "",
) -> Child:
    """Run a command in ``folder``, with ``text`` to read, and the rest as for `python`."""
    result = subprocess.run(
        command,
        env=variables(path=path, environment=environment),
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Child(result)


def variables(
    *, path: Path | None = None, environment: dict[str, str] | None = None
) -> dict[str, str]:
    """Return the environment variables of a child process."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OPENAI_AGENTS", "PYTHON"))
    }
    # ROOT is for interpreters in which the shim is not installed.
    folders = [path, ROOT] if path else [ROOT]
    return {**kept, "PYTHONPATH": os.pathsep.join(map(str, folders)), **(environment or {})}


def copy_sdk(folder: Path, *, version: str | None = None) -> Path:
    """Copy the installed SDK, its metadata included, and return its ``agents/realtime``."""
    distribution = metadata.distribution("openai-agents")
    site = Path(str(distribution.locate_file("")))
    shutil.copytree(site / "agents", folder / "agents", ignore=shutil.ignore_patterns("*.pyc"))
    info = f"openai_agents-{distribution.version}.dist-info"
    shutil.copytree(site / info, folder / info)
    if version is not None:
        file = folder / info / "METADATA"
        old = f"Version: {distribution.version}\n"
        file.write_text(file.read_text().replace(old, f"Version: {version}\n", 1))
    return folder / "agents" / "realtime"
