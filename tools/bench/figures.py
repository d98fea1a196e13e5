"""What the samples come to, and what they must not exceed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

Key = tuple[str, int]
"""A workload and its argument."""

Samples = Mapping[Key, Mapping[str, Sequence[float]]]
"""Seconds by side, for each workload; what has the same index was measured in one round."""


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """How much longer a side takes than the bare release: the median, and the middle half."""

    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.middle:.2f} ({self.low:.2f} to {self.high:.2f})"


def ratio(samples: Sequence[float], bare: Sequence[float]) -> Ratio:
    """Return the ratio of the medians, with the quartiles of the ratios within each round."""
    low, _, high = quantiles([one / other for one, other in zip(samples, bare, strict=True)], n=4)
    return Ratio(middle=median(samples) / median(bare), low=low, high=high)


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What a ratio to the bare release must not exceed."""

    workload: str
    argument: int
    most: float


LIMITS = (
    Limit(workload="session_delta", argument=10, most=1.10),
    Limit(workload="session_delta", argument=1000, most=0.6),
    Limit(workload="session_snapshot", argument=10, most=1.20),
    Limit(workload="session_snapshot", argument=1000, most=0.9),
    Limit(workload="whole_call", argument=300, most=1.05),
    Limit(workload="close_connection", argument=0, most=1.2),
    Limit(workload="import", argument=0, most=1.03),
)

MOST_GROWTH = 2.0
"""How much longer a delta may take with 1,000 items than with 10, shimmed or patched."""

MOST_FOR_TABLE = 0.015
"""Seconds that reading the release table and hashing the SDK's files may take."""

MOST_FOR_RUN = 0.050
"""Seconds by which ``python -m shim run`` may start later than Python with ``import shim``."""


def exceeded(samples: Samples) -> list[str]:
    """Return a line for each figure that is over its limit."""
    lines = []
    for limit in LIMITS:
        sides = samples.get((limit.workload, limit.argument), {})
        for side in [name for name in sides if name != "bare"]:
            found = ratio(sides[side], sides["bare"])
            if found.middle > limit.most:
                name = f"{limit.workload} {limit.argument or ''}".rstrip()
                lines.append(f"{name}, {side}: {found.middle:.2f} of bare, over {limit.most}")
    for side, growth in growths(samples).items():
        if side != "bare" and growth > MOST_GROWTH:
            lines.append(f"session_delta, {side}: {growth:.1f} times as long with 1,000 items")
    for side, seconds in samples.get(("read_release_table", 0), {}).items():
        if median(seconds) > MOST_FOR_TABLE:
            lines.append(f"read_release_table, {side}: {median(seconds) * 1000:.1f} ms")
    added = added_by_run(samples)
    if added is not None and added > MOST_FOR_RUN:
        lines.append(f"python -m shim run adds {added * 1000:.0f} ms to the start")
    return lines


def added_by_run(samples: Samples) -> float | None:
    """Return the seconds that ``run`` adds to the start and the import; None if not measured."""
    sides = samples.get(("start", 0))
    return median(sides["run"]) - median(sides["import"]) if sides else None


def growths(samples: Samples) -> dict[str, float]:
    """Return, for each side, how much longer a delta takes with 1,000 items than with 10."""
    few, many = samples.get(("session_delta", 10)), samples.get(("session_delta", 1000))
    if not few or not many:
        return {}
    return {side: median(many[side]) / median(few[side]) for side in few}
