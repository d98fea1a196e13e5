"""The shim without a change to the application's code, by what others offer for that."""

from __future__ import annotations

import importlib.util
import json
import sys
from importlib import metadata
from pathlib import Path

import pytest
from children import run
from test_run import APPLIED, STATES


@pytest.mark.skipif(importlib.util.find_spec("autowrapt") is None, reason="needs autowrapt")
def test_autowrapt(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(STATES)
    command = [sys.executable, "app.py"]
    assert json.loads(run(command, folder=tmp_path).stdout) == {}
    child = run(command, folder=tmp_path, environment={"AUTOWRAPT_BOOTSTRAP": "shim"})
    assert json.loads(child.stdout) == APPLIED
    assert child.stderr == ""


def test_wrapt_finds_the_entry_point() -> None:
    """What autowrapt does as Python starts; older wrapt does it with setuptools alone."""
    if metadata.version("wrapt").startswith("1."):
        pytest.importorskip("pkg_resources")
    (entry_point,) = metadata.entry_points(group="shim")
    assert entry_point.name == "agents.realtime"
    code = f"import wrapt; wrapt.discover_post_import_hooks('shim'); {STATES.strip()}"
    code = code.replace("import json, os, sys\n", "import json, os, sys; print()\n")
    child = run([sys.executable, "-c", code])
    assert json.loads(child.stdout) == APPLIED
    assert child.stderr == ""


def test_the_entry_point_may_be_loaded_after_the_sdk() -> None:
    code = f"import sys, types, agents.realtime; import shim.hooks; {STATES.strip()}"
    code = code.replace("\nimport agents", "\nshim.hooks.on_import(agents.realtime)\nimport agents")
    assert json.loads(run([sys.executable, "-c", code]).stdout) == APPLIED


@pytest.mark.parametrize("options", [[], ["-n", "1"]], ids=["alone", "with xdist"])
def test_a_plugin_of_pytest(tmp_path: Path, options: list[str]) -> None:
    if options:
        pytest.importorskip("xdist")
    test = "def test_it():\n    assert {fix.state for fix in fixes.values()} == {'applied'}\n"
    (tmp_path / "test_app.py").write_text(f"{STATES}\n{test}")
    command = [sys.executable, "-m", "pytest", "-q", *options, "test_app.py"]
    assert run(command, folder=tmp_path).returncode == 1
    child = run([*command, "-p", "shim"], folder=tmp_path)
    assert child.returncode == 0, child.stdout
