"""Modules of the project that are loaded by their path.

To import them by name would import `shim`, and that applies the fixes.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]


def load(path: str) -> Any:
    """Return the module in the file ``path``, relative to the root of the project."""
    file = _ROOT / path
    if file.stem not in sys.modules:
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec is not None
        assert spec.loader is not None
        # Dataclasses look their module up in sys.modules.
        sys.modules[file.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[file.stem])
    return sys.modules[file.stem]


loopback = load("shim/loopback.py")
"""The loopback Realtime server."""

PATIENCE = 60.0
"""Seconds to wait for what must come: 0.2.x take long for an event on a busy machine."""
