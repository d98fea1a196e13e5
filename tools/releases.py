"""The release table ``shim/releases.json``, and how a release is installed as of its day."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "shim" / "releases.json"
RECORD = ROOT / "tests" / "regression" / "bare.json"
CACHE = ROOT / ".cache"
REPORTS = CACHE / "reports"

PACKAGE = "openai-agents"
FIXES = ("converter-status", "close-reset", "history-merge")

WRAPT = "wrapt>=1.16,<3"

# What the regression suite needs beside a release; never resolved together with one.
TEST_REQUIREMENTS = ("pytest", "pytest-asyncio", "pytest-timeout", WRAPT)

# Beside the newest release of every distinct version of the wrapped functions.
_ALWAYS_TESTED = ("0.22.0", "0.22.2")

Release = dict[str, Any]


class UserError(Exception):
    """A mistake that the person at the keyboard can mend; shown in words, without traceback."""


def load_table() -> dict[str, Release]:
    """Return the releases of the table, oldest first.

    Raises UserError if the file is missing or is not a release table.
    """
    try:
        releases = json.loads(TABLE.read_text(encoding="utf-8"))["releases"]
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"cannot read the release table {TABLE.name}: {error}") from error
    return dict(releases)


def with_patched(release: Release, hashes: Mapping[str, str] | None) -> Release:
    """Return a table's entry with these hashes of the patched modules, next to the published ones.

    Without hashes it has none.
    """
    entry: Release = {}
    for field, value in release.items():
        if field != "patched":
            entry[field] = value
        if field == "modules" and hashes is not None:
            entry["patched"] = dict(hashes)
    return entry


def as_of_day(release: Release) -> str:
    """Return the resolver's cut-off for a release, one day after its upload (RFC 3339, UTC)."""
    uploaded = datetime.fromisoformat(release["uploaded"].replace("Z", "+00:00"))
    return (uploaded + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


def sdk_arguments(name: str, release: Release) -> list[str]:
    """Return the arguments of ``uv pip install`` for a release with its day's dependencies."""
    return ["--exclude-newer", as_of_day(release), f"{PACKAGE}[voice]=={name}"]


def default_set(table: Mapping[str, Release]) -> list[str]:
    """Return the releases of the plain test run, oldest first.

    They are the newest release of every distinct version of the wrapped functions, the two
    releases of the upstream reports, and the newest release.
    """
    newest = {release.get("functions"): name for name, release in table.items()}
    chosen = {*newest.values(), *_ALWAYS_TESTED, list(table)[-1]}
    return [name for name in table if name in chosen]


def short_set(table: Mapping[str, Release]) -> list[str]:
    """Return a few releases from all over the default set, oldest first.

    They are for the Python versions beside the one on which the whole set runs: what a release
    does hardly depends on the Python version.
    """
    releases = default_set(table)
    return [
        name for position, name in enumerate(releases) if position % 12 == 0 or name == releases[-1]
    ]


def select(table: Mapping[str, Release], choice: str | None) -> list[str]:
    """Return the releases that ``choice`` means, oldest first: all of them without a choice.

    It is ``default`` for the default set, or names and ``A-B`` ranges, separated by commas.
    Raises UserError for a release that is not in the table, and for a range without any.
    """
    names = list(table)
    if choice is None:
        return names
    if choice == "default":
        return default_set(table)
    chosen: set[str] = set()
    for entry in choice.split(","):
        first, _, last = entry.strip().partition("-")
        last = last or first
        for end in (first, last):
            if end not in names:
                raise UserError(f"no supported release: {end!r} (see shim/releases.json)")
        releases = names[names.index(first) : names.index(last) + 1]
        if not releases:
            raise UserError(f"no releases from {first} to {last}: {last} is the older one")
        chosen.update(releases)
    return [name for name in names if name in chosen]
