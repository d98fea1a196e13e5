"""Take a release that has come out into the project: its data, its patches, its pages.

Each step leaves alone what is done already, so that after a step that needs a human the same
command goes on from there.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from tools import equivalence, patched
from tools.checkout import Sources, port
from tools.compatibility.project import write_pages
from tools.compatibility.results import RESULTS, rule_of
from tools.environments import install
from tools.export import export
from tools.git import require_git
from tools.matrix import MatrixResult, record_results, run_release
from tools.patch_check import check_release, record_hashes
from tools.patches import published
from tools.pin_pages import update_pages
from tools.published import find_release
from tools.record import build_record, dump_record, failing_tests, load_record
from tools.release_table import describe, dump_table, insert, needed_fixes
from tools.releases import CACHE, FIXES, PACKAGE, RECORD, TABLE, Release, UserError, load_table
from tools.series import INDEX, PATCHES, Series, dump_series, load_series, series_of
from tools.suite import run_suite
from tools.verdicts import bare_problems, summary

_SEQUENCES = 200


class Pin:
    """The steps that pin one release, in the order in which they are taken."""

    def __init__(self, release: str, *, python: str, console: Console) -> None:
        self._release = release
        self._python = python
        self._console = console

    def _say(self, words: str) -> None:
        self._console.print(words, markup=False, highlight=False)

    def run(self) -> None:
        """Take all steps. Raises UserError, in words, for what needs a human."""
        self._add()
        self._find_defects()
        self._find_series()
        self._run_suite()
        self._run_the_rest()

    def _add(self) -> None:
        """Put the release into the table, as its published wheel gives it."""
        table = load_table()
        cache = CACHE / "wheels"
        cache.mkdir(parents=True, exist_ok=True)
        known = table.get(self._release)
        try:
            entry = describe(self._release, known or find_release(self._release), cache=cache)
        except KeyError as error:
            raise UserError(f"a module that the fixes wrap is gone: {error}") from error
        if known is not None:
            changed = [field for field, value in entry.items() if known.get(field) != value]
            if changed:
                raise UserError(
                    f"{self._release} is in {TABLE.name}, but its wheel gives another "
                    f"{', '.join(changed)}. To see what: nox -s table -- --check"
                )
            self._say(f"{self._release} is in {TABLE.name}, as its wheel gives it")
            return
        # What it needs is found out next; until then it counts as sound.
        TABLE.write_text(
            dump_table(insert(table, self._release, {**entry, "fixes": {}})), encoding="utf-8"
        )
        self._say(f"{self._release}, uploaded {entry['uploaded']}: the wheel is the index's")

    def _find_defects(self) -> None:
        """Run the suite on the bare release; record what fails, and so which fixes it needs."""
        table = load_table()
        with tempfile.TemporaryDirectory(dir=CACHE, ignore_cleanup_errors=True) as scratch:
            interpreter = install(
                self._release,
                table[self._release],
                folder=Path(scratch) / "venv",
                python=self._python,
            )
            run = run_suite("recording", python=interpreter)
        self._say(f"bare: {summary(run)}")
        order = list(table)
        problems = bare_problems(self._release, run, record=None, order=order)
        if problems:
            raise UserError(
                "the suite cannot tell which defects the release has. It may differ in what the "
                "tests build on, tests/regression/wire.py and call.py:\n" + "\n".join(problems)
            )
        record = build_record({self._release: run.outcomes}, order, load_record(RECORD))
        RECORD.write_text(dump_record(record), encoding="utf-8")
        fixes = needed_fixes(self._release, record, order)
        entry = {**table[self._release], "fixes": fixes}
        TABLE.write_text(dump_table(insert(table, self._release, entry)), encoding="utf-8")
        for fix in FIXES:
            self._say(f"  {fix}: {fixes.get(fix) or 'no rule is broken, the fix is not needed'}")
        before = order[order.index(self._release) - 1]
        self._say_news(failing_tests(run.outcomes), before, table[before])

    def _say_news(self, failing: set[str], before: str, entry: Release) -> None:
        known = {rule for rules in entry["fixes"].values() for rule in rules.split()}
        rules = {rule_of(test) for test in failing}
        for words, found in {
            f"broken, and not in {before}": {r for r in rules if r[0].isdigit()} - known,
            f"fixed since {before}": known - rules,
        }.items():
            if found:
                self._say(f"  {words}: rules {', '.join(sorted(found))}")

    def _find_series(self) -> None:
        """Find the series of patches that is for the release as well, or make one for it."""
        sources = published(load_table())
        series = load_series(sources.patches, sources.table)
        own = series_of(series, self._release)
        if own is None:
            own = self._fitting(sources, series) or self._ported(sources, series)
            series = with_release(series, own, self._release, list(sources.table))
            (PATCHES / INDEX).write_text(dump_series(series), encoding="utf-8")
        finding = check_release(sources, own, self._release)
        if finding.problems:
            raise UserError("\n".join(finding.problems))
        record_hashes({self._release: finding.modules}, TABLE)
        self._say(f"patches: {own.words}")

    def _fitting(self, sources: Sources, series: Sequence[Series]) -> Series | None:
        """Return a series whose patches apply as they stand and export to the same bytes.

        It is one that is there under the release's name, or that of the release before.
        """
        order = list(sources.table)
        before = series_of(series, order[order.index(self._release) - 1])
        own = Series(folder=PATCHES / self._release, releases=(self._release,))
        for candidate in (own, before):
            if candidate is None or candidate.missing():
                continue
            if not check_release(sources, candidate, self._release).problems:
                return candidate
        return None

    def _ported(self, sources: Sources, series: Sequence[Series]) -> Series:
        """Return a new series, made from the one of the release before by a three-way merge."""
        order = list(sources.table)
        before = series_of(series, order[order.index(self._release) - 1])
        if before is None:
            raise UserError(f"the release before {self._release} is in no series of patches")
        folder = CACHE / "pin" / self._release
        if folder.exists():
            raise UserError(
                f"{folder} is there from an earlier run. When its commits are as they should be: "
                f"nox -s patches-export -- {self._release} {folder}, remove it, and pin again. To "
                "begin anew: remove it, and pin again"
            )
        complete, words = port(sources, series, self._release, folder, origin=before.name)
        if not complete:
            needless = set(FIXES) - set(sources.table[self._release]["fixes"])
            raise UserError(
                f"{words}\nThen pin again."
                + (
                    f" The suite finds {', '.join(sorted(needless))} not needed any more: see "
                    "patches/README.md about a release that needs only some of the patches."
                    if needless
                    else ""
                )
            )
        self._say(export(sources, series, self._release, folder, name=None).splitlines()[0])
        shutil.rmtree(folder)
        return Series(folder=PATCHES / self._release, releases=(self._release,))

    def _run_suite(self) -> None:
        """Run the suite bare, shimmed and patched; record the results and write the pages."""
        sources = published(load_table())
        result = run_release(
            self._release,
            sources=sources,
            series=load_series(sources.patches, sources.table),
            python=self._python,
            record=load_record(RECORD),
        )
        self._say(f"{result.words}; {result.seconds:.0f} s")
        if not result.is_complete:
            raise UserError("a run of the suite broke off:\n" + "\n".join(result.problems))
        record_results([result], list(sources.table), record=RECORD, file=RESULTS)
        write_pages()
        for page in update_pages(self._release, sources.table):
            self._say(f"{page}: say what is different in {self._release}")
        if result.problems:
            raise UserError(failures(result))

    def _run_the_rest(self) -> None:
        """Compare shim and patches, and run upstream's own tests on the patched tree."""
        chosen = ["--releases", self._release, "--python", self._python, "--jobs", "1"]
        steps: dict[str, Callable[[list[str]], int]] = {
            "shim and patches differ": lambda arguments: equivalence.main(
                [*arguments, "--sequences", str(_SEQUENCES)]
            ),
            "the patches break upstream's own tests": lambda arguments: patched.main(
                [*arguments, "--upstream"]
            ),
        }
        for words, step in steps.items():
            if step(chosen):
                raise UserError(f"{words}: see above")


def with_release(
    series: Sequence[Series], own: Series, release: str, order: Sequence[str]
) -> list[Series]:
    """Return the series with ``own``, which is for ``release`` as well, oldest first."""
    releases = sorted({*own.releases, release}, key=order.index)
    extended = Series(folder=own.folder, releases=tuple(releases))
    others = [each for each in series if each.folder != own.folder]
    return sorted([*others, extended], key=lambda each: order.index(each.releases[0]))


def failures(result: MatrixResult) -> str:
    """Say which rules a release breaks in spite of a fix, on which side, and in which tests."""
    lines = [f"{result.release} needs a human:"]
    for side, run in result.runs.items():
        if side == "bare":
            continue
        by_rule: dict[str, list[str]] = {}
        for test in sorted(failing_tests(run.outcomes)):
            by_rule.setdefault(rule_of(test), []).append(test)
        for rule, tests in by_rule.items():
            lines.append(f"rule {rule} fails {side}: {', '.join(tests)}")
    return "\n".join([*lines, *result.problems])


def main(arguments: Sequence[str] | None = None) -> int:
    """Pin a release; return 1, with the reason on stderr, if it takes a human to go on."""
    parser = argparse.ArgumentParser(prog="nox -s pin --", description=__doc__)
    parser.add_argument("release", metavar="VERSION", help="such as 0.25.0")
    parser.add_argument("--python", default="3.11", help="Python version (default: %(default)s)")
    options = parser.parse_args(arguments)
    console = Console(soft_wrap=True)
    started = time.monotonic()
    try:
        if not re.fullmatch(r"\d+(\.\d+)*", options.release):
            raise UserError(f"{options.release!r} is not a final release, such as 0.25.0")
        require_git()
        CACHE.mkdir(exist_ok=True)
        Pin(options.release, python=options.python, console=console).run()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    minutes = (time.monotonic() - started) / 60
    console.print(f"{PACKAGE} {options.release} is pinned; {minutes:.0f} minutes. Read the diff.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
