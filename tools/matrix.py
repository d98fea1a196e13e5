"""Run the regression suite on every release, bare and shimmed, and record what came out.

Without ``--record`` each release is held to the record and nothing is written. With it the patched
tree of each release runs as well, and the record, the results and their pages are written.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from tools.checkout import Sources, checkout
from tools.compatibility.project import write_pages
from tools.compatibility.results import (
    BARE,
    PATCHED,
    RESULTS,
    SHIMMED,
    Row,
    count,
    dump_results,
    load_results,
    merge,
)
from tools.environments import add_options, install
from tools.git import require_git
from tools.patched import Result, conclude, run_all
from tools.patches import published
from tools.record import Record, build_record, dump_record, load_record
from tools.releases import CACHE, RECORD, ROOT, UserError, load_table, select
from tools.series import Series, load_series, series_of
from tools.suite import SuiteRun, run_suite
from tools.verdicts import bare_problems, fixed_problems, is_complete, summary


@dataclass(frozen=True, kw_only=True)
class MatrixResult(Result):
    """The runs of the suite on one release, by side, and the Python version."""

    python: str
    runs: Mapping[str, SuiteRun]

    @property
    def is_complete(self) -> bool:
        """Whether each side ran all of its tests."""
        return bool(self.runs) and all(is_complete(run) for run in self.runs.values())


def run_release(
    name: str,
    *,
    sources: Sources,
    series: Sequence[Series],
    python: str,
    record: Record | None,
) -> MatrixResult:
    """Install a release, run the suite on each of its sides, and say what is wrong with them.

    Without a record, nothing is held against the bare run. The patched side is there if one of
    the ``series`` is for the release.
    """
    started = time.monotonic()
    runs: Mapping[str, SuiteRun] = {}
    try:
        runs = _run_sides(name, sources=sources, series=series, python=python)
        problems = _problems(name, runs, record=record, order=list(sources.table))
    except UserError as error:
        problems = [str(error)]
    except Exception:  # The results of the other releases must not be lost with this one.
        problems = [traceback.format_exc()]
    return MatrixResult(
        release=name,
        words="; ".join(f"{side} {summary(run)}" for side, run in runs.items()) or "did not run",
        problems=tuple(problems),
        seconds=time.monotonic() - started,
        python=python,
        runs=runs,
    )


def _run_sides(
    name: str, *, sources: Sources, series: Sequence[Series], python: str
) -> dict[str, SuiteRun]:
    with tempfile.TemporaryDirectory(dir=CACHE, ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        interpreter = install(name, sources.table[name], folder=folder / "venv", python=python)
        runs = {
            BARE: run_suite("recording", python=interpreter),
            SHIMMED: run_suite("shimmed", python=interpreter),
        }
        if series_of(series, name) is not None:
            tree = folder / "tree"
            checkout(sources, series, name, tree)
            runs[PATCHED] = run_suite("patched", python=interpreter, source=tree / "src")
    return runs


def _problems(
    name: str, runs: Mapping[str, SuiteRun], *, record: Record | None, order: Sequence[str]
) -> list[str]:
    """Return what is wrong with the runs on a release, in one line or more each."""
    problems = bare_problems(name, runs[BARE], record=record, order=order)
    for side in (SHIMMED, PATCHED):
        if side in runs:
            problems += [f"{side}: {problem}" for problem in fixed_problems(runs[side])]
    return problems


def record_results(
    results: Sequence[MatrixResult], order: Sequence[str], *, record: Path, file: Path
) -> list[str]:
    """Rewrite the record and the results file for the releases of which every side ran to its end.

    Returns the other ones. ``order`` is that of the release table.
    """
    complete = {result.release: result for result in results if result.is_complete}
    bare = {release: result.runs[BARE].outcomes for release, result in complete.items()}
    rows = {
        release: Row(
            python=result.python,
            sides={side: count(run.outcomes) for side, run in result.runs.items()},
        )
        for release, result in complete.items()
    }
    if complete:
        merged = merge(load_results(file), rows, order)
        text = dump_record(build_record(bare, order, load_record(record)))
        record.write_text(text, encoding="utf-8")
        file.write_text(dump_results(merged), encoding="utf-8")
    return [result.release for result in results if result.release not in complete]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nox -s matrix --", description=__doc__)
    add_options(parser)
    parser.add_argument(
        "--releases", help="such as 0.2.0-0.3.1,0.24.0, or the word default (default: all)"
    )
    parser.add_argument(
        "--record",
        action="store_true",
        help="run the patched trees as well, rewrite tests/regression/bare.json and "
        "docs/compatibility.json for these releases, and write the pages",
    )
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run the matrix; return 1 if a test with a fix failed or a bare one was not as recorded."""
    options = _parser().parse_args(arguments)
    console = Console(soft_wrap=True)
    try:
        table = load_table()
        names = select(table, options.releases)
        sources = published(table)
        if options.record:
            require_git()
        CACHE.mkdir(exist_ok=True)
        job = partial(
            run_release,
            sources=sources,
            series=load_series(sources.patches, table) if options.record else (),
            python=options.python,
            record=None if options.record else load_record(RECORD) or {},
        )
        found = run_all(names, job, jobs=options.jobs, console=console)
        results = sorted(found, key=lambda result: names.index(result.release))
        if options.record:
            missing = record_results(results, list(table), record=RECORD, file=RESULTS)
            if missing:
                console.print(f"nothing recorded, because a run broke off: {', '.join(missing)}")
            for file in write_pages():
                console.print(f"written: {file.relative_to(ROOT)}", highlight=False)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return conclude(results, console)


if __name__ == "__main__":
    sys.exit(main())
