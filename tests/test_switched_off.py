"""Fixes that are taken off beneath the wrappers of somebody else do nothing at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


@pytest.mark.parametrize("fix", ["converter_status", "close_reset", "history_merge"])
def test_a_release_has_its_defects_again(fix: str) -> None:
    command = [sys.executable, "-m", "pytest", f"tests/regression/test_{fix}.py", "--bare"]
    command += ["-q", "-p", "no:cacheprovider", "-p", "switched_off"]
    path = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    environment = {**os.environ, "PYTHONPATH": path, "OPENAI_AGENTS_SHIM": "strict"}
    run = subprocess.run(
        command, cwd=TESTS.parent, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout
    assert " xfailed" in run.stdout
