"""What ends a command early: the reader of its output, the keyboard, packages that are missing."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from children import ROOT, command_line, python

SDK = metadata.version("openai-agents")

UNINSTALLED = """
import sys
from importlib import metadata
import shim
def version(name):
    raise metadata.PackageNotFoundError(name)
metadata.version = version
sys.modules["agents"] = None
from shim.__main__ import main
"""


def test_whoever_reads_the_output_may_stop_early() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as output:
        run = subprocess.run(
            [sys.executable, "-m", "shim", "status"],
            cwd=ROOT,
            # Else the output is written, in vain, only when the process ends.
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdout=output,
            stderr=subprocess.PIPE,
            timeout=120,
            check=False,
        )
    assert (run.returncode, run.stderr) == (1, b"")


def test_an_interrupt_from_the_keyboard(tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_text("raise KeyboardInterrupt\n")
    result = command_line("status", path=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


@pytest.mark.parametrize("command", ["status", "demo"])
def test_an_sdk_that_was_uninstalled(command: str) -> None:
    result = python(f"{UNINSTALLED}sys.exit(main([{command!r}]))")
    assert "openai-agents is not installed" in result.error
    assert "pip install 'openai-agents[voice]'" in result.error


def test_an_sdk_that_lacks_a_package(tmp_path: Path) -> None:
    (tmp_path / "openai.py").write_text("raise ModuleNotFoundError(name='openai')\n")
    result = command_line("status", path=tmp_path)
    assert "lacks a package: openai cannot be imported" in result.error
    assert f"pip install 'openai-agents[voice]=={SDK}'" in result.error


def test_another_package_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "agents.py").touch()
    result = command_line("status", path=tmp_path)
    assert f"agents.realtime cannot be imported, although openai-agents {SDK} is" in result.error
    assert "comes first on sys.path" in result.error
