"""What the results say of a rule in a release, and which releases say the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from tools.compatibility.results import BARE, PATCHED, SHIMMED, Count, Results, Row, total
from tools.compatibility.rules import Rule, rules_by_fix

_NOTHING = Count(failed=0, ran=0)


@dataclass(frozen=True, kw_only=True)
class State:
    """One of the states that a rule can have in a release: a word for code, a mark, a label."""

    name: str
    mark: str
    label: str


FIXED = State(name="fixed", mark="●", label="broken, and fixed by us")
PARTLY = State(name="partly", mark="◐", label="broken in part, and fixed by us")
BROKEN = State(name="broken", mark="✕", label="fails with the shim or the patches")
UPSTREAM = State(name="upstream", mark="✓", label="fixed upstream")
SOUND = State(name="sound", mark="·", label="not broken so far")
NONE = State(name="none", mark="–", label="does not apply")  # noqa: RUF001
STATES = (FIXED, PARTLY, BROKEN, UPSTREAM, SOUND, NONE)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A rule in a release: its state, the numbers of the bare release, and both in words."""

    rule: Rule
    state: State
    bare: Count
    words: str


@dataclass(frozen=True, kw_only=True)
class FixLine:
    """The tests of a fix in a release, in words: on the bare release, shimmed and patched."""

    fix: str
    bare: str
    shimmed: str
    patched: str


@dataclass(frozen=True, kw_only=True)
class Group:
    """Neighbouring releases that gave the same results.

    Attributes:
        releases: Their names, oldest first.
        cells: One for each rule.
        fixes: One line for each fix.
    """

    releases: tuple[str, ...]
    cells: tuple[Cell, ...]
    fixes: tuple[FixLine, ...]

    @property
    def name(self) -> str:
        """The releases in words."""
        return span(self.releases)

    @property
    def anchor(self) -> str:
        """The group as the end of a page's address."""
        return f"from-{self.releases[0]}"


def span(releases: Sequence[str]) -> str:
    """Return neighbouring releases in words: the only one, or the first and the last."""
    first, last = releases[0], releases[-1]
    return first if first == last else f"{first} to {last}"


def count_in_words(count: Count) -> str:
    """Return a count in words."""
    if not count.ran:
        return "no test applies"
    if count.failed:
        return f"{count.failed} of {_tests(count.ran)} fail{'s' if count.ran == 1 else ''}"
    return f"{_tests(count.ran)} pass{'es' if count.ran == 1 else ''}"


def make_cell(rule: Rule, row: Row, *, was_broken: bool) -> Cell:
    """Return the cell of a rule in a release; ``was_broken`` tells of the releases before it."""
    sides = {side: counts.get(rule.name, _NOTHING) for side, counts in row.sides.items()}
    bare = sides[BARE]
    # A test that runs on the bare release, and not with the fix, does not show that it is fixed.
    failing = [side for side, count in sides.items() if count.failed or count.ran < bare.ran]
    if {SHIMMED, PATCHED}.intersection(failing):
        words = "; ".join(f"{side}: {count_in_words(count)}" for side, count in sides.items())
        return Cell(rule=rule, state=BROKEN, bare=bare, words=words)
    if not bare.ran:
        return Cell(rule=rule, state=NONE, bare=bare, words=NONE.label)
    if not bare.failed:
        state = UPSTREAM if was_broken else SOUND
        words = f"{state.label}: {count_in_words(bare)}"
        return Cell(rule=rule, state=state, bare=bare, words=words)
    state = FIXED if bare.failed == bare.ran else PARTLY
    by = "shim and patches" if PATCHED in sides else "the shim; there are no patches"
    words = f"{count_in_words(bare)}; fixed by {by}"
    return Cell(rule=rule, state=state, bare=bare, words=words)


def make_groups(results: Results, rules: Sequence[Rule]) -> list[Group]:
    """Return the releases of the results in groups of neighbours that gave the same."""
    broken: set[str] = set()
    entries: list[tuple[str, tuple[Cell, ...], tuple[FixLine, ...]]] = []
    for release, row in results.items():
        cells = tuple(make_cell(rule, row, was_broken=rule.name in broken) for rule in rules)
        entries.append((release, cells, tuple(_fix_lines(row, rules))))
        broken |= {rule for rule, count in row.sides[BARE].items() if count.failed}
    return [
        Group(releases=tuple(release for release, *_ in members), cells=cells, fixes=fixes)
        for (cells, fixes), members in groupby(entries, key=lambda entry: entry[1:])
    ]


def spans(groups: Iterable[Group], rule: Rule, state: State) -> list[str]:
    """Return the neighbouring releases in which a rule has a state, in words."""
    members = [
        (release, cell.state)
        for group in groups
        for cell in group.cells
        if cell.rule == rule
        for release in group.releases
    ]
    return [
        span([release for release, _ in neighbours])
        for found, neighbours in groupby(members, key=lambda member: member[1])
        if found == state
    ]


def fix_spans(groups: Iterable[Group], fix: str) -> list[tuple[str, FixLine]]:
    """Return the lines of a fix, each with the neighbouring releases that have it."""
    members = [
        (group.releases, line) for group in groups for line in group.fixes if line.fix == fix
    ]
    return [
        (span([release for releases, _ in neighbours for release in releases]), line)
        for line, found in groupby(members, key=lambda member: member[1])
        for neighbours in [list(found)]
    ]


def _fix_lines(row: Row, rules: Sequence[Rule]) -> Iterable[FixLine]:
    for fix, own in rules_by_fix(rules).items():
        words = {
            side: count_in_words(total(counts, (rule.name for rule in own)))
            for side, counts in row.sides.items()
        }
        yield FixLine(
            fix=fix,
            bare=words[BARE],
            shimmed=words[SHIMMED],
            patched=words.get(PATCHED, "no patches"),
        )


def _tests(number: int) -> str:
    return f"{number} test{'' if number == 1 else 's'}"
