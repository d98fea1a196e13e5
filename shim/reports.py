"""What ``python -m shim status`` and ``releases`` print: tables for people, JSON for programs."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import __version__
from .activation import FIXES, Status
from .guard import DISTRIBUTION, Release, release_table

SCHEMA_VERSION = 1
"""Goes up when a field of the JSON changes its meaning or goes away."""

_ISSUES = "https://github.com/openai/openai-agents-python/issues/"
_WIDTH = 100
_GAP = "  "


def status_as_dict(status: Status) -> dict[str, Any]:
    """Return a status as plain dictionaries, ready for JSON; docs/status.md describes them."""
    table = release_table()
    return {
        "schema": SCHEMA_VERSION,
        "shim": __version__,
        "sdk": {"name": DISTRIBUTION, "version": status.version, "path": _path_of_sdk()},
        "fixes": {
            fix.name: {
                "state": status.fixes[fix.name].state,
                "reason": status.fixes[fix.name].reason,
                "issues": [_ISSUES + issue.removeprefix("#") for issue in fix.issues],
                "fixed_in": fixed_in(fix.name, table),
            }
            for fix in FIXES
        },
        "removable": is_removable(status),
    }


def is_removable(status: Status) -> bool:
    """Tell whether the installed SDK needs none of the fixes."""
    return all(fix.state == "not-needed" for fix in status.fixes.values())


def fixed_in(fix: str, table: Mapping[str, Release]) -> str | None:
    """Return the first release since which none needs a fix, or None while the newest does."""
    first = None
    for version, release in table.items():
        if fix in release.fixes:
            first = None
        elif first is None:
            first = version
    return first


def _path_of_sdk() -> str | None:
    """Return the folder of the package ``agents`` that was imported, if any was."""
    file = getattr(sys.modules.get("agents"), "__file__", None)
    return str(Path(file).parent) if file else None


def print_status(status: Status) -> None:
    """Print a status: the SDK, a table of the fixes, and whether the shim can go."""
    table = release_table()
    path = _path_of_sdk()
    print(f"openai-agents-realtime-shim {__version__}")
    where = f" in {path}" if path else ""
    print(f"{DISTRIBUTION} {status.version or 'is not installed'}{where}")
    rows = [
        [
            fix.name,
            status.fixes[fix.name].state,
            ", ".join(fix.issues),
            fixed_in(fix.name, table) or f"not up to {list(table)[-1]}",
            status.fixes[fix.name].reason,
        ]
        for fix in FIXES
    ]
    _print_table(["fix", "state", "upstream", "fixed there", "reason"], rows)
    if is_removable(status):
        print("Nothing is needed here any more: remove `import shim` and uninstall the package.")


def print_releases(table: Mapping[str, Release], version: str | None) -> None:
    """Print, for each release or for one, which rules of the contract it breaks, by fix."""
    rows = [
        [
            name,
            release.uploaded.partition("T")[0],
            *(ranges(release.fixes.get(fix.name, ())) or "-" for fix in FIXES),
        ]
        for name, release in table.items()
        if version in (None, name)
    ]
    _print_table(["release", "uploaded", *(fix.name for fix in FIXES)], rows)
    print("The numbers are the rules of docs/contract.md that the release breaks; - is not needed.")


def ranges(rules: Iterable[str]) -> str:
    """Return rules in short, such as ``2.1-2.3 2.6``; ``rules`` is in order."""
    runs: list[list[tuple[int, ...]]] = []
    for rule in rules:
        key = tuple(int(part) for part in rule.split("."))
        if runs and runs[-1][-1] == (*key[:-1], key[-1] - 1):
            runs[-1].append(key)
        else:
            runs.append([key])
    ends = [[run[0]] if len(run) == 1 else [run[0], run[-1]] for run in runs]
    return " ".join("-".join(".".join(map(str, end)) for end in pair) for pair in ends)


def _print_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table with rich, which knows the terminal, or as plain text without it."""
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        print(plain_table(titles, rows))
        return
    table = Table(*titles)
    for row in rows:
        # As Text: rich would take brackets for markup.
        table.add_row(*map(Text, row))
    # Output that goes elsewhere has no width of its own.
    Console(width=None if sys.stdout.isatty() else _WIDTH).print(table)


def plain_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text, 100 characters wide; the last column takes as many lines as it needs.

    A word that is longer than the column, such as a path, is not broken.
    """
    lines = [list(titles), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(titles) - 1)]
    text = []
    for line in lines:
        cells = [f"{cell:{width}}" for cell, width in zip(line, widths, strict=False)]
        head = _GAP.join([*cells, ""])
        text += textwrap.wrap(
            line[-1],
            _WIDTH,
            initial_indent=head,
            subsequent_indent=" " * len(head),
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join(text)
