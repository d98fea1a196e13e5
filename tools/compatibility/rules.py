"""The rules of the contract, as the page shows them: text from the contract, titles from here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tools.compatibility.results import OTHER
from tools.releases import ROOT, UserError

CONTRACT = ROOT / "docs" / "contract.md"

BESIDE = "beside the rules"
"""Takes the place of a fix for the tests that are named after no rule of the contract."""

TITLES = {
    "1.1": "The status that the server sends is the one in history",
    "1.2": "A status that is not sent changes nothing",
    "1.3": "A status that is sent always wins",
    "1.4": "Called directly, the converter answers as ever",
    "2.1": "Nothing of the closed connection is remembered",
    "2.2": "The next connection does not touch old items",
    "2.3": "The playback tracker forgets the old item",
    "2.4": "However close() ends, the state is reset",
    "2.5": "A late handler brings nothing back",
    "2.6": "Audio before the session's format is handled",
    "3.1": "Status, place and other fields stay if not sent",
    "3.2": "Parts are paired by what they are",
    "3.3": "In a pair, news wins and silence keeps",
    "3.4": "Parts are added, and none is dropped",
    "3.5": "Empty content keeps every part",
    "3.6": "A transcribed user item gets its audio",
    "3.7": "A transcript delta changes the transcript alone",
    "3.8": "No transcript lands on the wrong part",
    "3.9": "A later update of a tool call replaces it",
    "3.10": "The old list and other items are not changed",
    "3.11": "The same update twice is the same as once",
    "3.12": "Accepted content never makes the merge raise",
    "3.13": "The session events stay as they are",
    "#4597": "A finished answer stays completed",
    "#5068": "Two sessions on one runner",
    OTHER: "Everything else",
}
"""Short names of the rules."""

_TEXTS = {
    "#4597": "The conversation of the upstream report, end to end: after the user's next words "
    "the SDK retrieves the last answer.",
    "#5068": "The conversation of the upstream report, end to end: the second session's server "
    "must hear nothing of the first one's items.",
    OTHER: "The tests that are named after no rule: a tool call from end to end, a subclass "
    "that changes updates, and the transcription of a known item.",
}

_HEADING = re.compile(r"## (\d)\. (\S+)$")
_RULE = re.compile(r"(\d\.\d+) (.+)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule: its number, the fix that it belongs to, its short name and its text in Markdown."""

    name: str
    fix: str
    title: str
    text: str

    @property
    def anchor(self) -> str:
        """The rule as the end of a page's address."""
        return f"rule-{self.name.removeprefix('#')}"


def parse_rules(contract: str) -> list[Rule]:
    """Return the rules of a contract in its order, and then what is tested beside them.

    Raises UserError if the contract and `TITLES` are not about the same rules.
    """
    fixes: dict[str, str] = {}
    texts: dict[str, str] = {}
    for paragraph in re.split(r"\n\s*\n", contract):
        if heading := _HEADING.match(paragraph):
            fixes[heading[1]] = heading[2]
        elif rule := _RULE.match(paragraph):
            texts[rule[1]] = " ".join(rule[2].split())
    texts |= _TEXTS
    if texts.keys() != TITLES.keys():
        differing = ", ".join(sorted(texts.keys() ^ TITLES.keys()))
        raise UserError(f"docs/contract.md and the titles of rules do not agree on {differing}")
    return [
        Rule(name=name, fix=fixes.get(name.split(".")[0], BESIDE), title=TITLES[name], text=text)
        for name, text in texts.items()
    ]


def load_rules() -> list[Rule]:
    """Return the rules of this project's contract; raises UserError as `parse_rules`."""
    return parse_rules(CONTRACT.read_text(encoding="utf-8"))


def rules_by_fix(rules: Sequence[Rule]) -> dict[str, list[Rule]]:
    """Return the rules of each fix, in order."""
    return {
        fix: [rule for rule in rules if rule.fix == fix]
        for fix in dict.fromkeys(rule.fix for rule in rules)
    }
