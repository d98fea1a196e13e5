"""Run the properties, malformed input and the faults in this environment, with the shim.

The faults run without it as well, where those have to fail that are recorded.

Standard library only, because it runs in environments that hold an old release.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.suite import TEST_TIMEOUT, run_command

SUITES = {
    "properties": ("tests/properties", "-p", "shim", "--conversations", "200"),
    # It imports the shim by itself, beside a copy of the SDK that stays bare.
    "malformed": ("tests/malformed", "--examples", "200"),
    "faults": ("tests/faults", "-p", "shim"),
    # Native, as pytest's own tracebacks of so many failures break off on Python 3.11
    # (SystemError, https://github.com/python/cpython/issues/106905).
    "bare-faults": ("tests/faults", "--bare", "--tb=native"),
}
"""Arguments of pytest for each suite."""


def main(arguments: list[str] | None = None) -> int:
    """Run the suites at the same time, print what pytest said, return 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.robustness", description=__doc__)
    parser.add_argument("--reports", type=Path, help="folder for the JUnit files")
    parser.add_argument("--label", default="robustness", help="first part of their names")
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=list(SUITES))
    options = parser.parse_args(arguments)

    def run(suite: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "pytest", *SUITES[suite], "-p", "no:cacheprovider"]
        command += ["--timeout", str(TEST_TIMEOUT)]
        if options.reports is not None:
            command.append(f"--junitxml={options.reports / f'{options.label}-{suite}.xml'}")
        return run_command(command)

    with ThreadPoolExecutor() as pool:
        runs = list(pool.map(run, options.suites))
    for suite, (_, output) in zip(options.suites, runs, strict=True):
        print(f"--- {suite}\n{output.rstrip()}", flush=True)
    return int(any(exit_code for exit_code, _ in runs))


if __name__ == "__main__":
    sys.exit(main())
