"""Write the commits of a repository that `tools.checkout` made back to ``patches/``."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.checkout import BASE_SUBJECT, PATCHED_FOLDERS, Sources, make_base
from tools.git import Git
from tools.releases import FIXES, PACKAGE, UserError
from tools.series import PATCH_NAMES, Series, series_of, words_of

# Whatever a configuration could change is said, so that the bytes depend on the commits alone.
_FORMAT = (
    "--no-numbered --zero-commit --no-signature --no-stat --patch --full-index --no-renames -U3 "
    "--inter-hunk-context=0 --no-function-context --diff-algorithm=myers --indent-heuristic "
    f"--no-color --no-ext-diff --no-textconv --src-prefix=a/ --dst-prefix=b/ -O{os.devnull} "
    "--subject-prefix=PATCH --no-cover-letter --no-attach --no-thread --no-signoff --no-base "
    "--no-notes --no-to --no-cc --no-add-header --quiet"
).split()

_UNDER_WAY = {
    "rebase-apply": "git am",
    "rebase-merge": "git rebase",
    "MERGE_HEAD": "git merge",
    "CHERRY_PICK_HEAD": "git cherry-pick",
    "REVERT_HEAD": "git revert",
}


def export(
    sources: Sources, series: Sequence[Series], release: str, folder: Path, *, name: str | None
) -> str:
    """Write the commits of a repository that `checkout` made to ``patches/``; say what was done.

    ``name`` is the series' directory for a release that is in none, by default the release. Raises
    UserError, with nothing written, if the repository is not one of that release with one commit
    per fix and nothing left to commit.
    """
    sources.require(release)
    own = series_of(series, release)
    if own is not None and name not in (None, own.name):
        raise UserError(f"{release} is in the series {own.name} of patches/series.toml, not {name}")
    target = own.name if own is not None else name or release
    sources.require(target)
    git = _existing(folder)
    commits = _commits(git, release, sources.sdist(release))
    directory = sources.patches / target
    words = words_of(directory, sources.patches)
    sources.patches.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=sources.patches, prefix=".export-") as scratch:
        made = Path(scratch) / target
        write_patches(git, commits, made)
        _check_round_trip(made, make_base(Path(scratch) / "tree", release, sources.sdist(release)))
        if directory.is_dir() and contents(directory) == contents(made):
            said = f"{words} is what these commits give"
        else:
            _replace(directory, made)
            said = f"{words} written: {', '.join(PATCH_NAMES)}"
    if own is None:
        said += f"\npatches/series.toml does not have {release} yet. "
        if any(each.name == target for each in series):
            said += f"Add it to the releases of {target}."
        else:
            said += (
                f'Add, in its place:\n\n[[series]]\ndirectory = "{target}"\nreleases = ["{target}"]'
            )
    return said


def _existing(folder: Path) -> Git:
    git = Git(folder)
    if not git.internal.is_dir():
        raise UserError(
            f"{folder} is not a repository of its own. nox -s patches-checkout makes one"
        )
    for file, command in _UNDER_WAY.items():
        if (git.internal / file).exists():
            raise UserError(f"{folder} is in the middle of `{command}`: finish or abort that first")
    changed = git.run("status", "--porcelain", "--untracked-files=all").rstrip()
    if changed:
        raise UserError(f"{folder} has changes that are in no commit:\n{changed}")
    return git


def _commits(git: Git, release: str, sdist: Path) -> list[str]:
    """Return the commits on top of the sdist's, oldest first; raises UserError if any is wrong."""
    lines = git.run("rev-list", "--parents", "--reverse", "--topo-order", "HEAD").splitlines()
    base, *others = [line.split() for line in lines]
    found = BASE_SUBJECT.match(git.run("log", "-1", "--format=%s", base[0]))
    if found is None:
        raise UserError(
            f"the first commit in {git.folder} is not one that nox -s patches-checkout made"
        )
    if found[1] != release:
        raise UserError(f"{git.folder} was made from {PACKAGE} {found[1]}, not {release}")
    with tempfile.TemporaryDirectory() as scratch:
        published = make_base(Path(scratch) / "tree", release, sdist)
        expected = published.run("rev-parse", "HEAD^{tree}")
    if git.run("rev-parse", f"{base[0]}^{{tree}}") != expected:
        raise UserError(
            f"the first commit in {git.folder} is not the published sdist of {release}: somebody "
            "has amended it. Start anew with nox -s patches-checkout"
        )
    if any(len(line) != 2 for line in others):
        raise UserError(f"the history of {git.folder} is not one line: rebase the merges away")
    commits = [line[0] for line in others]
    if len(commits) != len(FIXES):
        subjects = git.run("log", "--reverse", "--format=  %h %s", f"{base[0]}..HEAD").rstrip()
        raise UserError(
            f"{git.folder} has {len(commits)} commits on top of the sdist, and a series has "
            f"exactly {len(FIXES)}, one per fix: {', '.join(FIXES)}"
            + (f"\n{subjects}" if subjects else "")
        )
    for commit, fix in zip(commits, FIXES, strict=True):
        _check_files(git, commit, fix)
    return commits


def _check_files(git: Git, commit: str, fix: str) -> None:
    listing = git.run("diff-tree", "-r", "-z", "--no-commit-id", "--name-only", commit)
    files = [name for name in listing.split("\0") if name]
    outside = [
        name for name in files if not name.startswith(tuple(f"{each}/" for each in PATCHED_FOLDERS))
    ]
    title = f"the commit for {fix} ({git.run('log', '-1', '--format=%h %s', commit).strip()})"
    if not files:
        raise UserError(f"{title} changes nothing")
    listing = git.run("diff-tree", "-r", "--no-commit-id", "--name-only", "--diff-filter=D", commit)
    if listing.strip():
        raise UserError(f"{title} removes or renames files: {', '.join(listing.split())}")
    if outside:
        raise UserError(
            f"{title} changes files outside {' and '.join(PATCHED_FOLDERS)}: {', '.join(outside)}"
        )


def write_patches(git: Git, commits: Sequence[str], folder: Path) -> None:
    """Write one commit per fix, the oldest first, as the files of a series into a new folder.

    The bytes depend on the commits' parents, changes and messages, and on nothing else: author and
    dates are the project's own. Raises UserError for what cannot go into a patch.
    """
    parent = git.run("rev-parse", f"{commits[0]}^").strip()
    start = parent
    for commit in commits:
        message = git.run("log", "-1", "--format=%B", commit)
        parent = git.run(
            "commit-tree", f"{commit}^{{tree}}", "-p", parent, "-F", "-", text=message
        ).strip()
    folder.mkdir()
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        git.run("format-patch", *_FORMAT, "--output-directory", scratch, f"{start}..{parent}")
        for file, name in zip(sorted(Path(scratch).iterdir()), PATCH_NAMES, strict=True):
            if b"\r" in file.read_bytes():
                raise UserError(f"{name} would have carriage returns, which git am takes out")
            file.rename(folder / name)


def _check_round_trip(made: Path, git: Git) -> None:
    """Raise UserError if the patches, applied again to a repository, would not be the same."""
    base = git.run("rev-parse", "HEAD").strip()
    applied = git.attempt("am", "--quiet", *(str(made / name) for name in PATCH_NAMES))
    again = made.with_name("again")
    commits = git.run("rev-list", "--reverse", f"{base}..HEAD").split()
    if applied.returncode == 0 and len(commits) == len(PATCH_NAMES):
        write_patches(git, commits, again)
        if contents(again) == contents(made):
            return
    raise UserError(
        "git am does not read from the patches what the commits say. Their messages must not be "
        "empty, begin with [brackets] or a From: line, or have a line that begins with `---` or "
        f"`diff --git`. {' '.join(applied.stderr.split())}".rstrip()
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of each file in a folder, by name."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def _replace(directory: Path, made: Path) -> None:
    """Put one folder in the place of another, which may not be there yet."""
    old = made.with_name("old")
    if directory.exists():
        directory.rename(old)
    try:
        made.rename(directory)
    except BaseException:
        if old.exists():
            old.rename(directory)
        raise
