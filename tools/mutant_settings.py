"""What ``mutants.toml`` says: what is mutated, with which tests, and what may survive."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import tomli

from tools.mutant_runs import Stage
from tools.mutations import Key, Mutant, Operator, mutants_of
from tools.releases import UserError

_ANY = ".*"
_SKIPPED_BY = ("operator", "module", "function", "was")


@dataclass(frozen=True, kw_only=True)
class Skip:
    """Mutants that are not made: those of which all the given regular expressions fit."""

    reason: str
    operator: str = _ANY
    module: str = _ANY
    function: str = _ANY
    was: str = _ANY

    def fits(self, key: Key) -> bool:
        """Tell whether the mutant of that key is skipped."""
        return all(self._fits(name, getattr(key, name)) for name in _SKIPPED_BY)

    def fits_all_of(self, operator: str, module: str) -> bool:
        """Tell whether it is, whatever the operator makes of the module."""
        somewhere = (self.function, self.was) != (_ANY, _ANY)
        fits = self._fits("operator", operator) and self._fits("module", module)
        return fits and not somewhere

    def _fits(self, name: str, value: str) -> bool:
        return re.fullmatch(getattr(self, name), value) is not None

    @property
    def words(self) -> str:
        """What is skipped, as Markdown."""
        given = {name: getattr(self, name) for name in _SKIPPED_BY}
        return ", ".join(f"{name} `{value}`" for name, value in given.items() if value != _ANY)


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A mutant that may survive, and why.

    It is ``equivalent`` if nothing that the package does is different. If something is, the reason
    says why that does not matter.
    """

    key: Key
    reason: str
    equivalent: bool


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the file says.

    Attributes:
        modules: The modules to mutate, without the package's name.
        rate: How many per cent of the mutants have to be killed.
        stages: The tests, in the order in which a mutant meets them.
        skips: What is not mutated.
        listed: What may survive.
    """

    modules: tuple[str, ...]
    rate: float
    stages: tuple[Stage, ...]
    skips: tuple[Skip, ...]
    listed: tuple[Listed, ...]

    def mutants_of(
        self, module: str, source: str, *, operators: Mapping[str, Operator]
    ) -> list[Mutant]:
        """Return the mutants of a module, but for those that are skipped."""
        chosen = {
            name: operator
            for name, operator in operators.items()
            if not any(each.fits_all_of(name, module) for each in self.skips)
        }
        mutants = mutants_of(module, source, operators=chosen)
        return [each for each in mutants if not any(skip.fits(each.key) for skip in self.skips)]


def load_settings(text: str) -> Settings:
    """Return what the file with that text says; raises UserError if that makes no sense."""
    try:
        data = tomli.loads(text)
        return Settings(
            modules=tuple(data.pop("modules")),
            rate=float(data.pop("rate")),
            stages=tuple(Stage(**_tuples(each)) for each in data.pop("stage")),
            skips=tuple(Skip(**each) for each in data.pop("skip", [])),
            listed=tuple(_listed(each) for each in data.pop("survivor", [])),
            **data,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"cannot read mutants.toml: {error!r}") from error


def _tuples(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()
    }


def _listed(entry: Mapping[str, Any]) -> Listed:
    names = {field.name for field in fields(Key)}
    key = Key(**{name: value for name, value in entry.items() if name in names})
    return Listed(key=key, **{name: entry[name] for name in entry if name not in names})
