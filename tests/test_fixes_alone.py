"""Each fix holds what it promises without the other two, on the newest release."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from children import ROOT

FIXES = ("converter-status", "close-reset", "history-merge")


@pytest.mark.parametrize("fix", FIXES)
def test_a_fix_holds_without_the_others(fix: str) -> None:
    suite = f"tests/regression/test_{fix.replace('-', '_')}.py"
    others = ",".join(each for each in FIXES if each != fix)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", suite, "-q", "-p", "no:cacheprovider", "-p", "shim"],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "OPENAI_AGENTS_SHIM": "strict",
            "OPENAI_AGENTS_SHIM_SKIP": others,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stdout
    assert " passed" in run.stdout
