"""What came of mutants: numbers, what is wrong with them, and the document that lists survivors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from tools.mutant_runs import Verdict
from tools.mutant_settings import Listed, Settings
from tools.mutations import Key

_HEADER = """\
# Mutants of the shim

Written by `nox -s mutants`; do not edit. A mutant is a copy of one module with one small slip: a
condition negated, a statement left out, a string or a number changed. The tests are to notice
every one of them. Those that they do not notice survive, and are listed here. An *equivalent* one
does what the original does, as far as anybody can tell; a *tolerated* one does not, and the reason
says why that does not matter. Both count as survivors in the rate. Which slips are tried, with
which tests, is in `tools/mutants.toml`.
"""


@dataclass(frozen=True)
class Results:
    """The verdicts on mutants."""

    verdicts: tuple[Verdict, ...]

    def of(self, module: str) -> Results:
        """Return the part of one module."""
        return Results(tuple(each for each in self.verdicts if each.key.module == module))

    @property
    def survivors(self) -> list[Key]:
        return [each.key for each in self.verdicts if each.killer is None]

    @property
    def rate(self) -> float:
        """How many per cent were killed; 100 if there are no mutants."""
        if not self.verdicts:
            return 100.0
        return 100.0 * (len(self.verdicts) - len(self.survivors)) / len(self.verdicts)


def load_results(text: str) -> Results:
    """Return the results that `dump_results` has put into words."""
    return Results(
        tuple(Verdict(**{**each, "key": Key(**each["key"])}) for each in json.loads(text))
    )


def dump_results(results: Results) -> str:
    """Return the results as JSON."""
    return json.dumps([asdict(each) for each in results.verdicts], indent=1) + "\n"


def problems_of(
    results: Results, listed: Iterable[Listed], *, modules: Sequence[str], rate: float
) -> list[str]:
    """Return what is wrong with the results of these modules, a line or more each."""
    listed = [each for each in listed if each.key.module in modules]
    killers = {each.key: each.killer for each in results.verdicts}
    unlisted = set(results.survivors) - {each.key for each in listed}
    problems = [
        f"survives, and is not listed:\n{toml_of(key)}"
        for key in results.survivors
        if key in unlisted
    ]
    for each in listed:
        if each.key not in killers:
            problems.append(f"listed, but there is no such mutant:\n{toml_of(each.key)}")
        elif (killer := killers[each.key]) is not None:
            problems.append(f"listed, but killed by {killer}:\n{toml_of(each.key)}")
    if results.rate < rate:
        problems.append(f"{results.rate:.1f} % are killed, and not {rate:g} %")
    return problems


def toml_of(key: Key) -> str:
    """Return the entry of a survivor for ``mutants.toml``, but for the reason."""
    values = asdict(key)
    if key.occurrence == 1:
        del values["occurrence"]
    # A number and a string of JSON are a number and a string of TOML.
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]
    return "\n".join(["[[survivor]]", *lines])


def table_of(results: Results, modules: Sequence[str]) -> str:
    """Return the numbers as a Markdown table, with a row for each module and one for all."""
    head = ("module", "mutants", "killed", "of these by a hang", "survived", "killed, per cent")
    rows: list[tuple[str, ...]] = [head, ("---", *["---:"] * (len(head) - 1))]
    for name, part in [*((each, results.of(each)) for each in modules), ("all", results)]:
        number, alive = len(part.verdicts), len(part.survivors)
        counts = (number, number - alive, sum(each.hangs for each in part.verdicts), alive)
        rows.append((name, *map(str, counts), f"{part.rate:.1f}"))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def document(results: Results, settings: Settings) -> str:
    """Return the results as a Markdown document, with each survivor and its reason."""
    reasons = {each.key: each for each in settings.listed}
    paragraphs = [_HEADER.rstrip(), table_of(results, settings.modules)]
    for module in settings.modules:
        if survivors := results.of(module).survivors:
            paragraphs.append(f"## {module}.py")
            paragraphs += [_paragraph(key, reasons.get(key)) for key in survivors]
    if settings.skips:
        paragraphs.append("## What is not mutated")
        paragraphs.append("\n".join(f"- {each.words}: {each.reason}." for each in settings.skips))
    return "\n\n".join(paragraphs) + "\n"


def _paragraph(key: Key, listed: Listed | None) -> str:
    where = f"`{key.function}`" if key.function else "On the outermost level"
    number = f" ({key.occurrence})" if key.occurrence > 1 else ""
    if listed is None:
        why = "Not listed."
    else:
        why = f"{'Equivalent' if listed.equivalent else 'Tolerated'}: {listed.reason}."
    diff = f"```diff\n- {key.was}\n+ {key.becomes}\n```"
    return f"{where}, {key.operator}{number}:\n\n{diff}\n\n{why}"
