"""The properties that conversations have broken, for runs in which that is wanted."""

from __future__ import annotations

from .invariants import Problem


class Findings:
    """Counts the conversations that break a property, by the first one that each of them breaks."""

    def __init__(self) -> None:
        self.conversations = 0
        self._counts: dict[str, int] = {}
        self._firsts: dict[str, tuple[int, str]] = {}

    def __bool__(self) -> bool:
        return bool(self._counts)

    def begin(self) -> None:
        """Begin a conversation."""
        self.conversations += 1

    def add(self, problem: Problem) -> None:
        """Take in what ends the conversation."""
        self._counts[problem.rule] = self._counts.get(problem.rule, 0) + 1
        self._firsts.setdefault(problem.rule, (self.conversations, problem.text))

    def lines(self) -> list[str]:
        """Return what was found, each property with the first thing that breaks it."""
        return [
            f"{count:5} of {self.conversations} conversations break {rule}, the first of them is "
            f"number {self._firsts[rule][0]}: {self._firsts[rule][1]}"
            for rule, count in sorted(self._counts.items())
        ]
