"""The patch tools: checking out, exporting, checking, and what they say when they cannot."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import tarfile
from pathlib import Path

import pytest
from patching import MODULE, NEW, OLD, SAME, SESSION, Project, change, commit, entry

from tools import upstream
from tools.checkout import make_base
from tools.export import contents
from tools.git import Git
from tools.patch_check import complaints, hunks
from tools.release_table import describe
from tools.releases import FIXES, UserError, with_patched
from tools.series import PATCH_NAMES, ends, load_series

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two series, made once."""
    project = Project(tmp_path_factory.mktemp("made"))
    project.publish()
    project.make_series(OLD, OLD, SAME)
    project.make_series(NEW, NEW)
    assert project.run("check", "--record") == 0
    return project.folder


@pytest.fixture
def project(made: Path, tmp_path: Path) -> Project:
    """A project with two series and the hashes of the patched modules."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return Project(tmp_path)


@pytest.fixture
def empty(tmp_path: Path) -> Project:
    """A project without patches."""
    project = Project(tmp_path)
    project.publish()
    return project


@pytest.fixture
def tree(project: Project, capsys: Captured) -> Path:
    """A checkout of the second release of the first series."""
    folder = project.folder / "tree"
    assert project.run("checkout", SAME, folder) == 0
    capsys.readouterr()
    return folder


def errors(captured: Captured) -> str:
    """Return what a command that could not be carried out has printed."""
    out, error = captured.readouterr()
    assert out == ""
    assert error.startswith("error: ")
    return error


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def snapshot(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def head(folder: Path) -> str:
    return Git(folder).run("rev-parse", "HEAD").strip()


# Checking out


def test_a_checkout_is_the_release_with_one_commit_per_fix(project: Project) -> None:
    tree = project.folder / "tree"
    assert project.run("checkout", SAME, tree) == 0
    git = Git(tree)
    assert git.run("log", "--reverse", "--format=%s").splitlines() == [
        f"openai-agents {SAME}, as published",
        "fix(realtime): change line_5",
        "fix(realtime): change line_20",
        "fix(realtime): change line_35",
    ]
    assert git.run("status", "--porcelain") == ""
    base = git.run("ls-tree", "-r", "--name-only", "HEAD~3").splitlines()
    assert sorted(base) == sorted(snapshot(project.published / SAME))
    # Line ends are as published, whatever the release's .gitattributes says.
    assert git.run("show", "HEAD~3:README.md") == f"The SDK {SAME}\r\n"


def test_a_checkout_is_the_same_for_everybody(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert project.run("checkout", OLD, project.folder / "one") == 0
    hostile(monkeypatch, project.folder)
    assert project.run("checkout", OLD, project.folder / "two") == 0
    assert head(project.folder / "one") == head(project.folder / "two")


def hostile(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Configure git for the user in ways that would change what it writes."""
    home = folder / "home"
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/attributes").write_text("*.py diff=python eol=crlf\n")
    (home / ".config/git/ignore").write_text("session.py\nnew.py\n")
    (home / "hooks").mkdir()
    hook = home / "hooks/pre-commit"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    for name in ("applypatch-msg", "commit-msg", "pre-applypatch"):
        shutil.copy(hook, home / "hooks" / name)
    (home / ".gitconfig").write_text(
        f"[core]\nautocrlf = true\nhooksPath = {home / 'hooks'}\n"
        "[diff]\nnoprefix = true\ncontext = 9\nalgorithm = patience\n"
        "[format]\nsignature = me\nnumbered = true\nsignOff = true\n"
        "[commit]\ngpgSign = true\n[user]\nname = Me\nemail = me@example.com\n"
        "[i18n]\nlogOutputEncoding = ISO-8859-1\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name, value in {
        "AUTHOR_NAME": "Me",
        "COMMITTER_DATE": "2001-01-01T00:00:00",
        "DIR": str(folder / "elsewhere"),
        "WORK_TREE": str(folder),
        "INDEX_FILE": str(folder / "index"),
        "CONFIG_COUNT": "0",
        "EXTERNAL_DIFF": "false",
    }.items():
        monkeypatch.setenv(f"GIT_{name}", value)


def test_the_configuration_of_who_works_in_a_checkout_does_not_count(
    project: Project, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile(monkeypatch, project.folder)
    environment = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"}
    (tree / "new.py").write_bytes(b"x = 1\r\n")
    for command in (["add", "."], ["commit", "--quiet", "--message", "x"]):
        subprocess.run(["git", *command], cwd=tree, env=environment, check=True)
    git = Git(tree)
    author = git.run("log", "-1", "--format=%an <%ae>").strip()
    assert author.startswith("openai-agents-realtime-shim contributors <")
    assert git.run("show", "HEAD:new.py") == "x = 1\r\n"


def test_a_checkout_without_patches(empty: Project) -> None:
    tree = empty.folder / "tree"
    assert empty.run("checkout", "--bare", OLD, tree) == 0
    assert Git(tree).run("rev-list", "--count", "HEAD").strip() == "1"


@pytest.mark.parametrize("there", ["file", "folder"])
def test_a_checkout_overwrites_nothing(project: Project, capsys: Captured, there: str) -> None:
    tree = project.folder / "tree"
    (tree if there == "file" else tree / "x").parent.mkdir(exist_ok=True)
    (tree if there == "file" else tree / "x").write_text("mine")
    assert project.run("checkout", OLD, tree) == 1
    assert f"{tree} is there already" in errors(capsys)
    assert (tree if there == "file" else tree / "x").read_text() == "mine"


def test_a_checkout_into_an_empty_folder(project: Project) -> None:
    (project.folder / "tree").mkdir()
    assert project.run("checkout", OLD, project.folder / "tree") == 0


@pytest.mark.parametrize("command", ["checkout", "export"])
def test_a_release_that_the_table_does_not_have(
    project: Project, capsys: Captured, command: str
) -> None:
    assert project.run(command, "9.0.0", project.folder / "tree") == 1
    assert "nox -s pin -- 9.0.0" in errors(capsys)


def test_a_checkout_of_a_release_in_no_series(empty: Project, capsys: Captured) -> None:
    assert empty.run("checkout", OLD, empty.folder / "tree") == 1
    error = errors(capsys)
    assert "in no series" in error
    assert "--from SERIES" in error
    assert not (empty.folder / "tree").exists()


def test_a_checkout_whose_patches_do_not_apply_leaves_nothing(
    project: Project, capsys: Captured
) -> None:
    edit(project.patch(OLD, 2), " line_19 = 19", " line_19 = 91")
    there = sorted(project.folder.iterdir())
    assert project.run("checkout", OLD, project.folder / "tree") == 1
    error = errors(capsys)
    assert f"the patches in patches/{OLD} do not apply to {OLD}" in error
    assert "fix(realtime): change line_20" in error
    assert sorted(project.folder.iterdir()) == there


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


# Porting a series to another release


def test_a_port_that_git_can_merge(project: Project, capsys: Captured) -> None:
    (project.patches / "series.toml").write_text(entry(OLD, OLD, SAME))
    tree = project.folder / "tree"
    assert project.run("checkout", "--from", OLD, NEW, tree) == 0
    assert "Read what git merged" in capsys.readouterr().out
    assert Git(tree).run("rev-list", "--count", "HEAD").strip() == "4"
    written = contents(project.patches / NEW)
    shutil.rmtree(project.patches / NEW)
    assert project.run("export", NEW, tree) == 0
    assert f'directory = "{NEW}"\nreleases = ["{NEW}"]' in capsys.readouterr().out
    assert contents(project.patches / NEW) == written


def test_a_port_that_stops_on_a_conflict(project: Project, capsys: Captured) -> None:
    # Only a merge with the file after the first patch can tell that this is the one conflict.
    published = project.published / NEW / SESSION
    edit(published, "line_20 = 20", "line_20 = 21")
    tree = project.folder / "tree"
    assert project.run("checkout", "--from", OLD, NEW, tree) == 1
    words = capsys.readouterr().out
    assert f"{tree} is in the middle of `git am`" in words
    assert "git am --continue" in words
    assert f"nox -s patches-export -- {NEW} {tree}" in words
    assert project.run("export", NEW, tree) == 1
    assert "finish or abort that first" in errors(capsys)

    git = Git(tree)
    assert git.run("diff", "--name-only", "--diff-filter=U").split() == [SESSION]
    text = (tree / SESSION).read_text()
    assert text.count("<<<<<<<") == 1
    before, _, rest = text.partition("<<<<<<<")
    (tree / SESSION).write_text(
        before + "line_20 = 121\n" + rest.partition(">>>>>>>")[2].partition("\n")[2]
    )
    git.run("add", SESSION)
    git.run("am", "--continue")
    assert project.run("export", NEW, tree) == 0
    assert project.run("check", "--releases", NEW, "--record") == 0


def test_a_port_of_a_series_that_there_is_not(project: Project, capsys: Captured) -> None:
    assert project.run("checkout", "--from", SAME, NEW, project.folder / "tree") == 1
    assert f"there are: {OLD}, {NEW}" in errors(capsys)


# Exporting


def test_an_export_of_what_was_checked_out_changes_nothing(
    project: Project, tree: Path, capsys: Captured
) -> None:
    before = snapshot(project.patches)
    assert project.run("export", SAME, tree) == 0
    assert capsys.readouterr().out == f"patches/{OLD} is what these commits give\n"
    assert snapshot(project.patches) == before


def test_the_patches_of_a_series(project: Project) -> None:
    assert sorted(contents(project.patches / OLD)) == list(PATCH_NAMES)
    text = project.patch(OLD, 1).read_text(encoding="utf-8")
    head, _, diff = text.partition("\ndiff --git ")
    assert head == (
        "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
        "From: openai-agents-realtime-shim contributors\n"
        " <openai-agents-realtime-shim@users.noreply.github.com>\n"
        "Date: Mon, 30 Nov 2026 12:00:00 +0000\n"
        "Subject: [PATCH] fix(realtime): change line_5\n"
        "MIME-Version: 1.0\n"
        "Content-Type: text/plain; charset=UTF-8\n"
        "Content-Transfer-Encoding: 8bit\n"
        "\n"
        "Because, naïvely, it is too small.\n"
    )
    assert diff.startswith(f"a/{MODULE} b/{MODULE}\nindex ")
    git = Git(project.folder)
    blob = git.run("hash-object", "--no-filters", str(project.published / SAME / MODULE)).strip()
    assert f"index {blob}.." in diff
    assert "-line_5 = 5\n+line_5 = 100 + 5\n" in diff


def test_an_export_is_the_same_for_everybody(
    project: Project, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = Git(tree)
    git.run("commit", "--amend", "--message", "fix(realtime): say it in other words")
    assert project.run("export", SAME, tree) == 0
    first = snapshot(project.patches)
    assert "in other words" in project.patch(OLD, 3).read_text()
    # The same commits, by somebody else at another time.
    git.run("reset", "--quiet", "--hard", "HEAD~3")
    for number in (1, 2, 3):
        change(git, number)
    git.run("commit", "--amend", "--message", "fix(realtime): say it in other words\n\n\n")
    shutil.rmtree(project.patches / OLD)
    hostile(monkeypatch, project.folder)
    assert project.run("export", SAME, tree) == 0
    assert snapshot(project.patches) == first


def add_a_file(tree: Path) -> None:
    (tree / "new.py").touch()


def edit_a_file(tree: Path) -> None:
    (tree / MODULE).write_text("")


def drop_a_commit(tree: Path) -> None:
    Git(tree).run("reset", "--quiet", "--hard", "HEAD~1")


def add_a_commit(tree: Path) -> None:
    (tree / MODULE).write_text("")
    commit(Git(tree), "one more")


def touch_another_file(tree: Path) -> None:
    (tree / "README.md").write_text("")
    Git(tree).run("commit", "--all", "--amend", "--no-edit")


def empty_the_last_commit(tree: Path) -> None:
    drop_a_commit(tree)
    Git(tree).run("commit", "--allow-empty", "--message", "nothing")


def amend_the_release(tree: Path) -> None:
    git = Git(tree)
    git.run("reset", "--quiet", "--hard", "HEAD~3")
    (tree / SESSION).write_text("")
    git.run("commit", "--all", "--amend", "--no-edit")
    for number in (1, 2, 3):
        change(git, number)


def merge(tree: Path) -> None:
    git = Git(tree)
    git.run("reset", "--quiet", "--hard", "HEAD~1")
    git.run("checkout", "--quiet", "-b", "side", "HEAD~1")
    change(git, 3)
    git.run("merge", "--quiet", "--no-edit", "main")


def start_a_rebase(tree: Path) -> None:
    git = Git(tree)
    git.run("checkout", "--quiet", "-b", "side", "HEAD~1")
    edit(tree / SESSION, "line_35 = 35", "line_35 = 53")
    commit(git)
    assert git.attempt("rebase", "main").returncode == 1


def forget_git(tree: Path) -> None:
    shutil.rmtree(tree / ".git")
    # The repository around it is not the one that is meant.
    Git.create(tree.parent)


def break_git(tree: Path) -> None:
    forget_git(tree)
    (tree / ".git").mkdir()


def begin_anew(tree: Path) -> None:
    shutil.rmtree(tree / ".git")
    commit(Git.create(tree), "Initial commit")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (add_a_file, "changes that are in no commit:\n?? new.py"),
        (edit_a_file, f"changes that are in no commit:\n M {MODULE}"),
        (drop_a_commit, "has 2 commits on top of the sdist, and a series has exactly 3"),
        (add_a_commit, "has 4 commits on top of the sdist, and a series has exactly 3"),
        (
            touch_another_file,
            "changes files outside src/agents/realtime and tests/realtime: README",
        ),
        (empty_the_last_commit, "the commit for history-merge"),
        (amend_the_release, f"is not the published sdist of {SAME}"),
        (merge, "is not one line"),
        (start_a_rebase, "in the middle of `git rebase`"),
        (forget_git, "is not a repository of its own"),
        (break_git, "not a git repository"),
        (begin_anew, "is not one that nox -s patches-checkout made"),
        (shutil.rmtree, "is not a repository of its own"),
    ],
)
def test_what_cannot_be_exported(
    project: Project, tree: Path, capsys: Captured, damage: object, words: str
) -> None:
    assert callable(damage)
    damage(tree)
    before = snapshot(project.patches)
    assert project.run("export", SAME, tree) == 1
    assert words in errors(capsys)
    assert snapshot(project.patches) == before


def test_an_export_of_another_release(project: Project, tree: Path, capsys: Captured) -> None:
    assert project.run("export", NEW, tree) == 1
    assert f"was made from openai-agents {SAME}, not {NEW}" in errors(capsys)


def test_an_export_to_another_series(project: Project, tree: Path, capsys: Captured) -> None:
    assert project.run("export", "--series", NEW, SAME, tree) == 1
    assert f"{SAME} is in the series {OLD}" in errors(capsys)


def test_an_export_of_a_release_that_joins_a_series(
    project: Project, tree: Path, capsys: Captured
) -> None:
    (project.patches / "series.toml").write_text(entry(OLD, OLD) + entry(NEW, NEW))
    assert project.run("export", "--series", OLD, SAME, tree) == 0
    assert f"Add it to the releases of {OLD}." in capsys.readouterr().out


@pytest.mark.parametrize(
    "message",
    [
        "fix: a\n\n---\nlost",
        "fix: a\n\ndiff --git a/x b/x",
        "[realtime] fix",
        "fix: a\n\nFrom: A <a@b.c>",
    ],
    ids=["a line of dashes", "a diff", "brackets", "a sender"],
)
def test_messages_that_git_am_reads_otherwise_cannot_be_exported(
    project: Project, tree: Path, capsys: Captured, message: str
) -> None:
    Git(tree).run("commit", "--amend", "--message", message)
    before = snapshot(project.patches)
    assert project.run("export", SAME, tree) == 1
    assert "git am does not read from the patches what the commits say" in errors(capsys)
    assert snapshot(project.patches) == before


def test_a_source_that_is_removed_cannot_be_exported(
    project: Project, tree: Path, capsys: Captured
) -> None:
    git = Git(tree)
    git.run("mv", SESSION, SESSION.replace("session", "other"))
    git.run("commit", "--amend", "--no-edit")
    assert project.run("export", SAME, tree) == 1
    assert "removes or renames files" in errors(capsys)


def test_carriage_returns_cannot_be_exported(
    project: Project, tree: Path, capsys: Captured
) -> None:
    edit(tree / SESSION, "line_40 = 40\n", "line_40 = 40\r\n")
    Git(tree).run("commit", "--all", "--amend", "--no-edit")
    before = snapshot(project.patches)
    assert project.run("export", SAME, tree) == 1
    assert "0003-history-merge.patch would have carriage returns" in errors(capsys)
    assert snapshot(project.patches) == before


# Checking


def test_patches_that_are_as_they_should_be(project: Project, capsys: Captured) -> None:
    assert project.run("check") == 0
    assert capsys.readouterr().out.startswith("3 releases: ")
    assert project.run("check", "--releases", "ends") == 0
    assert capsys.readouterr().out.startswith("3 releases: ")
    assert project.run("check", "--releases", f"{SAME}-{NEW}") == 0
    assert capsys.readouterr().out.startswith("2 releases: ")


def test_the_recorded_hashes_are_those_of_the_patched_modules(project: Project) -> None:
    tree = project.folder / "tree"
    assert project.run("checkout", NEW, tree) == 0
    release = project.table[NEW]
    assert release["patched"] == {
        "agents.realtime.openai_realtime": digest(tree / MODULE),
        "agents.realtime.session": digest(tree / SESSION),
    }
    assert list(release) == ["uploaded", "modules", "patched", "functions"]
    before = project.table
    assert project.run("check", "--releases", NEW, "--record") == 0
    assert project.table == before


def test_the_recorded_hashes_are_those_of_all_that_the_patches_change(empty: Project) -> None:
    tree = empty.folder / "tree"
    assert empty.run("checkout", "--bare", NEW, tree) == 0
    git = Git(tree)
    for number in (1, 2, 3):
        change(git, number)
    (tree / "src/agents/realtime/__init__.py").write_text("x = 1\n")
    git.run("commit", "--all", "--amend", "--no-edit")
    assert empty.run("export", NEW, tree) == 0
    (empty.patches / "series.toml").write_text(entry(NEW, NEW))
    assert empty.run("check", "--releases", NEW, "--record") == 0
    module = "agents.realtime.__init__"
    patched = empty.table[NEW]["patched"]
    assert list(patched) == [*empty.table[NEW]["modules"], module]
    assert patched[module] == digest(tree / "src/agents/realtime/__init__.py")
    assert "patched" not in empty.table[OLD]


def failures(project: Project, capsys: Captured, *arguments: str) -> list[str]:
    """Return the problems that a check finds; it writes nothing."""
    before = project.table_file.read_bytes()
    assert project.run("check", *arguments) == 1
    assert project.table_file.read_bytes() == before
    *lines, number = capsys.readouterr().out.splitlines()
    assert number.split()[0] == str(len(lines))
    return lines


def test_a_patch_that_applies_only_with_an_offset(project: Project, capsys: Captured) -> None:
    # The patches of the old series are for files that have a line less.
    (project.patches / "series.toml").write_text(entry(OLD, OLD, SAME, NEW))
    shutil.rmtree(project.patches / NEW)
    patch = f"patches/{OLD}/0001-converter-status.patch"
    words = "hunk 1 (@@ -2,7 +2,7 @@) applies only with an offset of 1 line"
    assert failures(project, capsys, "--record") == [
        f"{NEW}: {patch}: {file}: {words}" for file in (MODULE, SESSION)
    ]


def test_a_patch_that_does_not_apply(project: Project, capsys: Captured) -> None:
    published = project.published / SAME / SESSION
    edit(published, "line_22 = 22", "line_22 = 0")
    assert failures(project, capsys) == [
        f"{SAME}: patches/{OLD}/0002-close-reset.patch: {SESSION}: "
        "hunk 1 (@@ -17,7 +17,7 @@) does not apply"
    ]


def test_a_patch_for_a_file_that_is_not_there(project: Project, capsys: Captured) -> None:
    (project.published / SAME / SESSION).unlink()
    assert failures(project, capsys) == [
        f"{SAME}: patches/{OLD}/0001-converter-status.patch: {SESSION}: No such file or directory"
    ]


def test_a_patch_with_an_edited_message(project: Project, capsys: Captured) -> None:
    edit(project.patch(NEW, 3), "Date: Mon, 30 Nov", "Date: Tue, 01 Dec")
    (line,) = failures(project, capsys)
    assert line.startswith(f"{NEW}: patches/{NEW}/0003-history-merge.patch: line 4 is 'Date: Tue")
    assert "nox -s patches-export" in line


def test_a_patch_without_real_blob_ids(project: Project, capsys: Captured) -> None:
    text = project.patch(NEW, 1).read_text()
    blob = text.partition("\nindex ")[2][:40]
    project.patch(NEW, 1).write_text(text.replace(blob, "0" * 39 + "1", 1))
    (line,) = failures(project, capsys)
    assert f"{NEW}: patches/{NEW}/0001-converter-status.patch: line" in line


def test_a_patch_of_which_git_warns(project: Project, tree: Path, capsys: Captured) -> None:
    edit(tree / SESSION, "line_35 = 100 + 35\n", "line_35 = 100 + 35 \n")
    Git(tree).run("commit", "--all", "--amend", "--no-edit")
    assert project.run("export", SAME, tree) == 0
    capsys.readouterr()
    (line,) = failures(project, capsys, "--releases", SAME)
    assert line.startswith(f"{SAME}: patches/{OLD}/0003-history-merge.patch: git am says: ")
    assert "trailing whitespace" in line


def test_a_file_that_is_no_patch(project: Project, capsys: Captured) -> None:
    project.patch(NEW, 1).write_text("nonsense\n")
    (line,) = failures(project, capsys)
    assert line.startswith(f"{NEW}: patches/{NEW}/0001-converter-status.patch: ")


def test_hashes_that_are_not_recorded(project: Project, capsys: Captured) -> None:
    data = json.loads(project.table_file.read_text())
    del data["releases"][OLD]["patched"]
    data["releases"][NEW]["patched"]["agents.realtime.session"] = "0"
    project.table_file.write_text(json.dumps(data))
    lines = failures(project, capsys)
    assert [line.partition(". ")[0] for line in lines] == [
        f"{OLD}: shim/releases.json has no hashes of the patched modules",
        f"{NEW}: shim/releases.json has other hashes of the patched modules",
    ]
    assert project.run("check", "--record") == 0
    assert project.run("check") == 0


def test_a_module_that_no_patch_changes(empty: Project, capsys: Captured) -> None:
    tree = empty.folder / "tree"
    assert empty.run("checkout", "--bare", NEW, tree) == 0
    git = Git(tree)
    for number in (1, 2, 3):
        change(git, number)
        git.run("checkout", "HEAD~1", "--", MODULE)
        git.run("commit", "--amend", "--no-edit")
    assert empty.run("export", NEW, tree) == 0
    (empty.patches / "series.toml").write_text(entry(NEW, NEW))
    capsys.readouterr()
    (line,) = failures(empty, capsys, "--releases", NEW)
    assert line.startswith(f"{NEW}: patches/{NEW}: agents.realtime.openai_realtime stays as")


def test_what_is_missing_and_what_does_not_belong(project: Project, capsys: Captured) -> None:
    (project.patches / "series.toml").write_text(entry(OLD, OLD))
    project.patch(OLD, 2).unlink()
    (project.patches / "README.md").touch()
    (project.patches / ".export").mkdir()
    (project.patches / ".export/0001-of-another-process.patch").touch()
    (project.patches / "stray.patch").touch()
    assert failures(project, capsys) == [
        f"{SAME} is in no series of series.toml",
        f"{NEW} is in no series of series.toml",
        f"patches/{OLD} lacks 0002-close-reset.patch",
        *(f"patches/{NEW}/{name} belongs to no series" for name in PATCH_NAMES),
        "patches/stray.patch belongs to no series",
    ]
    shutil.rmtree(project.patches / OLD)
    assert f"patches/{OLD} is missing" in failures(project, capsys, "--releases", "ends")
    assert failures(project, capsys, "--releases", f"{OLD},{NEW}")[1] == f"{NEW}: is in no series"


def test_an_sdist_that_cannot_be_had(project: Project, capsys: Captured) -> None:
    shutil.rmtree(project.published / SAME)
    assert failures(project, capsys) == [f"{SAME}: cannot download the sdist of {SAME}"]


def test_the_words_of_git_apply() -> None:
    patch = (
        "@@ -9 +9 @@ is not a hunk\n"
        "diff --git a/x b/x\n@@ -1,3 +1,4 @@ def f():\n x\n@@ -20 +21,2 @@\n x\n"
        "diff --git a/y b/y\n@@ -5,6 +5,7 @@\n x\n"
    )
    assert hunks(patch) == {
        "x": ["@@ -1,3 +1,4 @@", "@@ -20 +21,2 @@"],
        "y": ["@@ -5,6 +5,7 @@"],
    }
    words = (
        "Checking patch x...\nHunk #2 succeeded at 17 (offset -3 lines).\n"
        "Checking patch y...\nContext reduced to (2/2) to apply fragment at 5\n"
        "error: while searching for:\nfoo: bar\n\nerror: patch failed: y:5\n"
        "error: y: patch does not apply\nerror: z: already exists in working directory\n"
    )
    assert complaints(patch, words) == [
        "x: hunk 2 (@@ -20 +21,2 @@) applies only with an offset of -3 lines",
        "y: context reduced to (2/2) to apply fragment at 5",
        "y: hunk 1 (@@ -5,6 +5,7 @@) does not apply",
        "z: already exists in working directory",
    ]
    assert complaints(patch, "Checking patch x...\nChecking patch y...\n") == []


# series.toml


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[series]", "cannot read patches/series.toml: "),
        ("[series]", "holds [[series]] tables and nothing else"),
        ("x = 1", "holds [[series]] tables and nothing else"),
        ("[[series]]", "table 1 is not"),
        (entry(OLD, OLD) + entry(NEW), "table 2 is not"),
        ("[[series]]\ndirectory = '0.1.0'\nreleases = '0.1.0'", "table 1 is not"),
        (entry(OLD, OLD) + "extra = 1", "table 1 is not"),
        (entry(SAME, OLD, SAME), f"'{SAME}' is not named for the first release of its series"),
        (entry("9.0.0", "9.0.0"), "9.0.0, which is not in shim/releases.json"),
        (entry(OLD, OLD, SAME) + entry(SAME, SAME), f"{SAME} is in {OLD} and {SAME}"),
        (entry(OLD, OLD, OLD), f"{OLD} is twice in {OLD}"),
        (entry(OLD, OLD, NEW, SAME), f"the releases of {OLD} are not oldest first"),
        (entry(NEW, NEW) + entry(OLD, OLD, SAME), "the series are not oldest first"),
    ],
)
def test_a_list_of_series_that_cannot_be(
    project: Project, capsys: Captured, text: str, words: str
) -> None:
    (project.patches / "series.toml").write_text(text)
    for command in (["check"], ["checkout", OLD, str(project.folder / "tree")]):
        assert project.run(*command) == 1
        assert words in errors(capsys)


def test_a_check_without_patches(empty: Project, capsys: Captured) -> None:
    assert empty.run("check") == 1
    assert "there is no patches/series.toml" in errors(capsys)


def test_a_release_to_check_that_there_is_not(project: Project, capsys: Captured) -> None:
    assert project.run("check", "--releases", "9.0.0") == 1
    assert "no supported release: '9.0.0'" in errors(capsys)


def test_the_ends_of_series(project: Project) -> None:
    (project.patches / "series.toml").write_text(entry(OLD, OLD, SAME) + entry(NEW, NEW))
    assert ends(load_series(project.patches, project.table)) == [OLD, SAME, NEW]


# Around


def test_without_git(project: Project, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(project.folder))
    assert project.run("check") == 1
    assert "git is not on the PATH: install git 2.32 or later" in errors(capsys)


def test_with_a_git_that_is_too_old(
    project: Project, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = project.folder / "git"
    git.write_text("#!/bin/sh\necho git version 2.9.1\n")
    git.chmod(git.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(project.folder))
    assert project.run("check") == 1
    assert f"{git} is version 2.9: install git 2.32 or later" in errors(capsys)


def test_two_processes_that_fetch_the_same_sdist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(tmp_path / "project")
    project.publish()
    release = project.table[OLD]
    name = f"openai_agents-{OLD}"
    folder = tmp_path / "sdists" / name

    def download(version: str, form: str, *, folder: Path) -> Path:
        assert (version, form) == (OLD, "sdist")
        with tarfile.open(folder / "sdist.tar.gz", "w:gz") as archive:
            archive.add(project.published / OLD, arcname=name)
        # The other process is faster.
        shutil.copytree(project.published / OLD, tmp_path / "sdists" / name)
        return folder / "sdist.tar.gz"

    monkeypatch.setattr(upstream, "CACHE", tmp_path)
    monkeypatch.setattr(upstream, "download", download)
    assert upstream.fetch_sdist(OLD, release) == folder
    assert list(folder.parent.iterdir()) == [folder]

    (folder / SESSION).write_text("")
    with pytest.raises(UserError, match="is not the one in the release table"):
        upstream.fetch_sdist(OLD, release)


def test_what_tests_leave_behind_in_a_release_is_not_part_of_it(project: Project) -> None:
    before = head(make_base(project.folder / "one", OLD, project.published / OLD).folder)
    for part in ("tests/__pycache__", ".pytest_cache"):
        (project.published / OLD / part).mkdir()
        (project.published / OLD / part / "x.pyc").touch()
    assert head(make_base(project.folder / "two", OLD, project.published / OLD).folder) == before


def test_the_hashes_stay_when_the_table_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = {"uploaded": "now", "wheel_sha256": "0", "patched": {"module": "1"}}
    wheel = tmp_path / "wheel"
    module = "tools.release_table"
    monkeypatch.setattr(f"{module}.fetch_wheel", lambda name, release, cache: wheel)
    monkeypatch.setattr(f"{module}.module_sources", lambda wheel: {"module": b""})
    monkeypatch.setattr(f"{module}.requires_python", lambda wheel: ">=3.10")
    monkeypatch.setattr(f"{module}.function_digest", lambda name, sources: "2")
    made = describe("0.1.0", release, cache=tmp_path)
    assert made["patched"] == {"module": "1"}
    assert list(made).index("patched") == list(made).index("modules") + 1
    del release["patched"]
    assert "patched" not in describe("0.1.0", release, cache=tmp_path)


def test_hashes_can_be_put_into_an_entry_and_taken_out() -> None:
    entry = {"modules": {}, "patched": {"old": "1"}, "fixes": []}
    assert with_patched(entry, {"new": "2"})["patched"] == {"new": "2"}
    assert "patched" not in with_patched(entry, None)


def test_every_patch_is_named_for_a_fix() -> None:
    assert [name[5:].removesuffix(".patch") for name in PATCH_NAMES] == list(FIXES)
    assert [name[:5] for name in PATCH_NAMES] == ["0001-", "0002-", "0003-"]
