"""The guard: what is pinned is wrapped, and everything else is refused in words."""

from __future__ import annotations

import py_compile
from importlib import metadata
from pathlib import Path

import pytest
from children import REPORT, copy_sdk, python

VERSION = metadata.version("openai-agents")
IMPORTS = "import shim, agents.realtime"


def append_comment(file: Path) -> None:
    file.write_text(file.read_text() + "\n# edited\n")


def test_a_copy_of_the_published_files_is_as_good(tmp_path: Path) -> None:
    copy_sdk(tmp_path)
    child = python(IMPORTS + REPORT, path=tmp_path)
    assert set(child.states.values()) == {"applied"}
    assert child.stderr == ""


def test_an_edited_session_is_refused_for_the_fixes_that_touch_it(tmp_path: Path) -> None:
    append_comment(copy_sdk(tmp_path) / "session.py")
    child = python(IMPORTS + REPORT, path=tmp_path)
    assert child.states == {
        "converter-status": "refused",
        "close-reset": "applied",
        "history-merge": "refused",
    }
    (warning,) = child.warnings
    assert "not applied: converter-status, history-merge" in warning
    assert f"openai-agents {VERSION}" in warning
    assert str(tmp_path / "agents" / "realtime" / "session.py") in warning
    assert f"pip install --force-reinstall --no-deps openai-agents=={VERSION}" in warning


def test_an_edited_model_is_refused_for_the_fixes_that_touch_it(tmp_path: Path) -> None:
    append_comment(copy_sdk(tmp_path) / "openai_realtime.py")
    child = python(IMPORTS + REPORT, path=tmp_path)
    assert child.states == {
        "converter-status": "refused",
        "close-reset": "refused",
        "history-merge": "applied",
    }
    assert len(child.warnings) == 1


def test_two_edited_files_are_two_warnings(tmp_path: Path) -> None:
    folder = copy_sdk(tmp_path)
    append_comment(folder / "session.py")
    append_comment(folder / "openai_realtime.py")
    child = python(IMPORTS + REPORT, path=tmp_path)
    assert set(child.states.values()) == {"refused"}
    assert len(child.warnings) == 2


def test_a_refused_class_is_not_touched(tmp_path: Path) -> None:
    append_comment(copy_sdk(tmp_path) / "session.py")
    child = python(
        IMPORTS + "\nprint({type(each).__name__ for each in "
        "vars(agents.realtime.RealtimeSession).values()} & {'FunctionWrapper'})",
        path=tmp_path,
    )
    assert child.stdout.strip() == "set()", child.stderr


def test_an_unknown_release_is_refused(tmp_path: Path) -> None:
    copy_sdk(tmp_path, version="99.0.0")
    child = python(IMPORTS + REPORT, path=tmp_path)
    assert set(child.states.values()) == {"refused"}
    assert child.report["version"] == "99.0.0"
    (warning,) = child.warnings
    assert "openai-agents 99.0.0 is not in the release table" in warning
    assert "converter-status, close-reset, history-merge" in warning
    assert "0.2.0 to" in warning
    assert "Update openai-agents-realtime-shim" in warning


def test_a_source_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    source = copy_sdk(tmp_path) / "session.py"
    py_compile.compile(str(source), cfile=str(source.with_suffix(".pyc")), doraise=True)
    source.unlink()
    child = python(IMPORTS + REPORT, path=tmp_path)
    assert child.states["close-reset"] == "applied"
    assert child.states["history-merge"] == "refused"
    (warning,) = child.warnings
    assert "the source of agents.realtime.session cannot be read" in warning


def own_package(folder: Path) -> None:
    realtime = folder / "agents" / "realtime"
    realtime.mkdir(parents=True)
    (folder / "agents" / "__init__.py").write_text("")
    (realtime / "__init__.py").write_text("")
    for name in ("session", "openai_realtime"):
        (realtime / f"{name}.py").write_text("class RealtimeSession:\n    on_event = None\n")


@pytest.mark.parametrize(
    "code",
    [
        "import shim, agents.realtime.session",
        "import agents.realtime.session, shim",
        "import shim, agents.realtime.session, agents.realtime.openai_realtime",
    ],
)
def test_an_application_with_a_package_of_that_name(tmp_path: Path, code: str) -> None:
    own_package(tmp_path)
    child = python(
        code + "\nprint(vars(agents.realtime.session.RealtimeSession)['on_event'])" + REPORT,
        path=tmp_path,
    )
    assert child.returncode == 0
    assert child.stdout.startswith("None")
    assert set(child.states.values()) == {"refused"}
    (warning,) = child.warnings
    assert f"the package `agents` at {tmp_path / 'agents'} is not the OpenAI Agents SDK" in warning
    assert "OPENAI_AGENTS_SHIM=off" in warning


def test_a_package_of_that_name_without_the_sdk(tmp_path: Path) -> None:
    own_package(tmp_path)
    child = python(
        """
from importlib import metadata
def version(name):
    raise metadata.PackageNotFoundError(name)
metadata.version = version
import shim, agents.realtime.session
"""
        + REPORT,
        path=tmp_path,
    )
    assert child.report["version"] is None
    (warning,) = child.warnings
    assert "openai-agents is not installed" in warning


def test_strict_makes_a_refusal_an_error(tmp_path: Path) -> None:
    append_comment(copy_sdk(tmp_path) / "session.py")
    child = python(
        """
import shim
try:
    import agents.realtime
except shim.ShimError as error:
    print(error)
""",
        path=tmp_path,
        environment={"OPENAI_AGENTS_SHIM": "strict"},
    )
    assert "not applied: converter-status, history-merge" in child.stdout, child.stderr
    assert child.warnings == []


def test_strict_refuses_every_time(tmp_path: Path) -> None:
    append_comment(copy_sdk(tmp_path) / "session.py")
    child = python(
        """
import shim
for _ in range(2):
    try:
        import agents.realtime
    except shim.ShimError:
        print("refused")
"""
        + REPORT,
        path=tmp_path,
        environment={"OPENAI_AGENTS_SHIM": "strict"},
    )
    assert child.stdout.split()[:2] == ["refused", "refused"], child.stderr
    close_reset = child.report["fixes"]["close-reset"]
    assert close_reset["reason"] == "agents.realtime has not been imported yet"


def test_strict_after_a_variable_was_put_right() -> None:
    child = python(
        """
import os
try:
    import shim
except Exception as error:
    print(type(error).__name__)
del os.environ["OPENAI_AGENTS_SHIM_SKIP"]
import shim, agents.realtime
"""
        + REPORT,
        environment={"OPENAI_AGENTS_SHIM": "strict", "OPENAI_AGENTS_SHIM_SKIP": "no-such-fix"},
    )
    assert child.stdout.startswith("ShimError"), child.stderr
    assert set(child.states.values()) == {"applied"}


def test_strict_is_silent_where_nothing_is_refused() -> None:
    child = python(IMPORTS + REPORT, environment={"OPENAI_AGENTS_SHIM": "strict"})
    assert set(child.states.values()) == {"applied"}


def test_warnings_as_errors_do_not_break_an_import(tmp_path: Path) -> None:
    append_comment(copy_sdk(tmp_path) / "session.py")
    child = python(IMPORTS + REPORT, "-W", "error::UserWarning", path=tmp_path)
    assert child.returncode == 0
    assert child.states["history-merge"] == "refused"
    assert "not applied: converter-status, history-merge" in child.stderr


def test_a_defect_of_the_shim_does_not_break_an_import() -> None:
    child = python(
        """
import shim.guard
def broken(*args, **kwargs):
    raise ZeroDivisionError("oops")
shim.guard.release_table = broken
import agents.realtime
"""
        + REPORT
    )
    assert child.returncode == 0
    assert set(child.states.values()) == {"refused"}
    (warning,) = child.warnings
    assert "Please report it" in warning


def test_a_fix_that_the_release_does_not_need(tmp_path: Path) -> None:
    child = python(
        """
import dataclasses, shim.guard
table = shim.guard.release_table()
def without_one():
    return {
        version: dataclasses.replace(release, fixes=release.fixes - {"close-reset"})
        for version, release in table.items()
    }
shim.guard.release_table = without_one
import agents.realtime
"""
        + REPORT
    )
    assert child.states == {
        "converter-status": "applied",
        "close-reset": "not-needed",
        "history-merge": "applied",
    }
    assert child.stderr == ""
