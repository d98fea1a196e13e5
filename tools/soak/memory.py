"""Whether the memory of this process is flat."""

from __future__ import annotations

import asyncio
import gc
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

import psutil

BYTES_PER_CONVERSATION = 1536
"""How much resident memory may grow with each conversation after the warm-up.

It is less than one item of a history takes: 1.9 KiB, for a message with one part. What is below
is the allocator's, and this test's own.
"""

OBJECTS_PER_CONVERSATION = 0.5
"""How many objects the garbage collector may know more with each conversation.

Whatever is left behind by each conversation is at least one.
"""

ENOUGH = 300
"""Conversations after the warm-up without which there is no telling how much each one adds."""

# Instances of classes from here must be as many after the warm-up as at the end.
_WATCHED = ("agents", "shim", "websockets", "openai", "asyncio", "_asyncio")
# The event loop keeps timers that were cancelled until most of all its timers are.
_UNWATCHED = ("asyncio.events.TimerHandle",)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The memory of this process at a moment when no conversation was going on.

    Attributes:
        conversations: How many there had been.
        rss: Resident bytes.
        objects: How many objects the garbage collector knows.
        instances: How many instances there are of each watched class, by its name.
    """

    conversations: int
    rss: int
    objects: int
    instances: Counter[str]


def sample(conversations: int) -> Sample:
    """Collect garbage, then measure this process."""
    gc.collect()
    rss = psutil.Process().memory_info().rss
    objects = gc.get_objects()
    instances: Counter[str] = Counter()
    for each in objects:
        kind = type(each)
        name = f"{kind.__module__}.{kind.__qualname__}"
        if name.partition(".")[0] in _WATCHED and name not in _UNWATCHED:
            instances[name] += 1
    return Sample(conversations=conversations, rss=rss, objects=len(objects), instances=instances)


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the Theil-Sen slope, the median of all that two of the points have; 0 if none do.

    A leak grows from each point to the next, and the allocator in a few steps, which do not count
    then as they would in a line of least squares.
    """
    pairs = combinations(points, 2)
    slopes = [(y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in pairs if x1 != x2]
    return statistics.median(slopes) if slopes else 0.0


def growth_problems(*, rss: float, objects: float, conversations: int) -> list[str]:
    """Say what grows too much, given the growth per conversation; nothing if those are too few."""
    if conversations < ENOUGH:
        return []
    found = []
    if rss > BYTES_PER_CONVERSATION:
        found.append(f"resident memory: each conversation adds {rss:.0f} bytes")
    if objects > OBJECTS_PER_CONVERSATION:
        found.append(f"objects: each conversation adds {objects:.1f}")
    return found


def more_instances(first: Sample, last: Sample) -> list[str]:
    """Say of which watched classes there are more instances than there were."""
    more = last.instances - first.instances
    return [f"left in memory: {number} more of {kind}" for kind, number in more.items()]


def remembered(modules: Mapping[str, object]) -> list[str]:
    """Name the dictionaries of the shim's modules that hold weak references to something."""
    gc.collect()
    return [
        f"{name}.{variable}"
        for name, module in list(modules.items())
        if name.partition(".")[0] == "shim"
        for variable, value in vars(module).items()
        if _refers_weakly(value)
    ]


def _refers_weakly(value: object) -> bool:
    if isinstance(value, WeakKeyDictionary | WeakValueDictionary):
        return len(value) > 0
    return isinstance(value, dict) and any(isinstance(key, ref) for key in value)


async def left_behind(own_tasks: set[asyncio.Task[Any]], *, patience: float = 2.0) -> list[str]:
    """Name the sockets, and the tasks other than ``own_tasks``, that do not end in time."""
    for _ in range(int(patience / 0.01)):
        tasks = asyncio.all_tasks() - own_tasks
        sockets = psutil.Process().net_connections(kind="inet")
        if not tasks and not sockets:
            return []
        await asyncio.sleep(0.01)
    return [
        *(f"left behind: task {task!r}" for task in tasks),
        *(f"left behind: socket {socket.laddr} {socket.status}" for socket in sockets),
    ]
