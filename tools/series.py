"""The patch series in ``patches/``: which files they have, and which releases each one serves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli

from tools.releases import FIXES, ROOT, Release, UserError, select

PATCHES = ROOT / "patches"
PATCH_NAMES = tuple(f"{number:04}-{fix}.patch" for number, fix in enumerate(FIXES, 1))
"""The files of every series, one per fix, in the order in which they apply."""

INDEX = "series.toml"
_HEADER = "# Which series of patches serves which releases, oldest first; see README.md.\n"


@dataclass(frozen=True, kw_only=True)
class Series:
    """The patches for releases whose patched files are the same bytes.

    Attributes:
        folder: Where the patches are; it is named for the first release.
        releases: The releases that they are for, oldest first.
    """

    folder: Path
    releases: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.folder.name

    @property
    def words(self) -> str:
        """The folder as messages name it."""
        return words_of(self.folder, self.folder.parent)

    def files(self) -> list[Path]:
        """Return the paths of the patches, in order; raises UserError if there is one missing."""
        if missing := self.missing():
            raise UserError(f"{self.words} lacks {', '.join(missing)}")
        return [self.folder / name for name in PATCH_NAMES]

    def missing(self) -> list[str]:
        """Return the names of the patches that are not there."""
        return [name for name in PATCH_NAMES if not (self.folder / name).is_file()]


def words_of(path: Path, root: Path) -> str:
    """Return a path in the folder of patches, ``root``, as messages name it."""
    return path.relative_to(root.parent).as_posix()


def load_series(root: Path, table: Mapping[str, Release]) -> list[Series]:
    """Return the series that ``series.toml`` in the folder ``root`` has, oldest first.

    Raises UserError if the file cannot be understood, or says what cannot be: a release that the
    table does not know or that is in two series, a wrong name, a wrong order. Whether the patches
    are there is for `defects` to tell.
    """
    try:
        data = tomli.loads((root / INDEX).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"there is no {words_of(root / INDEX, root)}") from None
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {words_of(root / INDEX, root)}: {error}") from error
    entries = data.get("series", [])
    if set(data) - {"series"} or not isinstance(entries, list):
        raise UserError(f"{INDEX} holds [[series]] tables and nothing else")
    series = [_parse(root, entry, position) for position, entry in enumerate(entries, 1)]
    _check_releases(series, table)
    return series


def dump_series(series: Iterable[Series]) -> str:
    """Return the text of ``series.toml`` with these series."""
    tables = [
        f'[[series]]\ndirectory = "{each.name}"\nreleases = {json.dumps(list(each.releases))}\n'
        for each in series
    ]
    return "\n".join([_HEADER, *tables])


def _parse(root: Path, entry: Any, position: int) -> Series:
    fields = set(entry) if isinstance(entry, dict) else set()
    releases = entry["releases"] if fields == {"directory", "releases"} else None
    if (
        not isinstance(releases, list)
        or not releases
        or not all(isinstance(release, str) for release in releases)
    ):
        raise UserError(
            f'{INDEX}: table {position} is not `directory = "X"` and `releases = ["X", ...]`'
        )
    if entry["directory"] != releases[0]:
        raise UserError(
            f"{INDEX}: the directory {entry['directory']!r} is not named for the first release "
            f"of its series, {releases[0]}"
        )
    return Series(folder=root / releases[0], releases=tuple(releases))


def _check_releases(series: Sequence[Series], table: Mapping[str, Release]) -> None:
    order = list(table)
    served: dict[str, str] = {}
    for each in series:
        for release in each.releases:
            if release not in table:
                raise UserError(
                    f"{INDEX}: {each.name} has {release}, which is not in shim/releases.json"
                )
            if release in served:
                first = served[release]
                where = f"twice in {first}" if first == each.name else f"in {first} and {each.name}"
                raise UserError(f"{INDEX}: {release} is {where}")
            served[release] = each.name
        if list(each.releases) != sorted(each.releases, key=order.index):
            raise UserError(f"{INDEX}: the releases of {each.name} are not oldest first")
    names = [each.name for each in series]
    if names != sorted(names, key=order.index):
        raise UserError(f"{INDEX}: the series are not oldest first")


def series_of(series: Iterable[Series], release: str) -> Series | None:
    """Return the series that serves a release, or None."""
    return next((each for each in series if release in each.releases), None)


def defects(root: Path, series: Sequence[Series], table: Mapping[str, Release]) -> list[str]:
    """Say, in one line each, what is missing in the folder ``root`` or does not belong there."""
    lines = [
        f"{release} is in no series of {INDEX}"
        for release in table
        if series_of(series, release) is None
    ]
    for each in series:
        if not each.folder.is_dir():
            lines.append(f"{each.words} is missing")
        elif each.missing():
            lines.append(f"{each.words} lacks {', '.join(each.missing())}")
    expected = {each.folder / name for each in series for name in PATCH_NAMES}
    strays = [
        file
        for file in sorted(root.rglob("*"))
        if file.is_file()
        and file not in expected
        and (file.parent != root or file.suffix == ".patch")
        # An export that is going on works in there.
        and not any(part.startswith(".") for part in file.relative_to(root).parts)
    ]
    return lines + [f"{words_of(file, root)} belongs to no series" for file in strays]


def ends(series: Iterable[Series]) -> list[str]:
    """Return the first and the last release of each series."""
    chosen = [(each.releases[0], each.releases[-1]) for each in series]
    return list(dict.fromkeys(release for pair in chosen for release in pair))


def chosen_releases(
    choice: str, series: Sequence[Series], table: Mapping[str, Release]
) -> list[str]:
    """Return the releases that ``choice`` means, oldest first.

    It is ``all``, ``ends`` for the first and the last release of each series, or what
    `tools.releases.select` takes. Raises UserError for a release that is not in the table.
    """
    if choice == "ends":
        wanted = set(ends(series))
        return [release for release in table if release in wanted]
    return select(table, None if choice == "all" else choice)
