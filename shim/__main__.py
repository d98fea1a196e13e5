"""The command line, ``python -m shim``; see `shim.command_line` and, for ``run``, `shim.run`."""

from __future__ import annotations

import sys

# Before anything that an older Python cannot import; see shim/__init__.py.
if sys.version_info < (3, 10):  # noqa: UP036
    sys.stderr.write(
        "error: openai-agents-realtime-shim needs Python 3.10 or later, and this is "
        + sys.version.split()[0]
        + "\n"
    )
    sys.exit(2)

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command (``sys.argv`` when omitted) and return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Imported when needed: the command line takes longer to import than an application may wait.
    if given[:1] == ["run"] and given[1:2] not in ([], ["-h"], ["--help"]):
        from .run import main as run

        return run(given[1:])
    from .command_line import main as carry_out

    return carry_out(given)


if __name__ == "__main__":
    sys.exit(main())
