"""Measure the branch coverage of ``shim/``: its own tests, the regression suite and the demo.

The regression suite, the tests that add to it and the demo run on releases that take different
wraps, each in an environment of its own; the other tests on the newest release. What is measured,
what is left out and why is in ``pyproject.toml``, ``[tool.coverage]``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.environments import install
from tools.releases import CACHE, ROOT, Release, UserError, load_table, select

RELEASES = "0.2.0,0.2.6,0.2.11,0.3.0,0.13.0,0.15.2"
"""Releases that together take all wraps and all turns of them, beside the newest."""

COVERAGE = "coverage>=7.10"

_FOLDER = CACHE / "coverage"
_TIMEOUT = 1800.0  # seconds for one run of tests

_PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
# The regression suite, and the tests that play a server as it does.
_REGRESSION = (*_PYTEST, "-p", "shim", "tests/regression")
_ADDITIONS = tuple(
    f"tests/test_{name}.py"
    for name in ("closing", "closing_tasks", "merging", "nested_updates", "retired_listeners")
)
_DEMO = ("-m", "shim", "demo")

# What the shim's own tests need beside those of the regression suite.
_TEST_TOOLS = ("hatchling", "packaging", "psutil", "rich", "tomli")


def own_tests() -> tuple[str, ...]:
    """Return the arguments of Python that run the shim's own tests.

    They are the files of tests/ that test neither tools nor the pages; those have no say in the
    matter.
    """
    files = [
        file
        for file in sorted(ROOT.glob("tests/test_*.py"))
        if str(file.relative_to(ROOT)) not in _ADDITIONS
    ]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    others = ("from tools", "from documentation")
    chosen = [
        str(file.relative_to(ROOT))
        for file, text in texts.items()
        if not any(imports in text for imports in others)
    ]
    return (*_PYTEST, *chosen)


def measure(name: str, arguments: Sequence[str], *, python: Path, strict: bool = False) -> None:
    """Run Python with these arguments, and keep what it and its children execute of the shim.

    Raises UserError with the end of the output if it fails.
    """
    variables = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OPENAI_AGENTS_SHIM", "COVERAGE_"))
    }
    # Absolute, as children run in other folders.
    variables["COVERAGE_FILE"] = str(_FOLDER / f"data.{name}")
    if strict:
        variables["OPENAI_AGENTS_SHIM"] = "strict"
    run = subprocess.run(
        [str(python), "-m", "coverage", "run", *arguments],
        cwd=ROOT,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        timeout=_TIMEOUT,
        check=False,
    )
    lines = run.stdout.rstrip().splitlines()
    print(f"{name}: {lines[-1] if lines else 'no output'}", flush=True)
    if run.returncode:
        raise UserError("\n".join([f"{name} failed:", *lines[-40:]]))


def measure_release(
    release: str, table: Mapping[str, Release], *, python: str, newest: bool
) -> None:
    """Measure what runs on any release; on the newest all other tests as well."""
    with tempfile.TemporaryDirectory(dir=CACHE, ignore_cleanup_errors=True) as folder:
        interpreter = install(release, table[release], folder=Path(folder) / "venv", python=python)
        _add(interpreter, COVERAGE, *(_TEST_TOOLS if newest else ()))
        suite = (*_REGRESSION, *_ADDITIONS)
        measure(f"regression-{release}", suite, python=interpreter, strict=True)
        measure(f"demo-{release}", _DEMO, python=interpreter)
        if newest:
            measure("tests", own_tests(), python=interpreter)


def _add(interpreter: Path, *requirements: str) -> None:
    """Install today's versions of what only measures, next to a release with those of its day."""
    command = [sys.executable, "-m", "uv", "--quiet", "pip", "install"]
    command += ["--python", str(interpreter), *requirements]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise UserError(f"uv pip failed:\n{run.stderr.strip()}")


def _report() -> int:
    """Combine all data, print the report, and return coverage's exit code: 2 if it is too low."""
    variables = {**os.environ, "COVERAGE_FILE": str(_FOLDER / "data")}
    for arguments in (["combine", "--quiet"], ["report"]):
        command = [sys.executable, "-m", "coverage", *arguments]
        code = subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode
        if code:
            return code
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Measure, and print what is not covered; return the exit code."""
    parser = argparse.ArgumentParser(prog="nox -s coverage --", description=__doc__)
    parser.add_argument("--python", default="3.11", help="Python version (default: %(default)s)")
    parser.add_argument(
        "--releases", default=RELEASES, help="beside the newest one (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    try:
        table = load_table()
        newest = list(table)[-1]
        chosen = [name for name in select(table, options.releases) if name != newest]
        shutil.rmtree(_FOLDER, ignore_errors=True)
        _FOLDER.mkdir(parents=True)
        for release in (*chosen, newest):
            measure_release(release, table, python=options.python, newest=release == newest)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return _report()


if __name__ == "__main__":
    sys.exit(main())
