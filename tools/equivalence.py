"""Play generated conversations to shimmed releases and to their patched trees, and compare."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from tools.environments import add_options
from tools.patched import Result, conclude, run_on_trees
from tools.releases import CACHE, REPORTS, ROOT, UserError

REQUIREMENTS = ("hypothesis",)

_FAILURES = CACHE / "equivalence"
_PLAYED = re.compile(r"^\d+ sequences, .* on the average", re.MULTILINE)


def compare(release: str, tree: Path, python: Path, *, arguments: Sequence[str]) -> Result:
    """Run the comparison of a release with its patched tree; ``arguments`` are for pytest."""
    command = [str(python), "-m", "pytest", "tests/equivalence", "-p", "no:cacheprovider"]
    command += ["--tree", str(tree), "--failures", str(_FAILURES), *arguments]
    run = subprocess.run(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    REPORTS.mkdir(parents=True, exist_ok=True)
    report = REPORTS / f"equivalence-{release}.txt"
    report.write_text(run.stdout, encoding="utf-8")
    played = _PLAYED.search(run.stdout)
    words = played[0] if played else "nothing was compared"
    problems = (run.stdout.rstrip(),) if run.returncode or not played else ()
    return Result(release=release, words=words, problems=problems)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nox -s equivalence --", description=__doc__)
    add_options(parser)
    # Each of them keeps two processes busy, in turns with a third one.
    parser.set_defaults(jobs=max(1, (os.cpu_count() or 1) // 2))
    parser.add_argument(
        "--releases",
        default="ends",
        help="ends (the first and last of each series), all, or such as 0.2.0-0.3.1,0.24.0 "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--sequences", type=int, default=500, help="how many on each release (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, help="what they come from (default: chance)")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Compare the chosen releases; return 1 if any of them is not as it should be."""
    options = _parser().parse_args(arguments)
    console = Console(soft_wrap=True)
    chosen = ["--sequences", str(options.sequences)]
    if options.seed is not None:
        chosen += ["--seed", str(options.seed)]
    try:
        results = run_on_trees(
            options,
            run=partial(compare, arguments=chosen),
            requirements=lambda tree: REQUIREMENTS,
            console=console,
        )
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    code = conclude(results, console)
    console.print(f"what the sequences exercised: {REPORTS.relative_to(ROOT)}/equivalence-*.txt")
    return code


if __name__ == "__main__":
    sys.exit(main())
