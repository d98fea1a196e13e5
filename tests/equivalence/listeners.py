"""What an application gives to a model: listeners, and a playback tracker that fails."""

from __future__ import annotations

from typing import Any, Protocol

import agents.realtime
from agents.realtime.model import RealtimeModelListener

from .plain import Json, error, plain


class Stage(Protocol):
    """What the listeners need of `stage.Stage`."""

    def record(self, kind: str, entry: Json) -> None: ...

    def owner(self, name: str) -> Any: ...

    async def wait(self, *, stubborn: bool = False) -> None: ...


class Recorder(RealtimeModelListener):
    """Hands on everything that a model tells its listeners."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def on_event(self, event: Any) -> None:
        self._stage.record("wire", ["event", plain(event)])


class Holder(RealtimeModelListener):
    """Holds the handler of the next event of a kind, whatever cancels it, until released.

    It can close what it belongs to before that. An application's listener does both in good faith:
    it hangs up, and it shields what it has to finish.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.kinds: list[str] = []
        self.closes: str | None = None

    async def on_event(self, event: Any) -> None:
        if event.type not in self.kinds:
            return
        self.kinds = []
        self._stage.record("wire", ["holds", event.type])
        if self.closes is not None:
            try:
                await self._stage.owner(self.closes).close()
            except Exception as raised:
                # That a close in a handler may fail is the release's business, and compared.
                self._stage.record("wire", ["close in a handler", error(raised)])
        await self._stage.wait(stubborn=True)


class RaisingTracker(getattr(agents.realtime, "RealtimePlaybackTracker", object)):  # type: ignore[misc]
    """A playback tracker of the application that fails."""

    def on_interrupted(self) -> None:
        super().on_interrupted()
        raise LookupError("nothing is playing")
