"""The two pages that show the results: Markdown for the repository, and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from tools.compatibility.results import Results
from tools.compatibility.rules import Rule, rules_by_fix
from tools.compatibility.states import (
    BROKEN,
    FIXED,
    PARTLY,
    STATES,
    UPSTREAM,
    Group,
    fix_spans,
    make_groups,
    spans,
)
from tools.releases import ROOT

MARKDOWN = ROOT / "docs" / "compatibility.md"
HTML = ROOT / "docs" / "compatibility.html"

_TEMPLATES = {MARKDOWN: "page.md.jinja", HTML: "page.html.jinja"}


def make_pages(results: Results, rules: Sequence[Rule]) -> dict[Path, str]:
    """Return the text of each page, by its file; the same results give the same text."""
    environment = Environment(
        loader=PackageLoader("tools.compatibility"),
        autoescape=lambda name: name is not None and ".html." in name,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["prose"] = _prose
    groups = make_groups(results, rules)
    values = {
        "groups": groups,
        "fixes": rules_by_fix(rules),
        "states": STATES,
        "lines_of": lambda fix: fix_spans(groups, fix),
        "spans_of": lambda rule: _spans_of(groups, rule),
        "number": len(results),
        "pythons": " and ".join(sorted({row.python for row in results.values()})),
        "bad": [state.name for state in (FIXED, PARTLY, BROKEN)],
    }
    return {
        file: environment.get_template(template).render(values)
        for file, template in _TEMPLATES.items()
    }


def _prose(text: str) -> Markup:
    """Return one paragraph of Markdown as HTML; HTML in it is shown as it is written."""
    return Markup(MarkdownIt("commonmark", {"html": False}).renderInline(text))


def _spans_of(groups: Sequence[Group], rule: Rule) -> list[tuple[str, str]]:
    """Return the states of a rule that tell something, each with the releases that have it."""
    telling = (FIXED, PARTLY, BROKEN, UPSTREAM)
    words = [(state.label, ", ".join(spans(groups, rule, state))) for state in telling]
    return [(label, releases) for label, releases in words if releases]
