"""The shim and the patches of a release do the same, whatever the server says."""

from __future__ import annotations

import re
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings

from .comparison import difference
from .coverage import Coverage
from .dialect import Dialect
from .invariants import violations
from .sequence import Sequence
from .shrinking import shortest
from .sides import FIXES, Player, Side
from .strategies import sequences

_DETERMINISM_SEQUENCES = 50
_SEARCHED_SEQUENCES = 1000
_AT_ONCE = 2


class FailingError(Exception):
    """Ends the run over the sequences."""


class Comparison:
    """Plays sequences to two players at the same time and says what is wrong."""

    def __init__(self, *players: Player, coverage: Coverage | None = None) -> None:
        self._players = players
        self._coverage = coverage
        for player in players:
            player.start()

    @property
    def release(self) -> str:
        """The release that all players have."""
        (release,) = {player.hello["release"] for player in self._players}
        return str(release)

    @property
    def dialect(self) -> Dialect:
        return Dialect.of(self._players[0].hello)

    def start(self, sequence: Sequence) -> None:
        for player in self._players:
            player.ask(sequence)

    def finish(self, sequence: Sequence) -> list[str]:
        """Return what is wrong with the sequence that was started first of those under way."""
        traces = {player.side.name: player.answer() for player in self._players}
        if self._coverage is not None:
            self._coverage.add(sequence, next(iter(traces.values())))
        different = difference(sequence, traces)
        found = [] if different is None else [different]
        for player in self._players:
            # A bare release breaks the rules.
            if player.side.fixes == FIXES and player.side.mode != "bare":
                name = player.side.name
                found += [f"{name}: {each}" for each in violations(sequence, traces[name])]
        return found

    def problems(self, sequence: Sequence) -> list[str]:
        self.start(sequence)
        return self.finish(sequence)


def first_failing(comparison: Comparison, *, count: int, seed: int) -> Sequence | None:
    """Return the first of ``count`` different sequences with problems, None if all have none."""
    known: set[str] = set()
    under_way: deque[Sequence] = deque()
    failing: Sequence | None = None

    def finish(*, left: int) -> None:
        nonlocal failing
        while len(under_way) > left:
            sequence = under_way.popleft()
            if comparison.finish(sequence) and failing is None:
                failing = sequence

    def check(sequence: Sequence) -> None:
        text = sequence.as_json()
        if failing is None and len(known) < count and text not in known:
            known.add(text)
            comparison.start(sequence)
            under_way.append(sequence)
            # The next ones are made up meanwhile.
            finish(left=_AT_ONCE - 1)
        if failing is not None:
            raise FailingError

    configured = settings(
        # Hypothesis tries some of them again; one that it makes up costs little.
        max_examples=2 * count,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    given = hypothesis.given(sequences(comparison.dialect))
    with suppress(FailingError):
        hypothesis.seed(seed)(configured(given(check)))()
    finish(left=0)
    assert failing is not None or len(known) == count, "too few different sequences"
    return failing


def test_shim_and_patches_do_the_same(
    pytestconfig: pytest.Config, shimmed: Player, patched: Player, coverage: Coverage, seed: int
) -> None:
    replay: Path | None = pytestconfig.getoption("--replay")
    if replay is not None:
        sequence = Sequence.from_json(replay.read_text(encoding="utf-8"))
        failing = sequence if Comparison(shimmed, patched).problems(sequence) else None
    else:
        comparison = Comparison(shimmed, patched, coverage=coverage)
        count = pytestconfig.getoption("--sequences")
        failing = first_failing(comparison, count=count, seed=seed)
    if failing is not None:
        report(failing, Comparison(shimmed, patched), pytestconfig)


def report(sequence: Sequence, comparison: Comparison, config: pytest.Config) -> NoReturn:
    """Fail with the shortest sequence that fails as this one does, and with what is wrong."""
    kind = kind_of(comparison.problems(sequence))
    sequence = shortest(sequence, lambda simpler: kind_of(comparison.problems(simpler)) == kind)
    lines = [f"openai-agents {comparison.release}", *comparison.problems(sequence)]
    lines += ["", "The sequence:", repr(sequence)]
    failures: Path | None = config.getoption("--failures")
    if failures is not None:
        failures.mkdir(parents=True, exist_ok=True)
        file = failures / f"{comparison.release}.json"
        file.write_text(sequence.as_json() + "\n", encoding="utf-8")
        lines.append(f"It alone again: --replay {file}")
    pytest.fail("\n".join(lines), pytrace=False)


def kind_of(problems: list[str]) -> str | None:
    """Tell whether traces differ or a rule is broken, and which one."""
    if not problems:
        return None
    rule = re.search(r"\b\d\.\d+:", problems[0])
    return rule[0] if rule and " differ in " not in problems[0] else "difference"


@pytest.mark.parametrize("fix", FIXES)
def test_the_comparison_sees_what_each_fix_does(
    fix: str, bare: Player, coverage: Coverage, seed: int
) -> None:
    """With one fix on one side and none on the other, some sequence shows it."""
    player = Player(Side(name=f"with {fix}", mode="shimmed", fixes=(fix,)))
    tried = Coverage()
    comparison = Comparison(player, bare, coverage=tried)
    try:
        found = first_failing(comparison, count=_SEARCHED_SEQUENCES, seed=seed)
    finally:
        player.stop()
    assert found is not None, f"nothing in {tried.sequences} sequences"
    coverage.note(f"With {fix} alone, one of {tried.sequences} sequences shows it.")


def test_the_player_tells_the_same_twice(
    pytestconfig: pytest.Config, shimmed: Player, seed: int
) -> None:
    other = Player(Side(name="shimmed as well", mode="shimmed"))
    comparison = Comparison(shimmed, other)
    try:
        failing = first_failing(comparison, count=_DETERMINISM_SEQUENCES, seed=seed)
        if failing is not None:
            report(failing, comparison, pytestconfig)
    finally:
        other.stop()
