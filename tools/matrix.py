"""Run the regression suite on every release, bare and shimmed, and write a table of results."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from tools.environments import add_options, install
from tools.record import (
    FAILING,
    Record,
    build_record,
    contradictions,
    dump_record,
    load_record,
    subject_of,
)
from tools.releases import (
    CACHE,
    FIXES,
    RECORD,
    ROOT,
    Release,
    UserError,
    load_table,
    select,
)
from tools.suite import SuiteRun, run_suite

RESULTS = ROOT / "docs" / "matrix.md"
_OUTPUT_LINES = 40

_HEADER = """\
# Every release, bare and shimmed

Written by `nox -s matrix`; do not edit. Each release ran `tests/regression` on its own, as
published, and under the shim, with the dependencies of its day. "3 of 14 fail" means that 3 of
the 14 tests of that fix that apply to the release fail. Which ones these are is recorded in
`tests/regression/bare.json`. "Other" are the upstream reports, end to end, in `test_reports.py`.
"""


@dataclass(frozen=True)
class Result:
    """The two runs of the suite on one release, and how long all of it took (seconds)."""

    release: str
    python: str
    bare: SuiteRun
    shimmed: SuiteRun
    seconds: float
    problems: tuple[str, ...]


def run_release(
    name: str, release: Release, *, python: str, record: Record | None, order: Sequence[str]
) -> Result:
    """Install a release, run the suite on it both ways, and say what is wrong with the results.

    Without a record, nothing is held against the bare run.
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=CACHE, ignore_cleanup_errors=True) as folder:
        try:
            interpreter = install(name, release, folder=Path(folder) / "venv", python=python)
        except UserError as error:
            bare, shimmed = (SuiteRun(mode, 1, str(error)) for mode in ("recording", "shimmed"))
        else:
            bare = run_suite("recording", python=interpreter)
            shimmed = run_suite("shimmed", python=interpreter)
    seconds = time.monotonic() - started
    problems = _problems(name, bare, shimmed, record=record, order=order)
    return Result(name, python, bare, shimmed, seconds, tuple(problems))


def _problems(
    name: str, bare: SuiteRun, shimmed: SuiteRun, *, record: Record | None, order: Sequence[str]
) -> list[str]:
    """Return what is wrong with the two runs on a release, in one line each."""
    problems = []
    if not _is_complete(bare):
        problems.append(f"the bare run broke off (exit code {bare.exit_code})\n{_tail(bare)}")
    elif record is not None:
        problems += [f"bare: {line}" for line in contradictions(record, name, bare.outcomes, order)]
    # Whatever else goes wrong is not the defect, and would hide when the defect goes.
    other = [test for test, outcome in bare.outcomes.items() if outcome == "error"]
    problems += [f"bare: {test} fails, but by no assertion" for test in other]
    failing = [test for test, outcome in shimmed.outcomes.items() if outcome in FAILING]
    problems += [f"shimmed: {test} fails" for test in failing]
    if shimmed.exit_code or not shimmed.outcomes:
        problems.append(f"the shimmed run has exit code {shimmed.exit_code}\n{_tail(shimmed)}")
    return problems


def _tail(run: SuiteRun) -> str:
    """Return the last lines of a run's output."""
    return "\n".join(run.output.rstrip().splitlines()[-_OUTPUT_LINES:])


def group_of(test: str) -> str:
    """Return the fix that a test belongs to, ``other`` if to none."""
    subject = subject_of(test)
    return subject if subject in FIXES else "other"


def counts(run: SuiteRun, group: str) -> tuple[int, int]:
    """Return how many tests of a group failed, and how many ran; skipped ones did not."""
    found = Counter(
        "failing" if outcome in FAILING else "ran"
        for test, outcome in run.outcomes.items()
        if outcome != "skipped" and group_of(test) == group
    )
    return found["failing"], found.total()


def cell(run: SuiteRun, group: str) -> str:
    """Return the table's words for a group of tests in one run."""
    failing, ran = counts(run, group)
    if not ran:
        return "did not run" if not run.outcomes else "-"
    return f"{failing} of {ran} fail" if failing else f"{ran} pass"


def make_table(results: Sequence[Result]) -> str:
    """Return the results as a Markdown document, one row per release."""
    tests = {
        test for result in results for test in (*result.bare.outcomes, *result.shimmed.outcomes)
    }
    groups = [*FIXES, *(["other"] if any(group_of(test) == "other" for test in tests) else [])]
    titles = ["release", "Python"]
    titles += [f"{group}: {side}" for group in groups for side in ("bare", "shimmed")]
    rows = [titles, ["---"] * len(titles)]
    for result in results:
        row = [result.release, result.python]
        row += [cell(run, group) for group in groups for run in (result.bare, result.shimmed)]
        rows.append(row)
    return _HEADER + "\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def progress_line(result: Result, *, done: int, total: int) -> str:
    """Return the line that is printed when a release is done, with rich's markup."""
    sides = []
    for name, run in (("bare", result.bare), ("shimmed", result.shimmed)):
        failing = sum(outcome in FAILING for outcome in run.outcomes.values())
        passed = sum(outcome == "passed" for outcome in run.outcomes.values())
        sides.append(f"{name} {passed} passed, {failing} failed")
    mark = "[red]not as it should be[/red]" if result.problems else "[green]ok[/green]"
    words = escape(f"[{done:3}/{total}] {result.release:7} {'; '.join(sides)}")
    return f"{words}; {result.seconds:.0f} s  {mark}"


def run_all(
    names: Iterable[str],
    table: Mapping[str, Release],
    *,
    python: str,
    jobs: int,
    record: Record | None,
    console: Console,
) -> list[Result]:
    """Run all named releases, ``jobs`` at a time; return the results in the table's order."""
    order = list(table)
    results: dict[str, Result] = {}
    with ThreadPoolExecutor(jobs) as pool:
        futures = [
            pool.submit(run_release, name, table[name], python=python, record=record, order=order)
            for name in names
        ]
        for future in as_completed(futures):
            result = future.result()
            results[result.release] = result
            console.print(progress_line(result, done=len(results), total=len(futures)))
            for problem in result.problems:
                console.print(f"    {problem}", markup=False, highlight=False)
    return [results[name] for name in order if name in results]


def _record_results(results: Sequence[Result], order: Sequence[str]) -> None:
    """Rewrite the record from the bare runs. Raises UserError if one of them broke off."""
    broken = [result.release for result in results if not _is_complete(result.bare)]
    if broken:
        raise UserError(f"nothing recorded: the bare run broke off on {', '.join(broken)}")
    runs = {result.release: result.bare.outcomes for result in results}
    record = build_record(runs, order, load_record(RECORD))
    RECORD.write_text(dump_record(record), encoding="utf-8")


def _is_complete(run: SuiteRun) -> bool:
    # pytest's exit code is 1 where tests fail; any other means that not all of them ran.
    return bool(run.outcomes) and run.exit_code in (0, 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nox -s matrix --", description=__doc__)
    add_options(parser)
    parser.add_argument(
        "--releases", help="such as 0.2.0-0.3.1,0.24.0, or the word default (default: all)"
    )
    parser.add_argument(
        "--record", action="store_true", help="rewrite tests/regression/bare.json from this run"
    )
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run the matrix; return 1 if a shimmed test failed or a bare one was not as recorded."""
    options = _parser().parse_args(arguments)
    console = Console(soft_wrap=True)
    try:
        table = load_table()
        names = select(table, options.releases)
        record = None if options.record else load_record(RECORD) or {}
        CACHE.mkdir(exist_ok=True)
        results = run_all(
            names, table, python=options.python, jobs=options.jobs, record=record, console=console
        )
        if options.record:
            _record_results(results, list(table))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if len(names) == len(table):
        RESULTS.write_text(make_table(results), encoding="utf-8")
        console.print(f"table written to {RESULTS.relative_to(ROOT)}")
    bad = [result.release for result in results if result.problems]
    console.print(f"{len(results) - len(bad)} of {len(results)} releases as they should be")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
