"""The demonstration where the application fails, hangs or ends: it says so, and goes on."""

from __future__ import annotations

import asyncio
import errno
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest
from children import Child, command_line

from shim import demo, loopback
from shim.demo.children import Child as ChildProcess
from shim.demo.scenes import SCENES, problems
from shim.demo.setting import Setting
from shim.demo.stage import Session, Stage

# What is done to the application before it runs, and the words that the report has for it then.
# `interrupt` is the last thing that the scene asks for, `clear` how it learns that all is settled.
BEFORE = """
import sys
if "-c" in sys.orig_argv:
    import asyncio, os, types, wrapt
    @wrapt.when_imported("agents.realtime.openai_realtime")
    def _(module):
        from agents.realtime.session import RealtimeSession
        model = module.OpenAIRealtimeWebSocketModel
        send = model._send_raw_message
        async def interrupt(self):
            session = self
"""
CLEAR = """
            pass
        async def send_raw_message(self, event):
            if event.type == "input_audio_buffer.clear":
                {}
            else:
                await send(self, event)
        model._send_raw_message = send_raw_message
"""
FAILURES = [
    ("the application could not go on: RuntimeError: no", "raise RuntimeError('no')"),
    ("the child process ended with exit code 7", "os._exit(7)"),
    ("the application closed the connection", "await session.close()"),
    ("the application closed the connection", CLEAR.format("await self._websocket.close()")),
    (
        "the application's session ended early",
        "session._model_stream_ended = True; session._wake_event_iterators()",
    ),
    (
        "the application did not answer: no frame 'input_audio_buffer.clear'",
        CLEAR.format("pass"),
    ),
    (
        "the application did not report what it saw",
        "session._history = [types.SimpleNamespace(item_id='of no type')]",
    ),
]


def play(folder: Path, sabotage: str, *, timeout: float = 60.0) -> tuple[Child, list[str]]:
    """Play a scene with an application that is sabotaged; return what is said of either side."""
    restored = "\n        RealtimeSession.interrupt = interrupt\n"
    (folder / "sitecustomize.py").write_text(f"{BEFORE}            {sabotage}{restored}")
    arguments = ("--scene", "close-reset", "--timeout", f"{timeout:g}")
    result = command_line("demo", *arguments, path=folder)
    assert result.stderr == ""
    end, _, _ = result.stdout.rpartition("\n===")
    bare, _, shimmed = end.rpartition("\nbare:")[2].partition("\nshimmed:")
    return result, [" ".join(bare.split()), " ".join(shimmed.split())]


@pytest.mark.parametrize(("words", "sabotage"), FAILURES)
def test_it_tells_what_was_wrong_with_the_application(
    tmp_path: Path, words: str, sabotage: str
) -> None:
    result, verdicts = play(tmp_path, sabotage)
    assert result.returncode == 1
    assert "shimmed clean in 0 of 1 scenes" in result.stdout
    for verdict in verdicts:
        assert words in verdict


def test_a_side_that_hangs_does_not_keep_the_other_from_playing(tmp_path: Path) -> None:
    bare = "os.environ.get('OPENAI_AGENTS_SHIM') == 'off'"
    result, verdicts = play(tmp_path, f"await asyncio.sleep(3600 if {bare} else 0)", timeout=20)
    assert verdicts == ["the scene was not over after 20 seconds", "clean"]
    assert result.returncode == 0


@pytest.mark.asyncio
async def test_an_answer_that_comes_too_late_is_not_taken_for_another() -> None:
    answers = 'print(\'{"number": 0, "is": "late"}\\n{"number": 1}\')'
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", answers), stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    child = ChildProcess(process)
    try:
        assert await child.ask("report") == {"number": 1}
    finally:
        await child.end()


def test_an_address_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def serve(*args: Any, **options: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(loopback, "serve", serve)
    with pytest.raises(demo.DemoError, match=r"cannot listen on port 80: .*Permission denied"):
        demo.run(port=80)


def test_a_first_session_without_audio_shows_nothing() -> None:
    unused: Any = None
    stage = Stage(unused, unused, Setting.of("0.24.0"))
    nothing = Session(events={}, errors=[], frames=[], answers=[], refused=0, history=[])
    stage.sessions = [nothing, nothing]
    (two_sessions,) = (scene for scene in SCENES if scene.fix == "close-reset")
    assert problems(two_sessions, stage)[0] == (
        "the first session played no audio, so this scene shows nothing"
    )
