"""For ``AUTOWRAPT_BOOTSTRAP=shim``: what the package's entry points name.

autowrapt has wrapt discover the entry points of the group ``shim`` as Python starts, and loading
one imports this package, which applies the fixes.
"""

from __future__ import annotations

from types import ModuleType


def on_import(module: ModuleType) -> None:
    """Do nothing; called by wrapt once ``module`` is imported."""
