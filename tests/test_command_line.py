"""``python -m shim status`` and what every command says when it cannot be carried out."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SDK = metadata.version("openai-agents")
FIXES = ("converter-status", "close-reset", "history-merge")
PYTHON_3_9 = sorted(Path.home().glob(".pyenv/versions/3.9.*/bin/python"))


def run(
    *arguments: str,
    python: tuple[str, ...] = (sys.executable,),
    path: tuple[Path, ...] = (),
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run ``python -m shim`` with ``path`` in front of what can be imported."""
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("OPENAI_AGENTS_SHIM", "PYTHON"))
    }
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (*path, ROOT)))
    return subprocess.run(
        [*python, "-m", "shim", *arguments],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


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
    result = run("status", OPENAI_AGENTS_SHIM_SKIP="close-reset")
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
    result = run("status", "--json", OPENAI_AGENTS_SHIM="strict")
    status = json.loads(result.stdout)
    assert status["version"] == SDK
    assert list(status["fixes"]) == list(FIXES)
    for fix in status["fixes"].values():
        assert set(fix) == {"state", "reason"}
        assert fix["state"] in ("applied", "not-needed")
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("mode", ["on", "strict"])
def test_a_refusal_is_shown_once(own_package: Path, mode: str) -> None:
    result = run("status", path=(own_package,), OPENAI_AGENTS_SHIM=mode)
    assert result.stdout.count(" refused ") == len(FIXES)
    assert "not the OpenAI Agents SDK" in result.stdout
    assert (result.returncode, result.stderr) == (1, "")


def test_a_refusal_as_json(own_package: Path) -> None:
    result = run("status", "--json", path=(own_package,))
    assert {fix["state"] for fix in json.loads(result.stdout)["fixes"].values()} == {"refused"}
    assert (result.returncode, result.stderr) == (1, "")


def test_status_of_a_shim_that_is_off(own_package: Path) -> None:
    result = run("status", path=(own_package,), OPENAI_AGENTS_SHIM="off")
    assert result.stdout.count(" skipped ") == len(FIXES)
    assert (result.returncode, result.stderr) == (0, "")


def assert_one_message(result: subprocess.CompletedProcess[str], *words: str) -> None:
    assert result.returncode == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    for word in words:
        assert word in line


@pytest.mark.parametrize("command", ["status", "demo"])
def test_without_the_sdk(tmp_path: Path, command: str) -> None:
    spec = importlib.util.find_spec("wrapt")
    assert spec is not None
    assert spec.origin is not None
    shutil.copytree(Path(spec.origin).parent, tmp_path / "wrapt")
    # -S: nothing that is installed can be imported.
    result = run(command, python=(sys.executable, "-S"), path=(tmp_path,))
    assert_one_message(
        result, "openai-agents is not installed", "pip install 'openai-agents[voice]'"
    )


@pytest.mark.parametrize("command", ["status", "demo"])
def test_without_the_voice_extra(tmp_path: Path, command: str) -> None:
    (tmp_path / "websockets.py").write_text("raise ModuleNotFoundError(name=__name__)\n")
    result = run(command, path=(tmp_path,))
    assert_one_message(result, "voice extra", f"pip install 'openai-agents[voice]=={SDK}'")


def test_an_sdk_that_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_text("raise RuntimeError('broken\\nhere')\n")
    result = run("status", path=(tmp_path,))
    assert_one_message(result, "agents.realtime cannot be imported (RuntimeError: broken)")


@pytest.mark.skipif(not PYTHON_3_9, reason="needs Python 3.9, looked for in ~/.pyenv")
@pytest.mark.parametrize("command", ["status", "demo"])
def test_a_python_that_is_too_old(command: str) -> None:
    # The first thing on stderr is the warning of `import shim`, as in any application.
    result = run(command, python=(str(PYTHON_3_9[-1]),))
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].startswith(
        "error: openai-agents-realtime-shim needs Python 3.10 or later, and this is 3.9."
    )
    assert "Traceback" not in result.stderr


def test_without_a_command_there_is_help() -> None:
    result = run()
    assert result.returncode == 0
    for word in ("usage: python -m shim", "status", "demo"):
        assert word in result.stdout


def test_version() -> None:
    result = run("--version")
    version = metadata.version("openai-agents-realtime-shim")
    assert result.stdout == f"openai-agents-realtime-shim {version}\n"
    assert result.returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["demo", "--port", "65536"],
        ["demo", "--port", "any"],
        ["demo", "--timeout", "0"],
        ["demo", "--scene", "nonsense"],
    ],
)
def test_wrong_arguments(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert "usage:" in result.stderr
    assert "Traceback" not in result.stderr
