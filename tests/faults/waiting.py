"""Waiting for what has to come, with an assertion where it does not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

PATIENCE = 20.0
"""Seconds to wait for what takes milliseconds on an idle machine."""

_PAUSE = 0.002  # seconds between two looks

_T = TypeVar("_T")


async def until(
    holds: Callable[[], bool], what: Callable[[], str] | str, *, patience: float = PATIENCE
) -> None:
    """Return once ``holds()`` is true.

    Raises AssertionError, with what is missing in words, when patience runs out.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    while not holds():
        if loop.time() > deadline:
            raise AssertionError(what if isinstance(what, str) else what())
        await asyncio.sleep(_PAUSE)


async def within(patience: float, awaitable: Awaitable[_T], what: str) -> _T:
    """Return the awaitable's result; cancel it, and raise AssertionError, if it takes too long."""
    try:
        return await asyncio.wait_for(awaitable, patience)
    except asyncio.TimeoutError as error:
        raise AssertionError(what) from error


async def within_patience(awaitable: Awaitable[_T], what: str) -> _T:
    """Do the same with the usual patience."""
    return await within(PATIENCE, awaitable, what)


async def outcome(awaitable: Awaitable[object]) -> BaseException | None:
    """Return what an awaitable raised, a cancellation included; None if it did not raise.

    It runs in a task of its own, so that its cancellation is not the caller's.
    """
    task = asyncio.ensure_future(awaitable)
    await asyncio.wait({task}, timeout=PATIENCE)
    if not task.done():
        task.cancel()
        raise AssertionError(f"not done in {PATIENCE:.0f} s: {task!r}")
    return asyncio.CancelledError() if task.cancelled() else task.exception()
