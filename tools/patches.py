"""Check releases out with their patches, write the patches back, and check all of them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.checkout import Sources, checkout, port
from tools.export import export
from tools.git import require_git
from tools.patch_check import check
from tools.releases import TABLE, Release, UserError, load_table
from tools.series import PATCHES, load_series
from tools.upstream import fetch_sdist


def published(table: Mapping[str, Release]) -> Sources:
    """Return the project's own patches, and the published sdists."""
    return Sources(
        patches=PATCHES,
        table=table,
        table_file=TABLE,
        sdist=lambda release: fetch_sdist(release, table[release]),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.patches", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser(
        "checkout",
        prog="nox -s patches-checkout --",
        help="make a git repository of a release, with the patches of its series as commits",
    )
    make.add_argument("release", help="such as 0.6.8")
    make.add_argument("folder", type=Path, help="the repository to make; empty, or not there yet")
    start = make.add_mutually_exclusive_group()
    start.add_argument(
        "--from", dest="origin", metavar="SERIES", help="port the patches of another series"
    )
    start.add_argument("--bare", action="store_true", help="apply no patches")
    back = commands.add_parser(
        "export",
        prog="nox -s patches-export --",
        help="write the commits of such a repository back to patches/",
    )
    back.add_argument("release", help="the one that the repository was made from")
    back.add_argument("folder", type=Path, help="the repository")
    back.add_argument(
        "--series", help="directory for a release that is in no series (default: the release)"
    )
    test = commands.add_parser(
        "check",
        prog="nox -s patches-check --",
        help="check that the patches apply to each release and export to the same bytes",
    )
    test.add_argument(
        "--releases",
        default="all",
        help="all, ends (the first and last of each series) or such as 0.2.0-0.3.1,0.24.0 "
        "(default: %(default)s)",
    )
    test.add_argument(
        "--record", action="store_true", help="write the patched hashes into shim/releases.json"
    )
    return parser


def main(arguments: list[str] | None = None, *, sources: Sources | None = None) -> int:
    """Carry out a command; return the exit code.

    ``sources`` are the patches, release table and sdists to use in place of the project's.
    """
    options = _parser().parse_args(arguments)
    try:
        require_git()
        sources = sources or published(load_table())
        if options.command == "check":
            return check(sources, choice=options.releases, record=options.record)
        # The first series is exported before there is a list of them.
        index = sources.patches / "series.toml"
        series = load_series(sources.patches, sources.table) if index.exists() else []
        if options.command == "export":
            print(export(sources, series, options.release, options.folder, name=options.series))
        elif options.origin is not None:
            complete, words = port(
                sources, series, options.release, options.folder, origin=options.origin
            )
            print(words)
            return int(not complete)
        else:
            print(checkout(sources, series, options.release, options.folder, bare=options.bare))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
