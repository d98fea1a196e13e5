"""The time that the SDK measures audio with; it passes as the steps say."""

from __future__ import annotations

import time as real_time
from datetime import datetime, timedelta
from typing import Any


class Clock:
    """Stands in for ``datetime`` and for ``time`` in a module, whichever the release uses."""

    def __init__(self) -> None:
        self._elapsed_ms = 0

    def advance(self, milliseconds: int) -> None:
        self._elapsed_ms += milliseconds

    def now(self) -> datetime:
        return datetime(2025, 1, 1) + timedelta(milliseconds=self._elapsed_ms)

    def monotonic(self) -> float:
        return self._elapsed_ms / 1000

    def __getattr__(self, name: str) -> Any:
        return getattr(real_time, name)

    def install(self, module: Any) -> None:
        """Let ``module`` take its time from here."""
        for name in ("datetime", "time"):
            if hasattr(module, name):
                setattr(module, name, self)
