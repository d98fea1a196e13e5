"""Running tests on patched trees: on the right source, and with the right conclusions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from patching import NEW, OLD, SAME, SESSION, Project, change, commit
from rich.console import Console

from tools import patched
from tools.git import Git
from tools.patched_upstream import compare, passing_again
from tools.releases import UserError
from tools.series import load_series
from tools.suite import SuiteRun
from tools.upstream import TestRun, run_tests

PYTHON = Path(sys.executable)
LINES = "tests.realtime.test_lines::test_the_lines"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a series for the newest release."""
    # Those that happen to be installed take more time than the tests of the small SDK.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    project = Project(tmp_path)
    project.publish()
    project.make_series(NEW, NEW)
    return project


def checked_out(project: Project, *arguments: str) -> Path:
    tree = project.folder / "tree"
    assert project.run("checkout", NEW, tree, *arguments) == 0
    return tree


def test_the_tests_of_a_tree_run_on_its_own_source(project: Project) -> None:
    run = run_tests(checked_out(project), python=PYTHON)
    assert run.outcomes == {
        LINES: "passed",
        **{
            f"tests.realtime.test_{number}::test_line_{line}": "passed"
            for number, line in ((1, 5), (2, 20), (3, 35))
        },
    }
    assert run.reasons == {}


def test_the_tests_of_a_tree_run_on_another_source(project: Project) -> None:
    source = project.published / NEW / "src"
    run = run_tests(checked_out(project), source=source, python=PYTHON)
    assert sorted(run.outcomes.values()) == ["failed", "failed", "failed", "passed"]
    assert sorted(run.reasons.values()) == [f"assert {line} > 100" for line in (20, 35, 5)]


def test_no_test_runs_on_an_sdk_from_elsewhere(project: Project) -> None:
    tree = checked_out(project)
    # As an environment that puts the installed SDK ahead would do.
    elsewhere = project.published / NEW / "src"
    (tree / "conftest.py").write_text(f"import sys\nsys.path.insert(0, {str(elsewhere)!r})\n")
    run = run_tests(tree, python=PYTHON)
    assert "passed" not in run.outcomes.values()
    assert f"the SDK under test is {elsewhere}" in run.output
    assert f"and not in {tree / 'src'}" in run.output


def test_a_patched_tree_that_is_as_it_should_be(project: Project) -> None:
    words, problems = compare(checked_out(project), PYTHON)
    assert problems == []
    assert words == (
        "bare: 1 passed, 0 failed, 0 errors, 0 skipped; "
        "patched: 4 passed, 0 failed, 0 errors, 0 skipped; "
        "1 new, 1 fail without converter-status; 1 new, 1 fail without close-reset; "
        "1 new, 1 fail without history-merge"
    )


def test_a_patched_tree_with_everything_wrong(project: Project) -> None:
    tree = checked_out(project, "--bare")
    git = Git(tree)
    # Its test passes without it.
    change(git, 1)
    test = tree / "tests/realtime/test_1.py"
    test.write_text(test.read_text().replace("> 100", "> 1"))
    git.run("commit", "--all", "--amend", "--no-edit")
    # It has no test, and another one fails with it.
    session = tree / SESSION
    session.write_text(session.read_text().replace("line_1 = 1\n", "line_1 = 2\n"))
    commit(git)
    # Its tests cannot be imported without it, and one of them fails with it.
    session.write_text(session.read_text() + "\nnew_name = 1\n")
    (tree / "tests/realtime/test_3.py").write_text(
        "from agents.realtime.session import new_name\n\n\n"
        "def test_good() -> None:\n    assert new_name == 1\n\n\n"
        "def test_bad() -> None:\n    assert new_name == 2\n"
    )
    commit(git)
    _, problems = compare(tree, PYTHON)
    found = [problem.partition("\n")[0].partition(" (")[0] for problem in problems]
    assert found == [
        f"lost: {LINES}",
        "converter-status: no test fails for want of the patch:",
        "close-reset: the patch changes no test file",
        "history-merge: tests.realtime.test_3::test_bad is new and does not pass",
        "history-merge: no test fails for want of the patch:",
        "history-merge: ::tests.realtime.test_3 cannot even start without the patch",
    ]


def test_a_test_that_misses_a_name_shows_no_defect(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(tree: Path, *, source: Path | None = None, **options: object) -> TestRun:
        if source is None:
            return TestRun({"test": "passed"}, {}, "")
        return TestRun({"test": "failed"}, {"test": "ImportError: no name"}, "output")

    monkeypatch.setattr("tools.patched_upstream.run_tests", run)
    _, problems = compare(checked_out(project), PYTHON)
    assert [problem.partition(":")[2] for problem in problems] == [
        " no test fails for want of the patch:\noutput"
    ] * 3


def test_a_test_that_passes_when_tried_again_is_not_lost(project: Project) -> None:
    # It fails in one run, as one that depends on time may.
    tree = checked_out(project, "--bare")
    (tree / "tests/realtime/test_flaky.py").write_text(
        "from pathlib import Path\n\nFILE = Path(__file__).with_name('tried')\n\n\n"
        "class TestFlaky:\n    def test_it(self) -> None:\n"
        "        tried = FILE.exists()\n        FILE.touch()\n        assert tried\n"
    )
    lost = "tests.realtime.test_flaky.TestFlaky::test_it"
    gone = "tests.realtime.test_gone::test_it"
    assert passing_again(tree, [lost, gone], PYTHON) == []
    assert passing_again(tree, [lost, gone], PYTHON) == [lost]
    assert passing_again(tree, [gone], PYTHON) == []


def test_the_numbers_of_the_regression_suite(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, object] = {}

    def run_suite(mode: str, **options: object) -> SuiteRun:
        given.update(options, mode=mode)
        outcomes = {"a": "passed", "b": "failed", "c": "error", "d": "skipped"}
        return SuiteRun(mode, 1, "the end\n", outcomes)

    monkeypatch.setattr(patched, "run_suite", run_suite)
    result = patched.run_regression(OLD, project.folder, PYTHON)
    assert given == {"mode": "patched", "python": PYTHON, "source": project.folder / "src"}
    assert result.words == "1 passed, 2 failed, 1 skipped"
    assert result.problems == ("b fails", "c fails", "the run has exit code 1\nthe end")


def test_a_job_runs_something_on_a_patched_tree(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(release: str, tree: Path, python: Path) -> patched.Result:
        assert "100 + 35" in (tree / SESSION).read_text()
        assert python == tree.with_name("venv") / "python"
        return patched.Result(release=release, words="ran", problems=())

    def install(name: str, release: object, *, folder: Path, **options: object) -> Path:
        assert options == {"python": "3.11", "requirements": ["x"]}
        return folder / "python"

    monkeypatch.setattr(patched, "CACHE", project.folder)
    monkeypatch.setattr(patched, "install", install)
    series = load_series(project.patches, project.table)
    job = patched.prepare(
        project.sources, series, python="3.11", run=run, requirements=lambda tree: ["x"]
    )
    console = Console(soft_wrap=True, record=True)
    good, bad = sorted(
        patched.run_all([NEW, SAME], job, jobs=2, console=console),
        key=lambda result: result.release,
        reverse=True,
    )
    assert (good.release, good.words, good.problems) == (NEW, "ran", ())
    assert (bad.release, bad.words) == (SAME, "did not run")
    assert bad.problems[0].startswith(f"{SAME} is in no series")
    text = console.export_text()
    assert f"/2] {NEW}   ran; " in text
    assert f"    {SAME} is in no series" in text


def test_a_release_whose_sdist_cannot_be_had(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def checkout(*arguments: object) -> str:
        raise UserError("cannot download")

    monkeypatch.setattr(patched, "CACHE", project.folder)
    monkeypatch.setattr(patched, "checkout", checkout)
    job = patched.prepare(
        project.sources,
        [],
        python="3.11",
        run=patched.run_regression,
        requirements=lambda tree: [],
    )
    assert job(OLD).problems == ("cannot download",)
