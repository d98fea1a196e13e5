"""Doing something exactly where a coroutine waits.

Where and how often ``close()`` or ``connect()`` waits differs between releases, and depends on
what the sockets do. So nothing here knows it: the n-th wait is found by counting.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

Place = Callable[[int], bool]
"""Tells of the number of a suspension, counted from 1, whether something is to be done there."""


class Suspensions(Awaitable[Any]):
    """A coroutine, to be awaited in a task, with a function that is called where it suspends.

    The function runs in the coroutine's own task, after the coroutine has decided what to wait
    for and before anything else runs. ``count`` is the number of suspensions so far.
    """

    def __init__(
        self, coroutine: Coroutine[Any, Any, Any], *, place: Place, do: Callable[[], object]
    ) -> None:
        self.count = 0
        self._coroutine = coroutine
        self._place = place
        self._do = do

    def __await__(self) -> Generator[Any, Any, Any]:
        error: BaseException | None = None
        while True:
            try:
                awaited = (
                    self._coroutine.send(None) if error is None else self._coroutine.throw(error)
                )
            except StopIteration as stop:
                return stop.value
            self.count += 1
            if self._place(self.count):
                self._do()
            error = None
            try:
                yield awaited
            except BaseException as thrown:
                error = thrown


async def at_every_suspension(attempt: Callable[[int], Awaitable[Suspensions]]) -> int:
    """Call ``attempt(1)``, ``attempt(2)`` and so on, as long as there is a suspension to reach.

    The attempt does something at the suspension of that number and returns the coroutine, ended.
    Returns how many suspensions there were.
    """
    for number in itertools.count(1):
        if (await attempt(number)).count < number:
            break
    return number - 1


def cancel() -> None:
    """Cancel the task that this runs in, at whatever it waits for next."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


def at(number: int) -> Place:
    """At the suspension of this number alone."""
    return lambda count: count == number


def since(number: int) -> Place:
    """At the suspension of this number and at every later one."""
    return lambda count: count >= number
