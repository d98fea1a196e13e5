"""Tell which releases the package index has that are not pinned; fails if there are any."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Sequence

from packaging.version import Version

from tools.releases import PACKAGE, UserError, load_table


def published_releases() -> list[str]:
    """Return all final releases of the SDK that the index has.

    Raises UserError with pip's words if it cannot be asked.
    """
    command = [sys.executable, "-m", "pip", "index", "versions", "--json"]
    run = subprocess.run(
        [*command, "--ignore-requires-python", PACKAGE], capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise UserError(f"cannot ask the index for {PACKAGE}:\n{run.stderr.strip()}")
    return list(json.loads(run.stdout)["versions"])


def unpinned(published: Sequence[str], pinned: Collection[str]) -> list[str]:
    """Return the published releases that are not pinned, oldest first.

    Those before the first pinned one have no Realtime layer, or none with the wrapped methods.
    """
    first = min(map(Version, pinned))
    new = {Version(name) for name in published} - set(map(Version, pinned))
    return [str(version) for version in sorted(new) if version > first]


def main() -> int:
    """Print the releases that are missing; return 1 if there are any, or the index is silent."""
    try:
        pinned = load_table()
        missing = unpinned(published_releases(), pinned)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for name in missing:
        print(f"{PACKAGE} {name} is not pinned: nox -s pin -- {name}")
    if not missing:
        print(f"all releases of {PACKAGE} up to {list(pinned)[-1]}, the newest, are pinned")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
