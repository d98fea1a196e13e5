"""What the demonstration has to know about the installed SDK."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..loopback import Protocol


@dataclass(frozen=True, kw_only=True)
class Setting:
    """An SDK release, and what it is able to do.

    Attributes:
        release: Its version.
        protocol: The protocol that it speaks; images came with GA.
        spoken: Whether it accepts audio in the assistant's messages.
        retrieves: Whether it asks for an answer once more after the user has interrupted it.
    """

    release: str
    protocol: Protocol
    spoken: bool
    retrieves: bool

    @classmethod
    def of(cls, release: str) -> Setting:
        """Return the setting for a release, be it in the release table or not."""
        key = tuple(int(number) for number in re.findall(r"\d+", release)[:3])
        protocol: Protocol = "ga" if key >= (0, 3) else "beta"
        return cls(
            release=release,
            protocol=protocol,
            spoken=key >= (0, 2, 1),
            # Up to 0.2.3 it has forgotten by then which item it was.
            retrieves=key >= (0, 2, 4),
        )

    @property
    def images(self) -> bool:
        return self.protocol == "ga"
