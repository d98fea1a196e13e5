"""Three fixes for the Realtime layer of the OpenAI Agents SDK, applied by importing this.

    import shim

Importing it before or after the SDK makes no difference, and imports nothing of the SDK.
See `status`, `revert` and `apply`.
"""

from __future__ import annotations

import sys
import warnings

__version__ = "0.1.0"


def _is_command_line() -> bool:
    """Tell whether this is ``python -m shim``, which applies the fixes where it needs them."""
    # While Python imports the package of a module that it was told to run, argv[0] is "-m".
    return sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)] in ("shim", "-mshim")


if sys.version_info >= (3, 10):  # noqa: UP036, for installations that did not ask
    if not _is_command_line():
        from .activation import FixStatus, Status, apply, revert, status
        from .errors import ShimError, ShimWarning

        __all__ = ["FixStatus", "ShimError", "ShimWarning", "Status", "apply", "revert", "status"]

        apply()
else:  # The application must still start; `python -m shim` says the same and exits.
    warnings.warn(
        "openai-agents-realtime-shim: not applied: it needs Python 3.10 or later, and this is "
        + sys.version.split()[0],
        stacklevel=2,
    )
