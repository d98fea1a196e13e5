"""The figures that the benchmark reports, from samples whose ratios are known."""

from __future__ import annotations

import pytest

from tools.bench.call import call
from tools.bench.figures import Key, exceeded, growths, ratio

Recorded = dict[Key, dict[str, list[float]]]


def samples(bare: float, shimmed: float) -> dict[str, list[float]]:
    """Five rounds on a machine that gets slower."""
    slower = [1.0, 1.1, 1.2, 1.3, 1.4]
    return {"bare": [bare * x for x in slower], "shimmed": [shimmed * x for x in slower]}


def within_limits() -> Recorded:
    return {
        ("session_delta", 10): samples(10e-6, 10.5e-6),
        ("session_delta", 1000): samples(80e-6, 16e-6),
        ("session_snapshot", 10): samples(12e-6, 13e-6),
        ("read_release_table", 0): {"shimmed": [0.005, 0.006]},
        ("start", 0): {"import": [0.1, 0.11, 0.13], "run": [0.12, 0.13, 0.15]},
    }


def test_a_ratio_is_of_samples_of_one_round() -> None:
    sides = samples(2.0, 3.0)
    found = ratio(sides["shimmed"], sides["bare"])
    assert (found.middle, found.low, found.high) == pytest.approx((1.5, 1.5, 1.5))
    assert str(found) == "1.50 (1.50 to 1.50)"


def test_nothing_is_over_a_limit() -> None:
    recorded = within_limits()
    assert exceeded(recorded) == []
    assert growths(recorded)["shimmed"] == pytest.approx(16 / 10.5)


@pytest.mark.parametrize(
    ("key", "sides", "line"),
    [
        (
            ("session_snapshot", 10),
            samples(10e-6, 12.5e-6),
            "session_snapshot 10, shimmed: 1.25 of bare, over 1.2",
        ),
        (
            ("session_delta", 1000),
            samples(80e-6, 40e-6),
            "session_delta, shimmed: 3.8 times as long with 1,000 items",
        ),
        (
            ("read_release_table", 0),
            {"shimmed": [0.02, 0.02]},
            "read_release_table, shimmed: 20.0 ms",
        ),
        (
            ("start", 0),
            {"import": [0.1, 0.1, 0.1], "run": [0.1, 0.16, 0.2]},
            "python -m shim run adds 60 ms to the start",
        ),
    ],
)
def test_what_is_over_a_limit_is_named(key: Key, sides: dict[str, list[float]], line: str) -> None:
    recorded = within_limits()
    recorded[key] = sides
    assert exceeded(recorded) == [line]


def test_a_call_is_as_long_as_it_says() -> None:
    events = list(call(turns=30))
    assert sum(each["type"] == "response.done" for each in events) == 30
    audio = [each for each in events if each["type"] == "response.output_audio.delta"]
    assert len(audio) == 30 * 50, "half of 300 seconds, in tenths"
