"""Make the jobs of continuous integration from what ``nox --list --json`` says.

    python -m tools.ci_jobs lists --shared 3.13

``lists`` is a folder with the list of each Python version, ``3.13.json``: nox, run by that version,
lists what it runs by itself. A job is the sessions of one name on one Python version. Sessions
that are of no Python version run once, on the ``--shared`` one. Prints ``jobs=`` and a JSON array
for ``GITHUB_OUTPUT``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .releases import UserError

Job = dict[str, str]
Listed = Sequence[Mapping[str, Any]]


def jobs(lists: Mapping[str, Listed], *, shared: str) -> list[Job]:
    """Return the jobs, given what nox lists on each Python version.

    A job has the ``name`` and ``python`` of its sessions, and their full names in ``sessions``, a
    line each. Raises UserError if there would be no session on a Python version, or no list of
    the shared one.
    """
    if shared not in lists:
        raise UserError(f"there is no list of Python {shared}, for the sessions of no version")
    sessions: dict[tuple[str, str], list[str]] = {}
    for python, listed in lists.items():
        own = [each for each in listed if each["python"] == python]
        if not own:
            raise UserError(f"nox lists no session for Python {python}")
        if python == shared:
            own = [each for each in listed if each["python"] is None] + own
        for each in own:
            sessions.setdefault((each["name"], python), []).append(each["session"])
    return [
        {"name": name, "python": python, "sessions": "\n".join(names)}
        for (name, python), names in sessions.items()
    ]


def _read(folder: Path) -> dict[str, Listed]:
    lists = {}
    for file in sorted(folder.glob("*.json")):
        try:
            lists[file.stem] = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise UserError(f"{file} is not a list of sessions: {error}") from error
    return lists


def main(arguments: list[str] | None = None) -> int:
    """Print the jobs; return 1 if there is something wrong with the lists."""
    parser = argparse.ArgumentParser(prog="python -m tools.ci_jobs", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder that holds the lists, by Python version")
    parser.add_argument("--shared", required=True, help="Python version of what is of no version")
    options = parser.parse_args(arguments)
    try:
        found = jobs(_read(options.folder), shared=options.shared)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"jobs={json.dumps(found)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
