"""What differs between the releases in what the server says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Dialect:
    """The protocol that a release speaks: 0.2.x the beta one, 0.3.0 and later the GA one."""

    events: frozenset[str]
    """The types of the server events that the release's parser knows."""

    @classmethod
    def of(cls, hello: dict[str, Any]) -> Dialect:
        return cls(frozenset(hello["events"]))

    @property
    def is_ga(self) -> bool:
        return "conversation.item.added" in self.events

    @property
    def snapshots(self) -> tuple[str, ...]:
        """The events with a whole item, the ones that are about known items first."""
        names = (
            "conversation.item.retrieved",
            "conversation.item.created",
            "conversation.item.added",
            "response.output_item.added",
            "response.output_item.done",
            "conversation.item.done",
        )
        return tuple(name for name in names if name in self.events)

    def output(self, name: str) -> str:
        """The type of an event about the assistant's output, e.g. ``audio.delta``."""
        return f"response.output_{name}" if self.is_ga else f"response.{name}"

    @property
    def assistant_parts(self) -> tuple[str, str]:
        """The types of the assistant's text and audio parts."""
        return ("output_text", "output_audio") if self.is_ga else ("text", "audio")
