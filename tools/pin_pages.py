"""What the pages for users say of the newest release, brought up to a newer one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tools.releases import FIXES, ROOT, Release

README = "README.md"


def page_of(fix: str) -> str:
    """Return the page of a fix, as a path in the project."""
    return f"docs/{fix}.md"


def updated(text: str, *, page: str, release: str, table: Mapping[str, Release]) -> str:
    """Return the text of a page when ``release``, the newest in the table, has come to it.

    README has the range of releases and their number. In the page of a fix the last row of the
    releases goes on if the release breaks the same rules as the one before; otherwise what is
    different is for people to say, and nothing changes. Text that has it already stays.
    """
    before = list(table)[-2]
    if page == README:
        first = next(iter(table))
        text = text.replace(f"{first} to {before}", f"{first} to {release}")
        return text.replace(f"All {len(table) - 1} releases", f"All {len(table)} releases")
    fix = next(each for each in FIXES if page_of(each) == page)
    if table[release]["fixes"].get(fix) != table[before]["fixes"].get(fix):
        return text
    text = text.replace(f" to {before} |", f" to {release} |")
    return text.replace(f"| {before} |", f"| {before} to {release} |")


def update_pages(release: str, table: Mapping[str, Release], *, root: Path = ROOT) -> list[str]:
    """Bring the pages up to a release, if it is the newest; return those that a human has to.

    They are the pages of the fixes of which the release breaks other rules than the one before.
    """
    if release != list(table)[-1]:
        return []
    for page in (README, *map(page_of, FIXES)):
        file = root / page
        text = file.read_text(encoding="utf-8")
        file.write_text(updated(text, page=page, release=release, table=table), encoding="utf-8")
    before = table[list(table)[-2]]["fixes"]
    now = table[release]["fixes"]
    return [page_of(fix) for fix in FIXES if now.get(fix) != before.get(fix)]
