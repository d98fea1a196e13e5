"""The pieces of what ``python -m shim status`` and ``releases`` print."""

from __future__ import annotations

import pytest

from shim.guard import Release
from shim.reports import fixed_in, plain_table, ranges


def table(*needs: str) -> dict[str, Release]:
    """A table of releases 0.1.0, 0.2.0, ..., each of which needs the fixes that are named."""
    return {
        f"0.{number}.0": Release(
            version=f"0.{number}.0",
            uploaded="2026-01-02T03:04:05Z",
            modules={},
            patched={},
            fixes=dict.fromkeys(needed.split(), ("1.1",)),
        )
        for number, needed in enumerate(needs, 1)
    }


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ((), ""),
        (("2.1",), "2.1"),
        (("2.1", "2.2"), "2.1-2.2"),
        (("1.1", "1.2", "1.3", "1.5", "2.6", "2.7", "3.9", "3.10"), "1.1-1.3 1.5 2.6-2.7 3.9-3.10"),
        (("1.3", "2.4"), "1.3 2.4"),
    ],
)
def test_rules_in_short(rules: tuple[str, ...], words: str) -> None:
    assert ranges(rules) == words


@pytest.mark.parametrize(
    ("releases", "version"),
    [
        (table("close-reset", "close-reset"), None),
        (table("close-reset history-merge", "history-merge", ""), "0.2.0"),
        (table("close-reset", "", "close-reset", "", ""), "0.4.0"),
        (table("history-merge"), "0.1.0"),
    ],
)
def test_since_when_a_fix_is_not_needed(releases: dict[str, Release], version: str | None) -> None:
    assert fixed_in("close-reset", releases) == version


def test_a_long_reason_takes_several_lines_and_a_path_is_not_broken() -> None:
    path = "/a-" + "very-" * 30 + "long/path.py"
    assert plain_table(["fix", "reason"], [["a", f"see {path} {'word ' * 21}"], ["bcde", "x"]]) == (
        "fix   reason\n"
        "a     see\n"
        f"      {path}\n"
        f"      {' '.join(['word'] * 19)}\n"
        "      word word\n"
        "bcde  x"
    )
