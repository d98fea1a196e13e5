"""``python -m shim demo``: the whole of it in real processes, and the verdicts by themselves."""

from __future__ import annotations

import socket
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from children import Child, command_line

from shim.demo.scenes import SCENES, problems
from shim.demo.setting import Setting
from shim.demo.stage import Item, Session, Stage

FIXES = ("converter-status", "close-reset", "history-merge")


@pytest.fixture(scope="module")
def whole() -> Child:
    """The whole demonstration, on the installed release."""
    return command_line("demo")


def test_the_shimmed_side_is_clean(whole: Child) -> None:
    assert whole.stdout.count("\nshimmed:  clean\n") == len(FIXES)
    assert "shimmed clean in 3 of 3 scenes" in whole.stdout
    assert (whole.returncode, whole.stderr) == (0, "")


def test_it_tells_where_it_runs(whole: Child) -> None:
    head = whole.stdout.partition("Scene 1")[0]
    assert f"openai-agents {metadata.version('openai-agents')}" in head
    assert "protocol" in head
    for fix in FIXES:
        assert f"{fix}: applied" in head


def test_it_names_every_scene_and_both_sides(whole: Child) -> None:
    for number, fix in enumerate(FIXES, start=1):
        scene = whole.stdout.partition(f"Scene {number} of 3, {fix}: ")[2].partition("=====")[0]
        for part in (
            "What happens:",
            "What should be seen:",
            "BARE",
            "SHIMMED",
            "What the application saw",
            "What went over the wire",
            "What the history holds",
            "\nbare: ",
            "\nshimmed: ",
        ):
            assert scene.count(part) == 1, part


def test_it_fits_100_columns_of_ascii(whole: Child) -> None:
    assert whole.stdout.isascii()
    assert max(map(len, whole.stdout.splitlines())) <= 100


def test_the_bare_side_shows_the_defects(whole: Child) -> None:
    """The newest release takes a status back and loses parts of a known item."""
    assert "\nbare:     <answer> was in_progress instead of completed" in whole.stdout
    bare = whole.stdout.rpartition("\nbare:")[2].partition("\nshimmed:")[0]
    assert "<question> lost" in " ".join(bare.split())


def test_a_fix_that_is_missing_fails_the_demonstration() -> None:
    result = command_line(
        "demo", "--scene", "history-merge", environment={"OPENAI_AGENTS_SHIM_SKIP": "history-merge"}
    )
    assert result.returncode == 1
    assert "history-merge: skipped (named in OPENAI_AGENTS_SHIM_SKIP)" in result.stdout
    verdict = result.stdout.rpartition("\nshimmed:")[2]
    assert not verdict.startswith("  clean")
    assert "shimmed clean in 0 of 1 scenes" in verdict
    assert result.stderr == ""


def test_children_that_crash_and_hang_are_told_of_in_words(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys, time\n"
        "if '-c' in sys.orig_argv:\n"
        "    if os.environ.get('OPENAI_AGENTS_SHIM') == 'off':\n"
        "        time.sleep(60)\n"
        "    sys.stderr.write('first\\nlast words\\n')\n"
        "    sys.stderr.flush()\n"
        "    os._exit(3)\n"
    )
    result = command_line("demo", "--scene", "close-reset", "--timeout", "1", path=tmp_path)
    assert "\nbare:     the child process was not ready after 1 seconds\n" in result.stdout
    assert "\nshimmed:  the child process ended with exit code 3: last words\n" in result.stdout
    assert (result.returncode, result.stderr) == (1, "")


def test_a_port_that_is_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        result = command_line("demo", "--port", str(port))
    assert f"port {port} is in use" in result.error
    assert "--port" in result.error


# The verdicts


def stage(*sessions: Session, release: str = "0.24.0") -> Stage:
    unused: Any = None
    stage = Stage(unused, unused, Setting.of(release))
    stage.sessions = list(sessions)
    return stage


def session(
    *history: Item,
    events: dict[str, int] | None = None,
    errors: tuple[str, ...] = (),
    frames: tuple[str, ...] = (),
    answers: tuple[str, ...] = (),
    refused: int = 0,
) -> Session:
    return Session(
        events=events or {},
        errors=list(errors),
        frames=list(frames),
        answers=list(answers),
        refused=refused,
        history=list(history),
    )


def item(label: str, role: str, status: str | None, *parts: tuple[str, str]) -> Item:
    return Item(label=label, role=role, status=status, previous=None, parts=parts)


ANSWER, TWO_SESSIONS, MERGE = SCENES
THANKS = item("thanks", "user", "completed", ("audio", "Thank you."))
SUNNY = ("audio", "It is sunny in Lisbon.")
RETRIEVED = ("conversation.item.retrieved <answer>, no status",)
FIRST = session(events={"audio": 1})
HELLO = item("hello", "user", "completed", ("audio", "Hello?"))


def test_a_clean_answer() -> None:
    answer = item("answer", "assistant", "completed", SUNNY)
    assert problems(ANSWER, stage(session(answer, THANKS, answers=RETRIEVED))) == []


@pytest.mark.parametrize(
    ("history", "problem"),
    [
        ([THANKS], "<answer> was missing from the history"),
        (
            [item("answer", "assistant", "in_progress", SUNNY), THANKS],
            "<answer> was in_progress instead of completed",
        ),
        (
            [item("answer", "assistant", None, SUNNY), THANKS],
            "<answer> was without a status instead of completed",
        ),
        (
            [item("answer", "assistant", "completed", ("audio", "")), THANKS],
            "<answer> lost its words",
        ),
        (
            [item("answer", "assistant", "completed", SUNNY, SUNNY), THANKS],
            "<answer> has new parts",
        ),
    ],
)
def test_an_answer_that_is_not_clean(history: list[Item], problem: str) -> None:
    assert problems(ANSWER, stage(session(*history, answers=RETRIEVED))) == [problem]


def test_an_answer_that_was_not_repeated_shows_nothing() -> None:
    answer = item("answer", "assistant", "completed", SUNNY)
    (problem,) = problems(ANSWER, stage(session(answer, THANKS)))
    assert "shows nothing" in problem


def test_errors_are_never_clean() -> None:
    answer = item("answer", "assistant", "completed", SUNNY)
    outcome = session(answer, THANKS, answers=RETRIEVED, errors=("error: no",), refused=2)
    assert problems(ANSWER, stage(outcome)) == [
        "the server answered with 2 errors",
        "the application saw 1 error",
    ]


def test_two_clean_sessions() -> None:
    assert problems(TWO_SESSIONS, stage(FIRST, session(HELLO))) == []


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        (session(HELLO, frames=("conversation.item.retrieve <x>",)), "had never seen (1 frame)"),
        (session(HELLO, frames=("response.cancel",)), "asked to cancel a response"),
        (session(HELLO, events={"audio_interrupted": 1}), "told audio_interrupted"),
        (session(), "something else than the user's words"),
    ],
)
def test_two_sessions_that_are_not_clean(second: Session, problem: str) -> None:
    (found,) = problems(TWO_SESSIONS, stage(FIRST, second))
    assert problem in found


def test_a_merge_that_moves_parts_is_not_clean() -> None:
    words = ("text", "Which bird is this?")
    image = ("image", "https://example.com/bird.png")
    second = item("second answer", "assistant", "completed", ("audio", "It is a grey heron."))
    outcome = stage(
        session(
            item(
                "first answer",
                "assistant",
                "incomplete",
                ("audio", "The museum is open from ten to six."),
            ),
            item("question", "user", "completed", image, words),
            second,
            answers=tuple(
                f"conversation.item.retrieved <{label}>" for label in ("first answer", "question")
            ),
        )
    )
    coming_in = item("second answer", "assistant", "in_progress", ("audio", "It is"))
    outcome.looks["while it was coming in"] = [coming_in]
    assert problems(MERGE, outcome) == ["the parts of <question> changed places"]


@pytest.mark.parametrize(
    ("release", "protocol", "spoken", "retrieves"),
    [
        ("0.2.0", "beta", False, False),
        ("0.2.1", "beta", True, False),
        ("0.2.3", "beta", True, False),
        ("0.2.4", "beta", True, True),
        ("0.2.11", "beta", True, True),
        ("0.3.0", "ga", True, True),
        ("0.24.0", "ga", True, True),
        ("1.0.0rc1", "ga", True, True),
    ],
)
def test_setting(release: str, protocol: str, spoken: bool, retrieves: bool) -> None:
    setting = Setting.of(release)
    found = (setting.protocol, setting.spoken, setting.retrieves)
    assert found == (protocol, spoken, retrieves)
