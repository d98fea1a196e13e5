"""patches/UPSTREAM.md: its scripts show the defects of the newest release, and the fixes."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib import metadata

import pytest
from children import ROOT, python

FIXES = ("converter-status", "close-reset", "history-merge")
REPORT = (ROOT / "patches" / "UPSTREAM.md").read_text()
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEWEST = list(json.loads((ROOT / "shim" / "releases.json").read_text())["releases"])[-1]

needs_newest = pytest.mark.skipif(
    metadata.version("openai-agents") != NEWEST, reason=f"the report is about {NEWEST}"
)


@dataclass(frozen=True)
class Reproduction:
    """A script of the report, and what the report says that it prints on the newest release."""

    fix: str
    script: str
    output: str


def section(heading: str) -> str:
    """Return a section of the report, without its heading."""
    return REPORT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def reproductions() -> list[Reproduction]:
    """Return the scripts of the report: each ``python`` block, with the ``text`` block after it."""
    found = []
    for fix in FIXES:
        blocks = BLOCK.findall(section(fix))
        assert [kind for kind, _ in blocks] == ["python", "text"] * (len(blocks) // 2)
        found += [
            Reproduction(fix, script, output)
            for (_, script), (_, output) in zip(blocks[::2], blocks[1::2], strict=True)
        ]
    return found


each = pytest.mark.parametrize(
    "reproduction",
    [
        pytest.param(reproduction, id=f"{number}-{reproduction.fix}")
        for number, reproduction in enumerate(reproductions(), 1)
    ],
)


@needs_newest
@each
def test_it_shows_the_defect_that_the_report_quotes(reproduction: Reproduction) -> None:
    child = python(reproduction.script)
    assert (child.stdout, child.stderr) == (reproduction.output, "")
    assert child.returncode == 1


@needs_newest
@each
def test_it_shows_that_the_fix_helps(reproduction: Reproduction) -> None:
    child = python(f"import shim\n{reproduction.script}")
    assert (child.returncode, child.stderr) == (0, "")


@each
def test_it_needs_nothing_but_the_sdk(reproduction: Reproduction) -> None:
    imported = re.findall(r"^(?:from|import) (\w+)", reproduction.script, re.MULTILINE)
    assert set(imported) <= {"agents", "asyncio", "json", "sys", "websockets"}


@pytest.mark.parametrize(("number", "fix"), list(enumerate(FIXES, 1)))
def test_each_fix_has_a_report_about_the_newest_release(number: int, fix: str) -> None:
    text = section(fix)
    assert f"`patches/0.23.1/{number:04}-{fix}.patch`" in text
    assert f"- Agents SDK version: v{NEWEST}. " in text
    assert f'`pip install "openai-agents[voice]=={NEWEST}"`' in text
    assert fix in {reproduction.fix for reproduction in reproductions()}
