"""Change the shim in small ways, one at a time, and see whether its tests notice."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from tools.environments import add_options
from tools.mutant_report import (
    Results,
    document,
    dump_results,
    load_results,
    problems_of,
    table_of,
)
from tools.mutant_runs import PACKAGE, Laboratory, Verdict, install_environments
from tools.mutant_settings import Settings, load_settings
from tools.mutations import ALL_OPERATORS, Key, Mutant
from tools.releases import CACHE, ROOT, UserError, load_table

SETTINGS = ROOT / "tools" / "mutants.toml"
DOCUMENT = ROOT / "docs" / "mutants.md"
LAST_RUN = CACHE / "mutants.json"

_REPORTED = 25


def make_mutants(settings: Settings, modules: Sequence[str]) -> list[Mutant]:
    """Return the mutants of the package's modules of these names."""
    sources = {
        module: (ROOT / PACKAGE / f"{module}.py").read_text(encoding="utf-8") for module in modules
    }
    return [
        mutant
        for module, source in sources.items()
        for mutant in settings.mutants_of(module, source, operators=ALL_OPERATORS)
    ]


def run(
    mutants: Sequence[Mutant],
    laboratory: Laboratory,
    *,
    killed: Mapping[Key, Verdict],
    console: Console,
) -> Results:
    """Try the mutants, but for those of which it is known what kills them; print each survivor.

    What is found out is kept for the next run at once, so this one may break off.
    """
    verdicts = {each.key: killed[each.key] for each in mutants if each.key in killed}
    untried = [mutant for mutant in mutants if mutant.key not in killed]
    modules = {mutant.key.module for mutant in mutants}
    others = [each for each in last_run().verdicts if each.key.module not in modules]
    for number, verdict in enumerate(laboratory.try_all(untried), 1):
        verdicts[verdict.key] = verdict
        kept = Results((*others, *verdicts.values()))
        LAST_RUN.write_text(dump_results(kept), encoding="utf-8")
        if verdict.killer is None or number % _REPORTED == 0:
            console.print(progress_line(verdict, number, len(untried)), markup=False)
    return Results(tuple(verdicts[mutant.key] for mutant in mutants))


def last_run() -> Results:
    """Return what has been found out until now; nothing if that cannot be read."""
    try:
        return load_results(LAST_RUN.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return Results(())


def progress_line(verdict: Verdict, number: int, total: int) -> str:
    """Return the line that is printed when a mutant has been tried."""
    key = verdict.key
    words = "survives" if verdict.killer is None else f"killed by {verdict.killer}"
    where = ".".join(filter(None, (key.module, key.function)))
    which = f"{key.operator} ({key.occurrence})"
    return f"[{number:4}/{total}] {words}: {where}, {which}: {key.was} -> {key.becomes}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nox -s mutants --", description=__doc__)
    add_options(parser)
    parser.add_argument("--modules", help="such as guard,wraps (default: all in mutants.toml)")
    parser.add_argument(
        "--only-survivors",
        action="store_true",
        help="try only what no earlier run has killed, and take the rest from there",
    )
    parser.add_argument(
        "--environments",
        type=Path,
        metavar="FOLDER",
        help="keep the environments there, and use those that are there (default: make new ones)",
    )
    return parser


def _chosen(choice: str | None, settings: Settings) -> list[str]:
    chosen = list(settings.modules) if choice is None else choice.split(",")
    if unknown := [each for each in chosen if each not in settings.modules]:
        raise UserError(f"{SETTINGS.name} does not name {', '.join(unknown)}")
    return chosen


def main(arguments: list[str] | None = None) -> int:
    """Try the mutants; return 1 if too many survive, or others than those that are listed."""
    options = _parser().parse_args(arguments)
    console = Console(soft_wrap=True, highlight=False)
    started = time.monotonic()
    CACHE.mkdir(exist_ok=True)
    try:
        settings = load_settings(SETTINGS.read_text(encoding="utf-8"))
        modules = _chosen(options.modules, settings)
        mutants = make_mutants(settings, modules)
        console.print(f"{len(mutants)} mutants of {', '.join(modules)}")
        stages = [each for each in settings.stages if any(map(each.is_for, modules))]
        with tempfile.TemporaryDirectory(dir=CACHE, ignore_cleanup_errors=True) as scratch:
            interpreters = install_environments(
                stages,
                load_table(),
                folder=options.environments or Path(scratch) / "environments",
                python=options.python,
            )
            known = last_run().verdicts if options.only_survivors else ()
            killed = {each.key: each for each in known if each.killer is not None}
            with Laboratory(
                interpreters, stages, folder=Path(scratch), copies=options.jobs
            ) as laboratory:
                laboratory.check(modules, report=console.print)
                results = run(mutants, laboratory, killed=killed, console=console)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    problems = problems_of(results, settings.listed, modules=modules, rate=settings.rate)
    for problem in problems:
        console.print(problem, markup=False)
    console.print(table_of(results, modules), markup=False)
    if modules == list(settings.modules):
        DOCUMENT.write_text(document(results, settings), encoding="utf-8")
        console.print(f"written to {DOCUMENT.relative_to(ROOT)}")
    minutes = (time.monotonic() - started) / 60
    console.print(f"{len(problems)} problems; {minutes:.0f} minutes, {options.jobs} at a time")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
