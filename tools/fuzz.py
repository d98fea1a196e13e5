"""Play generated conversations to shimmed releases, and hold their history against the contract."""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from tools.checkout import Sources, checkout
from tools.environments import add_options, install, one_or_more
from tools.git import require_git
from tools.patched import Result, conclude, run_all
from tools.patches import published
from tools.releases import CACHE, REPORTS, ROOT, UserError, load_table, select
from tools.series import Series, load_series
from tools.suite import environment

RELEASES = "0.2.6,0.3.0,0.13.0,0.19.4,0.22.0,0.24.0"
EXAMPLES = 20_000

REQUIREMENTS = ("hypothesis",)

# How long it takes to start, and then for a conversation, on a machine that is busy.
_SECONDS, _SECONDS_EACH = 300.0, 0.5

_PLAYED = re.compile(r"^(\d+ conversations), .* on the average", re.MULTILINE)
_BROKEN = re.compile(r"^ *(\d+) of \d+ conversations break (.+?), the first", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Play:
    """What is played to each release, and how often: ``modes`` of shimmed, bare and patched."""

    modes: Sequence[str]
    examples: int
    seed: int | None
    """What the conversations come from; the same ones every time if None."""
    python: str

    def command(self, python: Path, mode: str, tree: Path) -> list[str]:
        """Return the command that plays to a release with this interpreter."""
        command = [str(python), "-m", "pytest", "tests/properties", "-p", "no:cacheprovider"]
        command += ["--conversations", str(self.examples)]
        if self.seed is not None:
            command += ["--hypothesis-seed", str(self.seed)]
        if mode == "shimmed":
            return [*command, "-p", "shim"]
        if mode == "bare":
            return [*command, "--counterexample"]
        return [*command, "-p", "tools.agents_from", f"--agents-from={tree / 'src'}"]

    @property
    def timeout(self) -> float:
        """Seconds after which a run is stopped."""
        return _SECONDS + self.examples * _SECONDS_EACH


def play_release(release: str, play: Play, *, sources: Sources, series: Sequence[Series]) -> Result:
    """Make a release's environment, and play to it in each of the modes."""
    started = time.monotonic()
    words, problems = [], []
    with tempfile.TemporaryDirectory(dir=CACHE, ignore_cleanup_errors=True) as scratch:
        tree = Path(scratch) / "tree"
        try:
            python = install(
                release,
                sources.table[release],
                folder=Path(scratch) / "venv",
                python=play.python,
                requirements=REQUIREMENTS,
            )
            if "patched" in play.modes:
                checkout(sources, series, release, tree)
        except UserError as error:
            words, problems = ["did not run"], [str(error)]
        else:
            for mode in play.modes:
                found, problem = _run(release, mode, play, python=python, tree=tree)
                words.append(f"{mode}: {found}")
                problems += [] if problem is None else [problem]
    return Result(
        release=release,
        words="; ".join(words),
        problems=tuple(problems),
        seconds=time.monotonic() - started,
    )


def _run(
    release: str, mode: str, play: Play, *, python: Path, tree: Path
) -> tuple[str, str | None]:
    """Run the properties; return what was played or found, and what is wrong, if anything."""
    source = tree / "src" if mode == "patched" else None
    try:
        run = subprocess.run(
            play.command(python, mode, tree),
            cwd=ROOT,
            env=environment(source),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=play.timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "stopped", f"{mode}: stopped after {play.timeout:.0f} seconds"
    REPORTS.mkdir(parents=True, exist_ok=True)
    report = REPORTS / f"properties-{release}-{mode}.txt"
    report.write_text(run.stdout, encoding="utf-8")
    played = _PLAYED.search(run.stdout)
    found = played[1] if played else "nothing was played"
    if mode == "bare":
        broken = [f"{count} break {rule}" for count, rule in _BROKEN.findall(run.stdout)]
        found = ", ".join([found, *broken])
    is_good = run.returncode == 0 and played is not None
    return found, None if is_good else f"{mode}:\n{run.stdout.rstrip()}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nox -s fuzz --", description=__doc__)
    add_options(parser)
    parser.add_argument(
        "--releases", default=RELEASES, help="such as 0.3.0-0.3.2,0.24.0 (default: %(default)s)"
    )
    parser.add_argument(
        "--examples",
        type=one_or_more("conversations"),
        default=EXAMPLES,
        help="how many conversations for each of them (default: %(default)s)",
    )
    origin = parser.add_mutually_exclusive_group()
    origin.add_argument("--seed", type=int, help="what they come from (default: chance)")
    origin.add_argument(
        "--repeatable", action="store_true", help="play the same conversations every time"
    )
    parser.add_argument(
        "--patched", action="store_true", help="play to the patched trees as well, without the shim"
    )
    parser.add_argument(
        "--bare",
        action="store_true",
        help="play to the releases as published as well: a conversation has to break a property",
    )
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Play to the chosen releases; return 1 if any of them is not as it should be."""
    options = _parser().parse_args(arguments)
    console = Console(soft_wrap=True)
    seed = random.randrange(2**32) if options.seed is None else options.seed
    modes = ["shimmed"]
    modes += [mode for mode in ("bare", "patched") if getattr(options, mode)]
    play = Play(
        modes=modes,
        examples=options.examples,
        seed=None if options.repeatable else seed,
        python=options.python,
    )
    try:
        sources = published(load_table())
        if options.patched:
            require_git()
        series = load_series(sources.patches, sources.table)
        releases = select(sources.table, options.releases)
        CACHE.mkdir(exist_ok=True)
        console.print(
            "the same conversations as every time"
            if options.repeatable
            else f"conversations from --seed {seed}",
            highlight=False,
        )
        results = run_all(
            releases,
            lambda release: play_release(release, play, sources=sources, series=series),
            jobs=options.jobs,
            console=console,
        )
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    code = conclude(results, console)
    console.print(f"what was exercised: {REPORTS.relative_to(ROOT)}/properties-*.txt")
    return code


if __name__ == "__main__":
    sys.exit(main())
