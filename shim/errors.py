"""What the shim raises and warns with."""

from __future__ import annotations


class ShimWarning(UserWarning):
    """The shim was asked to do something and, in whole or in part, did not.

    The text names the fixes, the release, the reason and what to do about it. It never holds
    conversation content.
    """


class ShimError(RuntimeError):
    """What would have been a `ShimWarning`, under ``OPENAI_AGENTS_SHIM=strict``."""


class CommandError(Exception):
    """Why a command of ``python -m shim`` cannot be carried out, and what to do; one line."""
