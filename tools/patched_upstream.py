"""Upstream's own Realtime tests on a patched tree: nothing is lost, and each patch's tests tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.git import Git
from tools.releases import FIXES
from tools.upstream import TestRun, in_words, lost_tests, run_tests

# A test that fails by one of these says that something has another name, not that it is wrong.
_NO_DEFECT = ("ImportError", "ModuleNotFoundError", "NameError")

_OUTPUT_LINES = 20


@dataclass(frozen=True, kw_only=True)
class _Step:
    """One patch: the tree before and after it, and the test files that it changes."""

    fix: str
    before: Path
    after: Path
    tests: tuple[str, ...]


def compare(tree: Path, python: Path) -> tuple[str, list[str]]:
    """Run the tests of a repository that has one commit per fix on top of a release.

    Nothing may be lost between the release and the patched tree. The test files of each patch must
    pass with it, and with the source before it a test of theirs must fail by an assertion, or
    another exception that is about behaviour. A test that seems lost gets a second try: some of
    upstream's wait for a fraction of a second. Returns the numbers in words, and what is wrong.
    """
    steps = _steps(tree)
    bare = run_tests(steps[0].before, python=python)
    patched = run_tests(tree, python=python)
    words = f"bare: {in_words(bare.outcomes)}; patched: {in_words(patched.outcomes)}"
    lost = lost_tests(bare.outcomes, patched.outcomes)
    late = passing_again(tree, lost, python)
    if late:
        words += f", {len(late)} passed when tried again"
    problems = [
        f"lost: {test} ({patched.reasons.get(test, 'did not run')})"
        for test in lost
        if test not in late
    ]
    if "passed" not in bare.outcomes.values():
        problems.append(f"no test passes on the bare tree:\n{bare.output}")
    known = set(bare.outcomes)
    numbers = []
    for step in steps:
        if not step.tests:
            problems.append(f"{step.fix}: the patch changes no test file")
            continue
        last = step is steps[-1]
        own = patched if last else run_tests(step.after, tests=step.tests, python=python)
        without = run_tests(step.after, source=step.before / "src", tests=step.tests, python=python)
        added = {test for test in own.outcomes if test not in known}
        known |= added
        problems += [f"{step.fix}: {line}" for line in _wrong(added, own, without, bare.outcomes)]
        telling = [test for test in without.reasons if own.outcomes.get(test) == "passed"]
        numbers.append(f"{len(added)} new, {len(telling)} fail without {step.fix}")
    return "; ".join([words, *numbers]), problems


def passing_again(tree: Path, tests: Sequence[str], python: Path) -> list[str]:
    """Run the files that have these tests once more; return those that pass now."""
    files = {file for test in tests if (file := _file_of(tree, test)) is not None}
    if not files:
        return []
    run = run_tests(tree, tests=sorted(files), python=python)
    return [test for test in tests if run.outcomes.get(test) == "passed"]


def _file_of(tree: Path, test: str) -> str | None:
    """Return the file that has a test, by the class name in its JUnit id; None if it is gone."""
    parts = test.partition("::")[0].split(".")
    candidates = ("/".join(parts[:end]) + ".py" for end in range(len(parts), 0, -1))
    return next((file for file in candidates if (tree / file).is_file()), None)


def _steps(tree: Path) -> list[_Step]:
    git = Git(tree)
    trees = [tree]
    for back in range(1, len(FIXES) + 1):
        earlier = tree.with_name(f"{tree.name}-{back}")
        git.run("worktree", "add", "--quiet", "--detach", str(earlier), f"HEAD~{back}")
        trees.insert(0, earlier)
    steps = []
    for number, fix in enumerate(FIXES):
        commit = f"HEAD~{len(FIXES) - number - 1}"
        command = ("diff-tree", "-r", "--no-commit-id", "--name-only", "--diff-filter=d")
        files = git.run(*command, commit).splitlines()
        tests = tuple(name for name in files if Path(name).match("tests/realtime/test_*.py"))
        steps.append(_Step(fix=fix, before=trees[number], after=trees[number + 1], tests=tests))
    return steps


def _wrong(added: set[str], own: TestRun, without: TestRun, bare: Mapping[str, str]) -> list[str]:
    """Say what is wrong with the tests of a patch, by its runs with and without its source."""
    lines = [
        f"{test} is new and does not pass ({own.outcomes[test]}: {own.reasons.get(test, '')})"
        for test in sorted(added)
        if own.outcomes[test] not in ("passed", "skipped")
    ]
    failing = [
        test
        for test, reason in without.reasons.items()
        if own.outcomes.get(test) == "passed" and not reason.startswith(_NO_DEFECT)
    ]
    if not failing:
        tail = "\n".join(without.output.rstrip().splitlines()[-_OUTPUT_LINES:])
        lines.append(f"no test fails for want of the patch:\n{tail}")
    broken = sorted(
        test
        for test, outcome in without.outcomes.items()
        if outcome == "error" and test not in bare
    )
    lines += [f"{test} cannot even start without the patch" for test in broken]
    return lines
