"""Take releases out of a copy of the project, pin them again, and compare: not a byte may differ.

The copy is a clone of what is committed. The patches stay, because people write them; which
releases they are for is forgotten.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from tools.compatibility.project import write_pages
from tools.compatibility.results import RESULTS, dump_results, load_results, merge
from tools.git import require_git
from tools.record import Record, decode_ranges, dump_record, encode_ranges, load_record
from tools.release_table import dump_table
from tools.releases import CACHE, RECORD, ROOT, TABLE, UserError, load_table
from tools.series import INDEX, PATCHES, Series, dump_series, load_series

_SHARED = ("wheels", "sdists")
"""Folders of the cache, whose files are checked by their hashes."""


def forget(releases: Collection[str]) -> None:
    """Take releases out of the data and the pages of this project.

    Raises UserError for a release that is not pinned.
    """
    table = load_table()
    if unknown := sorted(set(releases) - set(table)):
        raise UserError(f"not pinned: {', '.join(unknown)}")
    series = load_series(PATCHES, table)
    record = without(load_record(RECORD) or {}, releases, list(table))
    kept = {name: entry for name, entry in table.items() if name not in releases}
    TABLE.write_text(dump_table(kept), encoding="utf-8")
    RECORD.write_text(dump_record(record), encoding="utf-8")
    left = [
        Series(folder=each.folder, releases=tuple(r for r in each.releases if r not in releases))
        for each in series
    ]
    index = dump_series(each for each in left if each.releases)
    (PATCHES / INDEX).write_text(index, encoding="utf-8")
    results = merge(load_results(RESULTS), {}, kept)
    RESULTS.write_text(dump_results(results), encoding="utf-8")
    write_pages()


def without(record: Record, releases: Collection[str], order: Sequence[str]) -> Record:
    """Return the record for the other releases of ``order``, which is that of the table."""
    kept = [name for name in order if name not in releases]
    return {
        test: encode_ranges(decode_ranges(ranges, order) - set(releases), kept)
        for test, ranges in record.items()
    }


def prove(releases: Sequence[str], *, python: str) -> str:
    """Pin releases again in a copy of the project; return what is different then, as git's status.

    Raises UserError if a step fails there; its words are printed.
    """
    with tempfile.TemporaryDirectory(dir=CACHE, ignore_cleanup_errors=True) as scratch:
        clone = Path(scratch) / "project"
        _run(["git", "clone", "--quiet", str(ROOT), str(clone)], ROOT)
        (clone / ".cache").mkdir()
        for name in _SHARED:
            (CACHE / name).mkdir(parents=True, exist_ok=True)
            (clone / ".cache" / name).symlink_to(CACHE / name)
        _run([sys.executable, "-m", "tools.pin_again", "--forget", *releases], clone)
        for release in releases:
            _run([sys.executable, "-m", "tools.pin", release, "--python", python], clone)
        return _run(["git", "status", "--porcelain"], clone, capture=True)


def _run(command: Sequence[str], folder: Path, *, capture: bool = False) -> str:
    output = subprocess.PIPE if capture else None
    run = subprocess.run(command, cwd=folder, stdout=output, text=True, check=False)
    if run.returncode:
        raise UserError(f"{' '.join(command)} failed")
    return run.stdout or ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 if pinning releases again does not bring the same bytes back."""
    parser = argparse.ArgumentParser(prog="nox -s pin-again --", description=__doc__)
    parser.add_argument("releases", metavar="VERSION", nargs="+", help="oldest first")
    parser.add_argument("--python", default="3.11", help="Python version (default: %(default)s)")
    parser.add_argument(
        "--forget", action="store_true", help="only take them out, here and not in a copy"
    )
    options = parser.parse_args(arguments)
    try:
        require_git()
        CACHE.mkdir(exist_ok=True)
        if options.forget:
            forget(options.releases)
            return 0
        different = prove(options.releases, python=options.python)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if different:
        print(f"not what is committed:\n{different}", end="")
        return 1
    print(f"{', '.join(options.releases)}: pinned again, and every byte is what is committed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
