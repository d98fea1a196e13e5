"""Run upstream's own Realtime tests, from a release's sdist, without and with the shim."""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import tomli
from packaging.requirements import Requirement

from tools.junit import outcomes, reasons
from tools.published import download
from tools.releases import CACHE, Release, UserError, load_table

# Those of upstream's development dependencies that its Realtime tests need.
_TEST_DEPENDENCIES = {
    "fastapi",
    "inline-snapshot",
    "pytest",
    "pytest-asyncio",
    "pytest-mock",
    "twilio",
}
# What upstream has by way of other development dependencies, and its tests import.
_INDIRECT_DEPENDENCIES = ("httpx", "python-multipart")


def fetch_sdist(name: str, release: Release) -> Path:
    """Return the folder of a release's unpacked sdist, downloaded unless the cache has it.

    Raises UserError if it cannot be had, or its modules are not those of the wheel.
    """
    cache = CACHE / "sdists"
    folder = cache / f"openai_agents-{name}"
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            with tarfile.open(download(name, "sdist", folder=Path(scratch))) as archive:
                archive.extractall(scratch, filter="data")
            try:
                (Path(scratch) / folder.name).rename(folder)
            except OSError:
                # Another process may have been faster; then theirs is as good.
                if not folder.exists():
                    raise
    for module, expected in release["modules"].items():
        source = folder / "src" / f"{module.replace('.', '/')}.py"
        if hashlib.sha256(source.read_bytes()).hexdigest() != expected:
            raise UserError(f"{module} in the sdist of {name} is not the one in the release table")
    return folder


def test_requirements(sdist: Path) -> list[str]:
    """Return what upstream's tests need, as its own development dependencies ask for it."""
    project = tomli.loads((sdist / "pyproject.toml").read_text(encoding="utf-8"))
    entries = [Requirement(entry) for entry in project["dependency-groups"]["dev"]]
    direct = [str(entry) for entry in entries if entry.name in _TEST_DEPENDENCIES]
    return [*direct, *_INDIRECT_DEPENDENCIES]


@dataclass(frozen=True)
class TestRun:
    """What upstream's tests gave: each test's outcome, why some failed, and pytest's output."""

    # Not for pytest to collect.
    __test__ = False

    outcomes: Mapping[str, str]
    reasons: Mapping[str, str]
    output: str


def run_tests(
    tree: Path,
    *,
    source: Path | None = None,
    tests: Sequence[str] = ("tests/realtime",),
    python: Path | None = None,
    arguments: Sequence[str] = (),
) -> TestRun:
    """Run tests of a tree, the unpacked sdist or one like it, with its own configuration.

    They test the tree's own source: some look for its path in tracebacks. ``source`` is another
    folder with the SDK to test. ``tests`` are files or folders in the tree, ``python`` is the
    interpreter in place of this one, and ``arguments`` are passed on to pytest. An sdist has the
    bytes of the wheel, so the shim accepts it, and under ``strict`` nothing passes if it does not.
    """
    source = source or tree / "src"
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        command = [str(python or sys.executable), "-m", "pytest", *tests]
        command += ["-p", "no:cacheprovider", "--continue-on-collection-errors"]
        # With a space, pytest would look for its configuration above the folder as well.
        command += ["-p", "tools.agents_from", f"--agents-from={source}"]
        command += [f"--junitxml={report}", *arguments]
        run = subprocess.run(
            command,
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(source), "OPENAI_AGENTS_SHIM": "strict"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        output = f"{run.stdout}\n{run.stderr}"
        if not report.exists():
            return TestRun({}, {}, output)
        return TestRun(outcomes(report), reasons(report), output)


def lost_tests(without: Mapping[str, str], fixed: Mapping[str, str]) -> list[str]:
    """Return the tests that pass without the fixes and do not pass with them."""
    return sorted(
        test
        for test, outcome in without.items()
        if outcome == "passed" and fixed.get(test) != "passed"
    )


def in_words(found: Mapping[str, str]) -> str:
    """Return the numbers of a run in words."""
    number = Counter(found.values())
    words = f"{number['passed']} passed, {number['failed']} failed, {number['error']} errors"
    return f"{words}, {number['skipped']} skipped"


def compare(name: str, sdist: Path) -> int:
    """Run the tests both ways and print the numbers; return 1 if a test was lost or none ran."""
    with ThreadPoolExecutor() as pool:
        pending = [
            pool.submit(run_tests, sdist, arguments=arguments) for arguments in ([], ["-p", "shim"])
        ]
        without, shimmed = (run.result() for run in pending)
    print(f"{name} without the shim: {in_words(without.outcomes)}")
    print(f"{name} with the shim:    {in_words(shimmed.outcomes)}")
    lost = lost_tests(without.outcomes, shimmed.outcomes)
    for test in lost:
        print(f"lost with the shim: {test}")
    if not any(outcome == "passed" for outcome in without.outcomes.values()):
        print(f"no test passed without the shim:\n{without.output}")
        return 1
    if lost:
        print(shimmed.output)
    return int(bool(lost))


def main(arguments: list[str] | None = None) -> int:
    """Prepare or run the comparison for one release; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.upstream", description=__doc__)
    parser.add_argument("release", help="such as 0.6.8")
    parser.add_argument(
        "--requirements", type=Path, help="only write what the tests need, into this file"
    )
    options = parser.parse_args(arguments)
    try:
        table = load_table()
        if options.release not in table:
            raise UserError(f"no supported release: {options.release}")
        sdist = fetch_sdist(options.release, table[options.release])
        if options.requirements is not None:
            text = "\n".join([*test_requirements(sdist), ""])
            options.requirements.write_text(text, encoding="utf-8")
            return 0
        return compare(options.release, sdist)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
