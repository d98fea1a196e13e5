"""An event loop whose time passes only when nothing else is left to do."""

from __future__ import annotations

import asyncio
from typing import Any

_TURNS = 20_000


class NeverIdleError(Exception):
    """The loop goes on and on."""


class PatientLoop(asyncio.SelectorEventLoop):
    """Runs until nothing can happen any more, and skips the time that timers wait for.

    What is unfinished then waits for something that only the next step can bring: it hangs.
    """

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0

    def time(self) -> float:
        return self._now

    async def settle(self) -> None:
        """Let everything run until all that is left waits for the outside.

        Raises:
            NeverIdleError: that does not come to pass.
        """
        # No public interface tells what a loop has yet to run; both are as old as asyncio.
        base: Any = self
        for _ in range(_TURNS):
            await asyncio.sleep(0)
            if base._ready:
                continue
            timers = [timer for timer in base._scheduled if not timer.cancelled()]
            if not timers:
                return
            self._now = max(self._now, min(timer.when() for timer in timers))
        raise NeverIdleError(f"not idle after {_TURNS} turns of the loop")
