"""The demonstration: three scenes on the installed SDK, without and with the shim, side by side.

Every scene is played by a loopback server and two child processes that run the same application
(``application.py``). The bare one never imports shim; the shimmed one imports it first.
"""

from __future__ import annotations

import asyncio
import errno
import platform
from collections.abc import Sequence
from contextlib import AsyncExitStack

from .. import __version__
from ..guard import DISTRIBUTION, installed_version
from ..loopback import LoopbackServer
from .children import Child, ChildError
from .report import WIDTH, paragraph, side_by_side
from .scenes import SCENES, Scene, problems
from .setting import Setting
from .stage import Stage

_SIDES = ("bare", "shimmed")
_TIME_FOR_A_REPORT = 5.0  # seconds


class DemoError(Exception):
    """Why there can be no demonstration, in words."""


def run(*, port: int = 0, timeout: float = 30.0, scenes: Sequence[str] | None = None) -> int:
    """Play the scenes and print what came of them; return 1 if a shimmed side is not clean, or 0.

    ``port`` is the server's, 0 meaning any; ``timeout`` the seconds that a side of a scene may
    take; ``scenes`` the names of the fixes whose scenes are played, all when omitted. The SDK has
    to be installed.

    Raises DemoError if the server cannot listen there.
    """
    chosen = [scene for scene in SCENES if not scenes or scene.fix in scenes]
    return asyncio.run(_run(chosen, port=port, timeout=timeout))


async def _run(scenes: Sequence[Scene], *, port: int, timeout: float) -> int:
    release = installed_version()
    assert release is not None
    setting = Setting.of(release)
    found: dict[str, list[bool]] = {side: [] for side in _SIDES}
    async with AsyncExitStack() as stack:
        try:
            server = LoopbackServer(protocol=setting.protocol, port=port)
            await stack.enter_async_context(server)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise DemoError(f"port {port} is in use: choose another with --port") from error
            raise DemoError(f"the server cannot listen on port {port}: {error}") from error
        for number, scene in enumerate(scenes, start=1):
            stages = await _play(scene, server, setting, timeout=timeout)
            if number == 1:
                _print_header(server, stages)
            _print_scene(scene, stages, number=f"{number} of {len(scenes)}")
            for side, stage in zip(_SIDES, stages, strict=True):
                found[side].append(not problems(scene, stage))
    _print_summary(found)
    return 0 if all(found["shimmed"]) else 1


async def _play(
    scene: Scene, server: LoopbackServer, setting: Setting, *, timeout: float
) -> list[Stage]:
    """Play both sides of a scene: the children start at the same time, and play in turn."""
    children = [await Child.start(shimmed=side == "shimmed") for side in _SIDES]
    stages = [Stage(server, child, setting) for child in children]
    try:
        await asyncio.gather(*(_start(stage, timeout=timeout) for stage in stages))
        for stage in stages:
            await _play_side(scene, stage, timeout=timeout)
    finally:
        await asyncio.gather(*(child.end() for child in children))
    return stages


async def _start(stage: Stage, *, timeout: float) -> None:
    try:
        await asyncio.wait_for(stage.child.wait_until_ready(), timeout)
    except ChildError as error:
        stage.failure = str(error)
    except asyncio.TimeoutError:
        stage.failure = f"the child process was not ready after {timeout:g} seconds"


async def _play_side(scene: Scene, stage: Stage, *, timeout: float) -> None:
    if stage.failure is not None:
        return
    stage.server.turns.clear()
    try:
        await asyncio.wait_for(scene.play(stage), timeout)
    except ChildError as error:
        stage.failure = stage.in_labels(str(error))
    except asyncio.TimeoutError:
        stage.failure = f"the scene was not over after {timeout:g} seconds"
    try:
        await asyncio.wait_for(stage.collect(), _TIME_FOR_A_REPORT)
    except (ChildError, asyncio.TimeoutError):
        # Where there is a failure already, that is why.
        stage.failure = stage.failure or "the application did not report what it saw"


def _print_header(server: LoopbackServer, stages: Sequence[Stage]) -> None:
    bare, shimmed = stages
    setting = shimmed.setting
    protocol = {"ga": "GA", "beta": "beta"}[setting.protocol]
    print(f"openai-agents-realtime-shim {__version__}: the defects and the fixes, side by side\n")
    print(f"SDK      {DISTRIBUTION} {setting.release}, {protocol} protocol")
    print(f"Python   {platform.python_version()}")
    print(f"Server   {server.url}, on this machine, with scripted answers")
    fixes = shimmed.child.shim["fixes"] if shimmed.child.shim else {}
    states = [f"{name}: {fix['state']} ({fix['reason']})" for name, fix in fixes.items()]
    for index, state in enumerate(states or ["nothing is known of it: see below"]):
        print(paragraph(state, label=f"{'' if index else 'Shim':9}"))
    never = (
        "never imports shim"
        if bare.child.shim is None
        else "has shim switched off (something imports it at every start of Python here)"
    )
    print()
    print(
        paragraph(
            "The same small application plays every scene twice, each time in a new process: BARE, "
            f"in one that {never}, and SHIMMED, in one that imports it first. Items are "
            "called by a <name> instead of their ids. Events that tell of a new history are not "
            "listed: the history itself is."
        ),
        flush=True,
    )


def _print_scene(scene: Scene, stages: Sequence[Stage], *, number: str) -> None:
    bare, shimmed = stages
    print(f"\n{'=' * WIDTH}\nScene {number}, {scene.fix}: {scene.title}\n")
    print(paragraph(scene.happens(shimmed.setting), label="What happens:         "))
    print(paragraph(scene.expected, label="What should be seen:  "))
    print(f"\n{side_by_side(bare, shimmed)}\n")
    for side, stage in zip(_SIDES, stages, strict=True):
        verdict = "; ".join(problems(scene, stage)) or "clean"
        if side == "bare" and verdict == "clean":
            verdict = "clean too; this release does not show the defect in this scene"
        print(paragraph(verdict, label=f"{side + ':':10}"), flush=True)


def _print_summary(found: dict[str, list[bool]]) -> None:
    counts = [
        f"{side} clean in {sum(clean)} of {len(clean)} scenes" for side, clean in found.items()
    ]
    print(f"\n{'=' * WIDTH}\nResult: {', '.join(counts)}")
