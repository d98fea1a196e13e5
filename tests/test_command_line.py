"""``python -m shim status``, ``releases``, and what a command says that cannot be carried out."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import sys
from importlib import metadata
from pathlib import Path

import agents
import pytest
from children import ROOT, command_line, run

from shim.guard import release_table

SDK = metadata.version("openai-agents")
FIXES = ("converter-status", "close-reset", "history-merge")
PYTHON_3_9 = sorted(Path.home().glob(".pyenv/versions/3.9.*/bin/python"))


@pytest.fixture
def no_rich(tmp_path: Path) -> dict[str, str]:
    """Environment variables of a child process in which rich cannot be imported."""
    (tmp_path / "without" / "rich").mkdir(parents=True)
    (tmp_path / "without" / "rich" / "__init__.py").write_text("raise ImportError\n")
    return {"PYTHONPATH": os.pathsep.join((str(tmp_path / "without"), str(ROOT)))}


@pytest.fixture
def own_package(tmp_path: Path) -> Path:
    """A folder with a package of an application that is called ``agents`` as well."""
    package = tmp_path / "agents" / "realtime"
    package.mkdir(parents=True)
    (tmp_path / "agents" / "__init__.py").touch()
    (package / "__init__.py").write_text("from . import openai_realtime, session\n")
    (package / "openai_realtime.py").touch()
    (package / "session.py").touch()
    return tmp_path


def test_status_is_a_table(no_rich: dict[str, str]) -> None:
    skipping = {**no_rich, "OPENAI_AGENTS_SHIM_SKIP": "close-reset"}
    result = command_line("status", environment=skipping)
    shim, sdk, titles, *rows = result.stdout.splitlines()
    assert shim == f"openai-agents-realtime-shim {metadata.version('openai-agents-realtime-shim')}"
    assert sdk == f"openai-agents {SDK} in {Path(agents.__file__).parent}"
    assert titles.split() == ["fix", "state", "upstream", "fixed", "there", "reason"]
    there, here = f"not up to {list(release_table())[-1]}", f"openai-agents {SDK}"
    assert [re.split(" {2,}", row) for row in rows] == [
        ["converter-status", "applied", "#4597, #1434", there, here],
        ["close-reset", "skipped", "#5068", there, "named in OPENAI_AGENTS_SHIM_SKIP"],
        ["history-merge", "applied", "#4050", there, here],
    ]
    assert (result.returncode, result.stderr) == (0, "")


def test_rich_draws_the_table_where_it_is_installed() -> None:
    pytest.importorskip("rich")
    result = command_line("status")
    rows = [line.split("│")[1:3] for line in result.stdout.splitlines() if "│" in line]
    assert [[cell.strip() for cell in row] for row in rows] == [[name, "applied"] for name in FIXES]
    assert (result.returncode, result.stderr) == (0, "")


def test_status_as_json() -> None:
    result = command_line("status", "--json", environment={"OPENAI_AGENTS_SHIM": "strict"})
    status = json.loads(result.stdout)
    assert {**status, "fixes": None} == {
        "schema": 1,
        "shim": metadata.version("openai-agents-realtime-shim"),
        "sdk": {
            "name": "openai-agents",
            "version": SDK,
            "path": str(Path(agents.__file__).parent),
        },
        "fixes": None,
        "removable": False,
    }
    assert list(status["fixes"]) == list(FIXES)
    assert status["fixes"]["converter-status"] == {
        "state": "applied",
        "reason": f"openai-agents {SDK}",
        "issues": [
            "https://github.com/openai/openai-agents-python/issues/4597",
            "https://github.com/openai/openai-agents-python/issues/1434",
        ],
        "fixed_in": None,
    }
    assert (result.returncode, result.stderr) == (0, "")


# In place of a release that upstream has fixed: there is none yet.
ALL_FIXED = """
import dataclasses, sys
from shim import command_line, guard, reports
table = guard.release_table()
fixed = {name: dataclasses.replace(release, fixes={}) for name, release in table.items()}
guard.release_table = reports.release_table = lambda: fixed
sys.exit(command_line.main(sys.argv[1:]))
"""


def test_a_release_that_needs_nothing(no_rich: dict[str, str]) -> None:
    result = run([sys.executable, "-c", ALL_FIXED, "status"], environment=no_rich)
    *_, first, _, _, last = result.stdout.splitlines()
    assert re.split(" {2,}", first)[1:4] == ["not-needed", "#4597, #1434", "0.2.0"]
    assert last == (
        "Nothing is needed here any more: remove `import shim` and uninstall the package."
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_a_release_that_needs_nothing_as_json() -> None:
    result = run([sys.executable, "-c", ALL_FIXED, "status", "--json"])
    status = json.loads(result.stdout)
    assert status["removable"] is True
    assert {fix["fixed_in"] for fix in status["fixes"].values()} == {"0.2.0"}
    assert result.returncode == 0


def test_the_releases(no_rich: dict[str, str]) -> None:
    result = command_line("releases", environment=no_rich)
    titles, *rows, note = result.stdout.splitlines()
    assert titles.split() == ["release", "uploaded", *FIXES]
    assert [row.split()[0] for row in rows] == list(release_table())
    assert "rules of docs/contract.md" in note
    assert (result.returncode, result.stderr) == (0, "")


def test_one_release(no_rich: dict[str, str]) -> None:
    result = command_line("releases", "0.22.3", environment=no_rich)
    _, row, _ = result.stdout.splitlines()
    release, uploaded, *rules = re.split(" {2,}", row)
    assert (release, uploaded) == ("0.22.3", "2026-09-17")
    assert rules == ["1.2-1.3", "2.1-2.5", "3.1-3.8 3.11-3.12"]


def test_a_release_that_is_not_pinned() -> None:
    result = command_line("releases", "0.1.0")
    assert "0.1.0 is not in the release table, which goes from 0.2.0 to" in result.error


@pytest.mark.parametrize("mode", ["on", "strict"])
def test_a_refusal_is_shown_once(own_package: Path, mode: str) -> None:
    result = command_line("status", path=own_package, environment={"OPENAI_AGENTS_SHIM": mode})
    assert result.stdout.count(" refused ") == len(FIXES)
    assert "not the OpenAI Agents SDK" in result.stdout
    assert (result.returncode, result.stderr) == (1, "")


def test_a_refusal_as_json(own_package: Path) -> None:
    result = command_line("status", "--json", path=own_package)
    assert {fix["state"] for fix in json.loads(result.stdout)["fixes"].values()} == {"refused"}
    assert (result.returncode, result.stderr) == (1, "")


def test_status_of_a_shim_that_is_off(own_package: Path) -> None:
    result = command_line("status", path=own_package, environment={"OPENAI_AGENTS_SHIM": "off"})
    assert result.stdout.count(" skipped ") == len(FIXES)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("command", ["status", "demo"])
def test_without_the_sdk(tmp_path: Path, command: str) -> None:
    spec = importlib.util.find_spec("wrapt")
    assert spec is not None
    assert spec.origin is not None
    shutil.copytree(Path(spec.origin).parent, tmp_path / "wrapt")
    # -S: nothing that is installed can be imported.
    result = command_line(command, interpreter=(sys.executable, "-S"), path=tmp_path)
    assert "openai-agents is not installed" in result.error
    assert "pip install 'openai-agents[voice]'" in result.error


@pytest.mark.parametrize("command", ["status", "demo"])
def test_without_the_voice_extra(tmp_path: Path, command: str) -> None:
    (tmp_path / "websockets.py").write_text("raise ModuleNotFoundError(name=__name__)\n")
    result = command_line(command, path=tmp_path)
    assert "voice extra" in result.error
    assert f"pip install 'openai-agents[voice]=={SDK}'" in result.error


def test_an_sdk_that_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_text("raise RuntimeError('broken\\nhere')\n")
    result = command_line("status", path=tmp_path)
    assert "agents.realtime cannot be imported (RuntimeError: broken)" in result.error


@pytest.mark.skipif(not PYTHON_3_9, reason="needs Python 3.9, looked for in ~/.pyenv")
@pytest.mark.parametrize("command", ["status", "demo"])
def test_a_python_that_is_too_old(command: str) -> None:
    # The first thing on stderr is the warning of `import shim`, as in any application.
    result = command_line(command, interpreter=(str(PYTHON_3_9[-1]),))
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].startswith(
        "error: openai-agents-realtime-shim needs Python 3.10 or later, and this is 3.9."
    )
    assert "Traceback" not in result.stderr


def test_without_a_command_there_is_help() -> None:
    result = command_line()
    assert result.returncode == 0
    for word in ("usage: python -m shim", "status", "releases", "run", "demo"):
        assert word in result.stdout


def test_version() -> None:
    result = command_line("--version")
    version = metadata.version("openai-agents-realtime-shim")
    assert result.stdout == f"openai-agents-realtime-shim {version}\n"
    assert result.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["demo", "--port", "65536"], "'65536' is not a port"),
        (["demo", "--port", "any"], "'any' is not a port"),
        (["demo", "--timeout", "0"], "'0' is not a number of seconds"),
        (["demo", "--timeout", "long"], "'long' is not a number of seconds"),
        (["demo", "--scene", "nonsense"], "invalid choice: 'nonsense'"),
    ],
)
def test_wrong_arguments(arguments: list[str], words: str) -> None:
    result = command_line(*arguments)
    assert result.returncode == 2
    assert "usage:" in result.stderr
    assert words in result.stderr
    assert "Traceback" not in result.stderr
