"""A sequence of steps: what the server says and what the application does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

Step = dict[str, Any]


@dataclass(frozen=True)
class Sequence:
    """What `stage.Stage` plays; the first step connects.

    Attributes:
        setup: How the application is set up: ``iterate`` over the session, ``async_tools``,
            ``guardrail``, ``tracker`` (None, ``plain`` or ``raises``).
        steps: The steps; ``do`` names the method of `stage.Stage` that plays it.
    """

    setup: dict[str, Any]
    steps: list[Step]

    def as_json(self) -> str:
        return json.dumps({"setup": self.setup, "steps": self.steps})

    @classmethod
    def from_json(cls, text: str) -> Sequence:
        return cls(**json.loads(text))

    def __repr__(self) -> str:
        lines = [f"setup {json.dumps(self.setup)}"]
        lines += [f"{number:2} {json.dumps(step)}" for number, step in enumerate(self.steps)]
        return "\n".join(lines)
