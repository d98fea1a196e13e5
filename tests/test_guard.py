"""The guard: what is pinned is wrapped, and everything else is refused in words."""

from __future__ import annotations

import hashlib
import py_compile
from importlib import metadata
from pathlib import Path

import pytest
from children import REPORT, copy_sdk, python

from shim.guard import release_table

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
    assert f"apply the patches for openai-agents {VERSION}" in warning


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
        version: dataclasses.replace(
            release, fixes={k: v for k, v in release.fixes.items() if k != "close-reset"}
        )
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


NAMES = ("openai_realtime", "session", "_default_tracker")
"""The files that the patches of the tests change, the third of which is not wrapped."""


def with_patches(folder: Path, code: str, *, patched: set[str]) -> str:
    """Return the code, run with a table that has other files for a patched tree.

    Of these files, the ``patched`` ones are in the folder; the others stay as published.
    """
    hashes = {}
    for name in NAMES:
        file = folder / f"{name}.py"
        published = file.read_bytes()
        append_comment(file)
        hashes[f"agents.realtime.{name}"] = hashlib.sha256(file.read_bytes()).hexdigest()
        if name not in patched:
            file.write_bytes(published)
    return f"""
import dataclasses, shim.guard
table = shim.guard.release_table()
def with_patches():
    release = dataclasses.replace(table[{VERSION!r}], patched={hashes!r})
    return {{**table, {VERSION!r}: release}}
shim.guard.release_table = with_patches
{code}"""


def test_a_patched_tree_needs_nothing(tmp_path: Path) -> None:
    folder = copy_sdk(tmp_path)
    code = with_patches(folder, "import agents.realtime", patched=set(NAMES))
    child = python(
        code + "\nprint({type(each).__name__ for each in "
        "vars(agents.realtime.RealtimeSession).values()} & {'FunctionWrapper'})" + REPORT,
        path=tmp_path,
        environment={"OPENAI_AGENTS_SHIM": "strict"},
    )
    assert set(child.states.values()) == {"not-needed"}
    reasons = {fix["reason"] for fix in child.report["fixes"].values()}
    assert reasons == {f"openai-agents {VERSION} has this project's patches"}
    assert child.stdout.startswith("set()")
    assert child.stderr == ""


@pytest.mark.parametrize("call", ["shim.revert()", "shim.apply()", "shim.revert(); shim.apply()"])
def test_a_patched_tree_goes_on_needing_nothing(tmp_path: Path, call: str) -> None:
    folder = copy_sdk(tmp_path)
    code = with_patches(folder, f"import agents.realtime\n{call}", patched=set(NAMES))
    child = python(code + REPORT, path=tmp_path)
    assert set(child.states.values()) == {"not-needed"}
    assert child.stderr == ""


def test_the_command_line_on_a_patched_tree(tmp_path: Path) -> None:
    folder = copy_sdk(tmp_path)
    code = with_patches(
        folder,
        "import sys\nsys.modules['rich'] = None\n"
        "import shim.__main__ as command\nprint(command.main(['status']))",
        patched=set(NAMES),
    )
    child = python(code, path=tmp_path)
    _, sdk, _, *rows, last, code = child.stdout.splitlines()
    assert sdk == f"openai-agents {VERSION} in {tmp_path / 'agents'}"
    # A long reason takes more than one line.
    firsts = [row.split() for row in rows if not row.startswith(" ")]
    assert [words[:2] for words in firsts] == [
        ["converter-status", "not-needed"],
        ["close-reset", "not-needed"],
        ["history-merge", "not-needed"],
    ]
    assert " ".join(" ".join(rows).split()).count("has this project's patches") == 3
    assert "Nothing is needed here any more" in last
    assert code == "0"
    assert child.stderr == ""


@pytest.mark.parametrize(
    ("unpatched", "states"),
    [
        ({"openai_realtime"}, ("refused", "refused", "not-needed")),
        ({"session"}, ("refused", "not-needed", "refused")),
        ({"openai_realtime", "_default_tracker"}, ("refused", "refused", "refused")),
        ({"_default_tracker"}, ("refused", "refused", "refused")),
        ({"openai_realtime", "session"}, ("refused", "refused", "refused")),
    ],
)
def test_a_tree_with_some_files_patched_is_refused(
    tmp_path: Path, unpatched: set[str], states: tuple[str, ...]
) -> None:
    folder = copy_sdk(tmp_path)
    code = with_patches(folder, "import agents.realtime", patched=set(NAMES) - unpatched)
    # A vendored copy beside an installed release is the SDK all the same.
    elsewhere = "import shim.guard\nshim.guard._is_installed_at = lambda folder: False\n"
    child = python(elsewhere + code + REPORT, path=tmp_path)
    assert tuple(child.states.values()) == states
    text = "".join(child.warnings)
    assert f"has this project's patches for openai-agents {VERSION}, and {folder}" in text
    assert all(f"{folder / name}.py does not." in text for name in unpatched)
    assert f"or none: pip install --force-reinstall --no-deps openai-agents=={VERSION}." in text


def test_a_patched_tree_without_one_of_its_files(tmp_path: Path) -> None:
    folder = copy_sdk(tmp_path)
    code = with_patches(folder, "import agents.realtime.session", patched=set(NAMES))
    file = folder / "session.py"
    py_compile.compile(str(file), cfile=str(file.with_suffix(".pyc")), doraise=True)
    file.unlink()
    child = python(code + REPORT, path=tmp_path)
    assert tuple(child.states.values()) == ("refused", "not-needed", "refused")
    assert "the source of agents.realtime.session cannot be read" in "".join(child.warnings)


def test_an_edited_file_beside_a_patched_one_is_refused(tmp_path: Path) -> None:
    folder = copy_sdk(tmp_path)
    code = with_patches(folder, "import agents.realtime", patched=set(NAMES))
    append_comment(folder / "session.py")
    child = python(code + REPORT, path=tmp_path)
    assert tuple(child.states.values()) == ("refused", "not-needed", "refused")
    (warning,) = child.warnings
    assert f"session.py is not the file that openai-agents {VERSION} was published with" in warning


def test_some_of_the_patches_are_an_edit(tmp_path: Path) -> None:
    folder = copy_sdk(tmp_path)
    code = with_patches(folder, "import agents.realtime", patched=set())
    for name in ("openai_realtime", "session"):
        (folder / f"{name}.py").write_text((folder / f"{name}.py").read_text() + "# one of three\n")
    # Where the SDK is installed, and not in a copy: that would be some other package.
    child = python(
        "import shim.guard\nshim.guard._is_installed_at = lambda folder: True\n" + code + REPORT,
        path=tmp_path,
    )
    assert set(child.states.values()) == {"refused"}
    assert len(child.warnings) == 2
    assert all("was published with" in warning for warning in child.warnings)


def test_the_table_has_the_hashes_of_both_modules_or_none() -> None:
    for release in release_table().values():
        assert not release.patched or set(release.patched) >= set(release.modules)
        assert not set(release.patched.values()) & set(release.modules.values())
