"""Run the regression suite in this environment, bare and shimmed at the same time.

Standard library only, because it runs in environments that hold an old release.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tools.releases import ROOT

TIMEOUT = 900.0
"""Seconds after which one run of the suite is stopped."""

TEST_TIMEOUT = 180.0
"""Seconds after which one test is stopped."""

MODES = {"bare": ["--bare"], "shimmed": ["-p", "shim"], "recording": [], "patched": []}
"""Arguments of pytest per way to run the suite.

``bare`` holds a release to the record of its failures, ``recording`` takes them as they come.
``patched`` is for a source that has the fixes.
"""


@dataclass(frozen=True)
class SuiteRun:
    """What one run of the suite gave: pytest's exit code and output, and each test's outcome."""

    mode: str
    exit_code: int
    output: str
    outcomes: dict[str, str] = field(default_factory=dict)


def run_suite(
    mode: str,
    *,
    python: Path,
    source: Path | None = None,
    junit: Path | None = None,
    arguments: Sequence[str] = (),
) -> SuiteRun:
    """Run the suite with the interpreter of an environment, in one of the `MODES`.

    ``source`` is a folder that holds the SDK to test, in place of the installed one; nothing runs
    if another one gets imported. ``junit`` is the JUnit file to write, if any, and ``arguments``
    are passed on to pytest. Reports are files of the run alone, so any number of runs may go on at
    once.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "outcomes.json"
        command = [str(python), "-m", "pytest", "tests/regression", "-p", "no:cacheprovider"]
        command += ["--timeout", str(TEST_TIMEOUT)]
        command += [*MODES[mode], "--outcomes", str(report), *arguments]
        if source is not None:
            command += ["-p", "tools.agents_from", f"--agents-from={source}"]
        if junit is not None:
            command.append(f"--junitxml={junit}")
        exit_code, output = run_command(command, source=source)
        outcomes = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
    return SuiteRun(mode, exit_code, output, outcomes.get("outcomes", {}))


def run_command(command: list[str], *, source: Path | None = None) -> tuple[int, str]:
    """Run a command and return its exit code and its output, both streams together.

    A fix that is refused is an error in it; ``source`` is as for `run_suite`.
    """
    try:
        run = subprocess.run(
            command,
            cwd=ROOT,
            env=environment(source),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as stopped:
        output = stopped.output or b""
        text = output if isinstance(output, str) else output.decode("utf-8", "replace")
        return 1, f"{text}\nstopped after {TIMEOUT:.0f} seconds"
    return run.returncode, run.stdout


def environment(source: Path | None) -> dict[str, str]:
    """Return this process's environment, set so that a fix that is refused is an error.

    A ``source`` comes ahead of the installed packages.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("OPENAI_AGENTS_SHIM")
    }
    path = {} if source is None else {"PYTHONPATH": str(source)}
    return {**kept, **path, "OPENAI_AGENTS_SHIM": "strict"}


def main(arguments: list[str] | None = None) -> int:
    """Run the suite both ways, print what pytest said, return 1 if either way failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.suite", description=__doc__)
    parser.add_argument("--reports", type=Path, help="folder for the JUnit files")
    parser.add_argument("--label", default="regression", help="first part of their names")
    parser.add_argument("pytest_arguments", nargs="*", help="passed on to pytest, after --")
    options = parser.parse_args(arguments)

    def run(mode: str) -> SuiteRun:
        junit = options.reports / f"{options.label}-{mode}.xml" if options.reports else None
        return run_suite(
            mode, python=Path(sys.executable), junit=junit, arguments=options.pytest_arguments
        )

    with ThreadPoolExecutor() as pool:
        runs = list(pool.map(run, ("bare", "shimmed")))
    for finished in runs:
        print(f"--- {finished.mode}\n{finished.output.rstrip()}", flush=True)
    return int(any(finished.exit_code for finished in runs))


if __name__ == "__main__":
    sys.exit(main())
