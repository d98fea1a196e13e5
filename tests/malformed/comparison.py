"""What a copy of the SDK with the fixes does worse than the bare release."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .conversation import Conversation, HangError, Outcome, Step
from .knowledge import lost, updates_known_message
from .sdk import Sdk

SECONDS = 1.0
FACTOR = 10.0
"""With the fixes a step may take so many times what it takes without, and SECONDS more."""

_TRIES = 3


@dataclass(frozen=True)
class Worse:
    """What is worse, in words, and the exception that it is about."""

    words: str
    cause: BaseException | None = None
    is_time: bool = False


class Comparison:
    """Plays the same steps to two copies of the SDK."""

    def __init__(self, bare: Sdk, fixed: Sdk, loop: asyncio.AbstractEventLoop) -> None:
        self._bare = bare
        self._fixed = fixed
        self._loop = loop
        self.tally: Counter[str] = Counter()
        """What the steps so far have exercised."""

    def check(self, steps: Sequence[Step]) -> None:
        """Raise an AssertionError if the copy with the fixes does worse in one of the steps."""
        found = self.worse(steps)
        if found is not None:
            raise AssertionError(found.words) from found.cause

    def worse(self, steps: Sequence[Step]) -> Worse | None:
        """Return the first thing that the copy with the fixes does worse, None if it does not.

        What takes too long has to do so several times: the garbage collector and other processes
        take their time, too.
        """
        for _ in range(_TRIES):
            found = self._loop.run_until_complete(self._worse(steps))
            if found is None or not found.is_time:
                break
        return found

    async def _worse(self, steps: Sequence[Step]) -> Worse | None:
        bare, fixed = Conversation(self._bare), Conversation(self._fixed)
        same_so_far = True
        try:
            for number, step in enumerate(steps):
                expected, found = await bare.play(step), await fixed.play(step)
                self.tally.update(_exercised(expected, found))
                same_so_far = same_so_far and not expected.failed
                for worse in _judged(expected, found, same_so_far=same_so_far):
                    return replace(worse, words=f"step {number}, {step!r:.500}: {worse.words}")
        finally:
            expected, found = await bare.close(), await fixed.close()
        for worse in _judged(expected, found, same_so_far=False):
            return replace(worse, words=f"close(): {worse.words}")
        return None


def _exercised(expected: Outcome, found: Outcome) -> Iterator[str]:
    yield "steps"
    if expected.failed:
        yield "steps that the bare release rejects"
        if not found.failed:
            yield "steps that it rejects, and the fixes do not"
    if any(updates_known_message(found, update) for update in found.updates):
        yield "steps with an update of a known message"


def _judged(expected: Outcome, found: Outcome, *, same_so_far: bool) -> list[Worse]:
    problems = []
    if isinstance(found.raised, HangError):
        # Without its traceback: it can come from anywhere, where pytest finds no line to show.
        return [Worse(f"it hangs: {found.raised}", is_time=True)]
    if found.seconds > SECONDS + FACTOR * expected.seconds:
        words = f"it takes {found.seconds:.1f} s; the bare release {expected.seconds:.3f} s"
        problems.append(Worse(words, is_time=True))
    if found.raised is not None and not expected.failed:
        problems.append(
            Worse(f"it raises {found.raised!r:.300}; the bare release does not", found.raised)
        )
    if found.errors and not expected.failed:
        problems.append(Worse(f"it answers with {found.errors}; the bare release does not"))
    if same_so_far and not found.failed and expected.events != found.events:
        problems.append(
            Worse(f"the events are {found.events}; those of the bare release {expected.events}")
        )
    problems += [Worse(words) for words in lost(found)]
    return problems
