"""What is wrong with a run of the regression suite, in one line or more for each problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tools.record import FAILING, Record, contradictions
from tools.suite import SuiteRun

_OUTPUT_LINES = 40


def is_complete(run: SuiteRun) -> bool:
    """Return whether every test of a run came to an end, passing or not."""
    # pytest's exit code is 1 where tests fail; any other means that not all of them ran.
    return bool(run.outcomes) and run.exit_code in (0, 1)


def summary(run: SuiteRun) -> str:
    """Return how many tests of a run passed, failed and were skipped, in words."""
    number = Counter("failed" if each in FAILING else each for each in run.outcomes.values())
    return f"{number['passed']} passed, {number['failed']} failed, {number['skipped']} skipped"


def bare_problems(
    release: str, run: SuiteRun, *, record: Record | None, order: Sequence[str]
) -> list[str]:
    """Return what is wrong with a run on a release as published.

    Without a record, the failures are taken as they come; ``order`` is that of the table.
    """
    problems = []
    if not is_complete(run):
        problems.append(f"the bare run broke off (exit code {run.exit_code})\n{_tail(run)}")
    elif record is not None:
        problems += [
            f"bare: {line}" for line in contradictions(record, release, run.outcomes, order)
        ]
    # Whatever else goes wrong is not the defect, and would hide when the defect goes.
    other = [test for test, outcome in run.outcomes.items() if outcome == "error"]
    return problems + [f"bare: {test} fails, but by no assertion" for test in other]


def fixed_problems(run: SuiteRun) -> list[str]:
    """Return what is wrong with a run on a release that has the fixes: every test must pass."""
    problems = [f"{test} fails" for test, outcome in run.outcomes.items() if outcome in FAILING]
    if run.exit_code or not run.outcomes:
        problems.append(f"the run has exit code {run.exit_code}\n{_tail(run)}")
    return problems


def _tail(run: SuiteRun) -> str:
    """Return the last lines of a run's output."""
    return "\n".join(run.output.rstrip().splitlines()[-_OUTPUT_LINES:])
