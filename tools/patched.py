"""Run the regression suite on patched trees without the shim, or upstream's own Realtime tests."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.markup import escape

from tools.checkout import Sources, checkout
from tools.environments import add_options, install
from tools.git import require_git
from tools.patched_upstream import compare
from tools.patches import published
from tools.releases import CACHE, UserError, load_table
from tools.series import Series, chosen_releases, load_series
from tools.suite import run_suite
from tools.upstream import test_requirements
from tools.verdicts import fixed_problems, summary


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of one release: the numbers in words, and what is wrong, one line or more each."""

    release: str
    words: str
    problems: tuple[str, ...]
    seconds: float = 0.0


AnyResult = TypeVar("AnyResult", bound=Result)
Job = Callable[[str], AnyResult]


def run_regression(release: str, tree: Path, python: Path) -> Result:
    """Run the regression suite on the source of a patched tree."""
    run = run_suite("patched", python=python, source=tree / "src")
    return Result(release=release, words=summary(run), problems=tuple(fixed_problems(run)))


def run_upstream(release: str, tree: Path, python: Path) -> Result:
    """Run upstream's own Realtime tests on a patched tree, and hold them against the bare one."""
    words, problems = compare(tree, python)
    return Result(release=release, words=words, problems=tuple(problems))


def prepare(
    sources: Sources,
    series: Sequence[Series],
    *,
    python: str,
    run: Callable[[str, Path, Path], Result],
    requirements: Callable[[Path], Sequence[str]],
) -> Job[Result]:
    """Return a function that makes a release's patched tree and environment, and runs something.

    ``run`` is called with the release, the tree and the interpreter, and ``requirements`` with the
    tree; it returns what is to be installed beside the release.
    """

    def job(release: str) -> Result:
        started = time.monotonic()
        with tempfile.TemporaryDirectory(dir=CACHE, ignore_cleanup_errors=True) as scratch:
            tree = Path(scratch) / "tree"
            try:
                checkout(sources, series, release, tree)
                interpreter = install(
                    release,
                    sources.table[release],
                    folder=Path(scratch) / "venv",
                    python=python,
                    requirements=requirements(tree),
                )
            except UserError as error:
                result = Result(release=release, words="did not run", problems=(str(error),))
            else:
                result = run(release, tree, interpreter)
        return replace(result, seconds=time.monotonic() - started)

    return job


def run_all(
    releases: Sequence[str], job: Job[AnyResult], *, jobs: int, console: Console
) -> list[AnyResult]:
    """Do the job for each release, ``jobs`` at a time, and print each result when it is there."""
    results: list[AnyResult] = []
    with ThreadPoolExecutor(jobs) as pool:
        for future in as_completed([pool.submit(job, release) for release in releases]):
            result = future.result()
            results.append(result)
            mark = "[red]not as it should be[/red]" if result.problems else "[green]ok[/green]"
            head = f"[{len(results):3}/{len(releases)}] {result.release:7} {result.words}"
            console.print(f"{escape(head)}; {result.seconds:.0f} s  {mark}", highlight=False)
            for problem in result.problems:
                console.print(f"    {problem}", markup=False, highlight=False)
    return results


def run_on_trees(
    options: argparse.Namespace,
    *,
    run: Callable[[str, Path, Path], Result],
    requirements: Callable[[Path], Sequence[str]],
    console: Console,
) -> list[Result]:
    """Run something on the patched trees of the releases that a command's options choose.

    ``run`` and ``requirements`` are as for `prepare`. Raises UserError if there is no such release,
    or something is missing on this machine.
    """
    require_git()
    sources = published(load_table())
    series = load_series(sources.patches, sources.table)
    releases = chosen_releases(options.releases, series, sources.table)
    CACHE.mkdir(exist_ok=True)
    job = prepare(sources, series, python=options.python, run=run, requirements=requirements)
    return run_all(releases, job, jobs=options.jobs, console=console)


def conclude(results: Sequence[Result], console: Console) -> int:
    """Print how many releases are as they should be; return 0 if all of them are, otherwise 1."""
    bad = [result.release for result in results if result.problems]
    console.print(f"{len(results) - len(bad)} of {len(results)} releases as they should be")
    return int(bool(bad))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nox -s patched --", description=__doc__)
    add_options(parser)
    parser.add_argument(
        "--releases",
        default="ends",
        help="ends (the first and last of each series), all, or such as 0.2.0-0.3.1,0.24.0 "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--upstream",
        action="store_true",
        help="run upstream's own tests/realtime, on the bare tree as well, in place of the suite",
    )
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run the tests on the chosen releases; return 1 if any of them is not as it should be."""
    options = _parser().parse_args(arguments)
    console = Console(soft_wrap=True)
    try:
        results = run_on_trees(
            options,
            run=run_upstream if options.upstream else run_regression,
            requirements=test_requirements if options.upstream else lambda tree: (),
            console=console,
        )
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return conclude(results, console)


if __name__ == "__main__":
    sys.exit(main())
