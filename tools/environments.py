"""Environments that hold a release with the dependencies of its day, for tools that run many."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from tools.releases import ROOT, TEST_REQUIREMENTS, Release, UserError, sdk_arguments


def install(
    name: str,
    release: Release,
    *,
    folder: Path,
    python: str,
    requirements: Sequence[str] = (),
) -> Path:
    """Make an environment with the release of its day and the project; return its interpreter.

    ``requirements`` are resolved together with the release, and so as of its day. Raises UserError
    with the installer's words if that fails.
    """
    _uv("venv", "--python", python, str(folder))
    interpreter = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    target = ("pip", "install", "--python", str(interpreter))
    _uv(*target, *sdk_arguments(name, release), *requirements)
    _uv(*target, *TEST_REQUIREMENTS)
    _uv(*target, "--no-deps", "--editable", str(ROOT))
    return interpreter


def _uv(*arguments: str) -> None:
    """Run uv; raises UserError with its words if it fails."""
    command = [sys.executable, "-m", "uv", "--quiet", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise UserError(f"uv {arguments[0]} failed:\n{run.stderr.strip()}")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options ``--python`` and ``--jobs`` to the command line of such a tool."""
    parser.add_argument("--python", default="3.11", help="Python version (default: %(default)s)")
    parser.add_argument(
        "--jobs",
        type=one_or_more("jobs"),
        default=os.cpu_count() or 1,
        help="releases at once (default: CPUs)",
    )


def one_or_more(what: str) -> Callable[[str], int]:
    """Return the type of an argument that is a number of something, such as ``jobs``."""

    def parse(text: str) -> int:
        with suppress(ValueError):
            number = int(text)
            if number >= 1:
                return number
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of {what}, which is 1 or more")

    return parse
