"""Write the compatibility pages from the results of the matrix, or check that they are current."""

from __future__ import annotations

import argparse
import sys

from tools.compatibility.project import find_defects, write_pages
from tools.compatibility.results import RESULTS
from tools.releases import ROOT, UserError


def main(arguments: list[str] | None = None) -> int:
    """Write the pages; or with ``--check`` return 1 if they or the results are out of date."""
    parser = argparse.ArgumentParser(prog="nox -s compatibility --", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing, and fail where something is stale"
    )
    options = parser.parse_args(arguments)
    try:
        if not options.check:
            for file in write_pages():
                print(f"written: {file.relative_to(ROOT)}")
            return 0
        found = find_defects()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        print(f"{RESULTS.relative_to(ROOT)} and its pages are current")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
