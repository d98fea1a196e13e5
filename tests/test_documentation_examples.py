"""The transcripts in the pages are what the scripts in docs/examples print.

Each transcript is of a release, so this runs on several: ``nox -s examples``.
"""

from __future__ import annotations

import ast
import re
import sys
from importlib import metadata

import pytest
from children import ROOT, run
from documentation import RELEASES, all_blocks

FOLDER = ROOT / "docs" / "examples"
SDK = metadata.version("openai-agents")
QUIET = {"OPENAI_AGENTS_DISABLE_TRACING": "1", "NO_PROXY": "127.0.0.1"}


def transcripts() -> list[tuple[str, str, str, str]]:
    """Return script, side, release and text of every transcript."""
    found = []
    for block in all_blocks():
        if block.comment.startswith("example: "):
            script, side, *releases = block.comment.removeprefix("example: ").split()
            found += [(script, side, release, block.text) for release in releases]
    return found


@pytest.mark.skipif(SDK not in RELEASES, reason="the pages have no transcript of this release")
@pytest.mark.parametrize(
    ("script", "side", "text"),
    [
        pytest.param(script, side, text, id=f"{script}-{side}")
        for script, side, release, text in transcripts()
        if release == SDK
    ],
)
def test_a_script_prints_the_transcript(script: str, side: str, text: str) -> None:
    start = {"bare": [], "shimmed": ["-m", "shim", "run"]}[side]
    child = run([sys.executable, *start, str(FOLDER / f"{script}.py")], environment=QUIET)
    assert (child.stdout, child.stderr) == (text, "")
    assert child.returncode == 0


def test_every_script_has_transcripts_of_both_sides() -> None:
    found = {(script, side) for script, side, _, _ in transcripts()}
    scripts = {file.stem for file in FOLDER.glob("*.py")}
    assert found == {(script, side) for script in scripts for side in ("bare", "shimmed")}
    assert {release for _, _, release, _ in transcripts()} == set(RELEASES)


def test_nox_has_a_session_for_each_release_of_a_transcript() -> None:
    noxfile = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    (found,) = re.findall(r"^EXAMPLE_RELEASES = (.+)$", noxfile, re.MULTILINE)
    assert ast.literal_eval(found) == RELEASES
