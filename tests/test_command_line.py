"""``python -m shim status`` and what every command says when it cannot be carried out."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from importlib import metadata
from pathlib import Path

import pytest
from children import command_line

SDK = metadata.version("openai-agents")
FIXES = ("converter-status", "close-reset", "history-merge")
PYTHON_3_9 = sorted(Path.home().glob(".pyenv/versions/3.9.*/bin/python"))


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


def test_status_is_a_table() -> None:
    result = command_line("status", environment={"OPENAI_AGENTS_SHIM_SKIP": "close-reset"})
    head, *rows = result.stdout.splitlines()
    assert head == f"openai-agents {SDK}"
    assert [row.split()[:2] for row in rows] == [
        ["converter-status", "applied"],
        ["close-reset", "skipped"],
        ["history-merge", "applied"],
    ]
    assert "OPENAI_AGENTS_SHIM_SKIP" in rows[1]
    assert (result.returncode, result.stderr) == (0, "")


def test_status_as_json() -> None:
    result = command_line("status", "--json", environment={"OPENAI_AGENTS_SHIM": "strict"})
    status = json.loads(result.stdout)
    assert status["version"] == SDK
    assert list(status["fixes"]) == list(FIXES)
    for fix in status["fixes"].values():
        assert set(fix) == {"state", "reason"}
        assert fix["state"] in ("applied", "not-needed")
    assert (result.returncode, result.stderr) == (0, "")


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
    for word in ("usage: python -m shim", "status", "demo"):
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
