"""Make a git repository of a release, with the patches of a series as commits."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.git import Git
from tools.releases import PACKAGE, Release, UserError
from tools.series import Series, series_of

PATCHED_FOLDERS = ("src/agents/realtime", "tests/realtime")
"""The only folders in which a patch may change files."""

BASE_SUBJECT = re.compile(r"openai-agents (\S+), as published")
"""The message of a repository's first commit, with the release."""


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Where the tools find things.

    Attributes:
        patches: The folder that holds ``series.toml`` and the series.
        table: The release table.
        table_file: The file that holds it.
        sdist: Returns the folder of a release's unpacked sdist, or raises UserError.
    """

    patches: Path
    table: Mapping[str, Release]
    table_file: Path
    sdist: Callable[[str], Path]

    def require(self, release: str) -> None:
        """Raise UserError, with what to do about it, for a release that is not in the table."""
        if release not in self.table:
            raise UserError(
                f"{PACKAGE} {release} is not in shim/releases.json. If it is published, take it "
                f"in first: nox -s pin -- {release}"
            )


def make_base(folder: Path, release: str, sdist: Path, *, only: Sequence[str] = ()) -> Git:
    """Make a repository with one commit, a release as published; return it.

    ``folder`` must not exist. ``only`` names folders of the sdist to take in place of all.
    """
    # What running a release's tests leaves behind in the cache is not part of it.
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc", ".*_cache")
    for part in only or (".",):
        if (sdist / part).is_dir():
            shutil.copytree(sdist / part, folder / part, symlinks=True, ignore=ignore)
    git = Git.create(folder)
    git.run("add", "--all", "--force", ".")
    git.run("commit", "--quiet", "--message", f"{PACKAGE} {release}, as published")
    return git


def checkout(
    sources: Sources, series: Sequence[Series], release: str, folder: Path, *, bare: bool = False
) -> str:
    """Make ``folder`` a repository of a release with its series applied; say what was done.

    With ``bare`` no patch is applied. Raises UserError if the release has no series, the folder
    is not empty, or a patch does not apply; then the folder is as it was.
    """
    sources.require(release)
    own = series_of(series, release)
    if own is None and not bare:
        raise UserError(
            f"{release} is in no series of patches/series.toml. Start from another series with "
            "--from SERIES, or without patches with --bare"
        )
    _require_room(folder)
    with _aside(folder) as scratch:
        git = make_base(scratch, release, sources.sdist(release))
        if own is not None and not bare:
            _apply(git, own, release)
        _move(scratch, folder)
    what = f"with the patches of {own.words}" if own is not None and not bare else "without patches"
    return (
        f"{folder} is {PACKAGE} {release}, {what}. When the commits are as they should be: "
        f"nox -s patches-export -- {release} {folder}"
    )


def port(
    sources: Sources, series: Sequence[Series], release: str, folder: Path, *, origin: str
) -> tuple[bool, str]:
    """Make ``folder`` a repository of a release with the patches of another series, ``origin``.

    Returns whether all of them went on, and what to do next. If one did not, the repository is in
    the middle of ``git am``. Raises UserError if the folder is not empty, there is no such series,
    or its own patches do not apply to its own first release; then the folder is as it was.
    """
    sources.require(release)
    source = next((each for each in series if each.name == origin), None)
    if source is None:
        names = ", ".join(each.name for each in series) or "none"
        raise UserError(f"no series {origin!r} in patches/series.toml; there are: {names}")
    patches = source.files()
    _require_room(folder)
    with _aside(folder) as scratch:
        git = make_base(scratch, release, sources.sdist(release))
        with _aside(folder) as other:
            # For a three-way merge git needs the files that the patches were made from: those of
            # the release, and for the second patch those after the first.
            original = make_base(other, origin, sources.sdist(origin), only=PATCHED_FOLDERS)
            _apply(original, source, origin)
            target = f"HEAD:refs/series/{origin}"
            git.run("fetch", "--quiet", "--no-write-fetch-head", str(other), target)
        done = git.attempt("am", "--3way", *map(str, patches))
        _move(scratch, folder)
    finish = f"nox -s patches-export -- {release} {folder}"
    if not done.returncode:
        return True, (
            f"{folder} is {PACKAGE} {release} with the patches of {origin}. Read what git merged, "
            f"run the tests, and then: {finish}\n{done.stdout.strip()}"
        )
    return False, (
        f"{done.stdout.strip()}\n{done.stderr.strip()}\n\n"
        f"The patches of {origin} do not go on {PACKAGE} {release} by themselves. {folder} is in "
        "the middle of `git am`. There:\n"
        "1. resolve the conflicts that `git status` shows (without any: make the change by hand; "
        "`git am --show-current-patch=diff` shows it), and `git add` the files;\n"
        "2. `git am --continue`, and again from 1 until no patch is left;\n"
        f"3. run the tests, and then: {finish}"
    )


def _apply(git: Git, series: Series, release: str) -> None:
    """Apply the patches of a series; raises UserError if one does not apply."""
    done = git.attempt("am", "--quiet", *map(str, series.files()))
    if done.returncode:
        words = f"{done.stdout}\n{done.stderr}".splitlines()
        kept = [line for line in words if line.startswith(("Patch failed at", "error:", "fatal:"))]
        raise UserError(
            f"the patches in {series.words} do not apply to {release}:\n"
            + "".join(f"{line}\n" for line in kept)
            + f"Nothing is left behind. For the hunk: nox -s patches-check -- --releases {release}"
        )


def _require_room(folder: Path) -> None:
    if folder.is_symlink() or (
        folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))
    ):
        raise UserError(f"{folder} is there already, and is not an empty folder: name another one")


@contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    """Give a path on the same file system as ``folder``, and remove what is there in the end."""
    parent = folder.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(dir=parent, prefix=".patches-")
    except OSError as error:
        raise UserError(f"cannot make {folder}: {error}") from error
    with scratch as name:
        yield Path(name) / "tree"


def _move(scratch: Path, folder: Path) -> None:
    if folder.exists():
        folder.rmdir()
    scratch.rename(folder)
