"""The child process: plays sequences to the SDK of its environment and tells what came of them.

    python -m equivalence.player MODE [SOURCE]

MODE is ``shimmed``, ``patched`` or ``bare``; SOURCE is the folder that ``agents`` has to come from.
One JSON sequence per line comes in, and one JSON trace per line goes out, after a line that
tells about the SDK.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import sys
import typing
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, TextIO

from .loop import NeverIdleError, PatientLoop


def main(arguments: list[str]) -> None:
    mode, *rest = arguments
    # Whatever else prints must not come between the lines.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    logging.disable(logging.CRITICAL)
    statuses = _apply_shim() if mode == "shimmed" else None

    # Not before the shim is there: an application imports it first.
    from agents.realtime import openai_realtime

    _check_origin(openai_realtime, Path(rest[0]) if rest else None)
    shim = statuses() if statuses is not None else {}
    if statuses is None and "shim" in sys.modules:
        sys.exit("the shim has been imported on the side that must do without")
    _remember_adapters(openai_realtime)
    _answer(answers, _hello(openai_realtime, shim))
    for line in sys.stdin:
        _answer(answers, _play(json.loads(line)))


def _answer(answers: TextIO, value: Any) -> None:
    answers.write(json.dumps(value) + "\n")
    answers.flush()


def _apply_shim() -> Any:
    import shim

    return lambda: {name: fix.state for name, fix in shim.status().fixes.items()}


def _check_origin(module: Any, source: Path | None) -> None:
    found = Path(module.__file__).resolve()
    if source is not None and source.resolve() not in found.parents:
        sys.exit(f"agents.realtime has to come from {source}, not from {found}")


def _remember_adapters(module: Any) -> None:
    """Let 0.2.x build the parser of server events once, and not for each event (20 ms)."""
    module.TypeAdapter = lru_cache(maxsize=None)(module.TypeAdapter)


def _hello(module: Any, shim: dict[str, str]) -> dict[str, Any]:
    return {
        "release": metadata.version("openai-agents"),
        "python": platform.python_version(),
        "events": sorted(_known_events(module)),
        "shim": shim,
    }


def _known_events(module: Any) -> set[str]:
    """Return the types of the server events that the release's parser knows."""
    union = typing.get_args(module.OpenAIRealtimeServerEvent)[0]
    return {
        name
        for event in typing.get_args(union)
        for name in typing.get_args(event.model_fields["type"].annotation)
    }


def _play(sequence: dict[str, Any]) -> list[Any]:
    from .stage import Stage

    trace: list[Any] = []

    async def play() -> None:
        stage = Stage(loop, sequence["setup"])
        try:
            for step in sequence["steps"]:
                trace.append(await stage.play(step))
        except NeverIdleError as error:
            trace.append({"problems": [str(error)]})
        await stage.end()

    loop = PatientLoop()
    try:
        loop.run_until_complete(play())
    finally:
        loop.close()
    return trace


if __name__ == "__main__":
    main(sys.argv[1:])
