"""The project's pages: their code blocks, each with the heading and the comment before it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(
        page
        for page in (ROOT / "docs").glob("*.md")
        # Generated, and checked by the tests of what writes them.
        if page.name not in ("compatibility.md", "mutants.md")
    ),
    *(ROOT / "patches" / name for name in ("README.md", "UPSTREAM.md")),
)
RELEASES = ("0.22.0", "0.24.0")
"""The releases of which the pages have transcripts; nox has a session for each."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block.

    Attributes:
        page: The page, relative to the root.
        line: The number of its first line.
        kind: The word after the fence, such as ``console``.
        text: What is in it.
        comment: The HTML comment right before it, without its marks; empty without one.
    """

    page: str
    line: int
    kind: str
    text: str
    comment: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@cache
def tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page, in order."""
    found = []
    previous = None
    for token in tokens(page):
        if token.type in ("fence", "code_block"):
            assert token.map is not None
            comment = ""
            if previous is not None and previous.type == "html_block":
                comment = re.sub(r"^<!--|-->$", "", previous.content.strip()).strip()
            found.append(
                Block(
                    page=str(page.relative_to(ROOT)),
                    line=token.map[0] + 1,
                    kind=token.info.strip(),
                    text=token.content,
                    comment=comment,
                )
            )
        previous = token
    return found


def all_blocks() -> list[Block]:
    return [block for page in PAGES if page.exists() for block in blocks(page)]


def code_spans(page: Path) -> list[str]:
    """Return what is between backticks in the text and the tables of a page."""
    return [
        child.content
        for token in tokens(page)
        for child in token.children or ()
        if child.type == "code_inline"
    ]
