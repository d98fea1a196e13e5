"""Whether every patch applies to every release of its series, and exports to the same bytes."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tools.checkout import PATCHED_FOLDERS, Sources, make_base
from tools.export import write_patches
from tools.git import Git
from tools.record import encode_ranges
from tools.releases import FIXES, Release, UserError, with_patched
from tools.series import Series, chosen_releases, defects, load_series, series_of, words_of

# Threads mostly wait for git; more than this only compete for the disk.
_JOBS = min(4, 2 * (os.cpu_count() or 1))

_HUNK_LINE = re.compile(r"@@ -(\d+)\S* \+\S+ @@")
_MOVED = re.compile(r"Hunk #(\d+) succeeded at .*\(offset (.+)\)")
_REDUCED = re.compile(r"Context reduced to .*")
_FAILED = re.compile(r"error: patch failed: (.+):(\d+)")
_OTHER = re.compile(r"error: (.+?): ((?!patch does not apply).+)")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What came of one release: what is wrong, and the hashes of its modules when patched."""

    release: str
    problems: tuple[str, ...] = ()
    modules: Mapping[str, str] = field(default_factory=dict)


def hunks(patch: str) -> dict[str, list[str]]:
    """Return the ``@@ ... @@`` marks of a patch, in order, by the file that they change."""
    found: dict[str, list[str]] = {}
    marks: list[str] | None = None
    for line in patch.splitlines():
        if line.startswith("diff --git a/"):
            marks = found.setdefault(line.rpartition(" b/")[2], [])
        elif marks is not None and (mark := _HUNK_LINE.match(line)):
            marks.append(mark[0])
    return found


def complaints(patch: str, words: str) -> list[str]:
    """Say, file by file, what ``git apply --check --verbose`` has against a patch.

    ``words`` is git's output, in English. Nothing is said of hunks that apply as they stand.
    """
    marks = hunks(patch)
    lines: list[str] = []
    file = ""
    for line in words.splitlines():
        if line.startswith("Checking patch "):
            file = line.removeprefix("Checking patch ").rstrip(".")
        elif moved := _MOVED.match(line):
            number = int(moved[1])
            mark = marks[file][number - 1]
            lines.append(
                f"{file}: hunk {number} ({mark}) applies only with an offset of {moved[2]}"
            )
        elif _REDUCED.match(line):
            lines.append(f"{file}: {line[0].lower()}{line[1:]}")
        elif failed := _FAILED.match(line):
            lines.append(f"{failed[1]}: {_hunk_at(marks, failed[1], failed[2])} does not apply")
        elif other := _OTHER.match(line):
            lines.append(f"{other[1]}: {other[2]}")
    return lines


def _hunk_at(marks: Mapping[str, list[str]], file: str, line: str) -> str:
    """Name the hunk of a file that starts at a line."""
    for number, mark in enumerate(marks.get(file, []), 1):
        start = _HUNK_LINE.match(mark)
        if start is not None and start[1] == line:
            return f"hunk {number} ({mark})"
    return f"the hunk at line {line}"


def check_release(sources: Sources, series: Series, release: str) -> Finding:
    """Apply a series to a release's own sdist, export it again, and say what is wrong."""
    try:
        patches = series.files()
        sdist = sources.sdist(release)
    except UserError as error:
        return Finding(release=release, problems=(f"{release}: {error}",))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "tree"
        git = make_base(folder, release, sdist, only=PATCHED_FOLDERS)
        problems = _differences(git, series, patches)
        modules: dict[str, str] = {}
        if not problems:
            modules = _hashes(git, sources.table[release])
            problems = _untouched(series, modules, sources.table[release])
    return Finding(
        release=release,
        problems=tuple(f"{release}: {problem}" for problem in problems),
        modules=modules,
    )


def _differences(git: Git, series: Series, patches: list[Path]) -> list[str]:
    """Apply patches to a repository; say what is wrong with them, naming the patch."""
    base = git.run("rev-parse", "HEAD").strip()
    applied = git.attempt("am", "--quiet", *map(str, patches))
    if applied.returncode or applied.stderr:
        git.attempt("am", "--abort")
        return _explain(git, base, series, patches) or [
            f"{series.words}: {applied.stderr.strip() or applied.stdout.strip()}"
        ]
    commits = git.run("rev-list", "--reverse", f"{base}..HEAD").split()
    if len(commits) != len(patches):
        return [f"{series.words}: {len(patches)} files give {len(commits)} commits"]
    exported = git.folder.parent / "exported"
    write_patches(git, commits, exported)
    changed = [file for file in patches if (exported / file.name).read_bytes() != file.read_bytes()]
    if not changed:
        return []
    # A hunk that has moved applies all the same, and is one reason for other bytes.
    return _explain(git, base, series, patches) or [
        f"{words_of(file, series.folder.parent)}: {_first_difference(file, exported / file.name)}. "
        "To have it as the export writes it: nox -s patches-checkout, then nox -s patches-export"
        for file in changed
    ]


def _explain(git: Git, base: str, series: Series, patches: list[Path]) -> list[str]:
    """Say which hunks of the first patch that has such do not apply as they stand."""
    git.run("reset", "--quiet", "--hard", base)
    for file in patches:
        tried = git.attempt("apply", "--check", "--verbose", str(file))
        found = complaints(file.read_text(encoding="utf-8", errors="replace"), tried.stderr)
        done = git.attempt("am", "--quiet", str(file))
        if not found and (done.returncode or done.stderr):
            found = [f"git am says: {' '.join(done.stderr.split() or done.stdout.split())}"]
        if found:
            return [f"{words_of(file, series.folder.parent)}: {line}" for line in found]
    return []


def _first_difference(committed: Path, exported: Path) -> str:
    before = committed.read_bytes().split(b"\n")
    after = exported.read_bytes().split(b"\n")
    number = next(
        (at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new),
        min(len(before), len(after)),
    )
    old, new = (
        lines[number].decode("utf-8", "replace") if number < len(lines) else "the end of the file"
        for lines in (before, after)
    )
    return f"line {number + 1} is {old!r}, and exported again {new!r}"


def _hashes(git: Git, release: Release) -> dict[str, str]:
    """Return the hash of each pinned module, and of every other one that the patches change."""
    changed = git.run("diff", "--name-only", f"HEAD~{len(FIXES)}", "HEAD").splitlines()
    sources = [Path(name).relative_to("src") for name in changed if name.startswith("src/")]
    modules = [".".join(source.with_suffix("").parts) for source in sources]
    return {
        module: hashlib.sha256(
            (git.folder / "src" / f"{module.replace('.', '/')}.py").read_bytes()
        ).hexdigest()
        for module in dict.fromkeys([*release["modules"], *modules])
    }


def _untouched(series: Series, patched: Mapping[str, str], release: Release) -> list[str]:
    """Name the modules that no patch changes: by them the shim could not tell a patched tree."""
    return [
        f"{series.words}: {module} stays as published, and the shim knows patched trees by all of "
        f"{', '.join(release['modules'])}"
        for module, digest in release["modules"].items()
        if patched[module] == digest
    ]


def _findings(sources: Sources, series: list[Series], releases: list[str]) -> Iterator[Finding]:
    """Check releases, several at once; give what came of each, in their order."""
    served = {release: series_of(series, release) for release in releases}

    def one(release: str) -> Finding:
        own = served[release]
        if own is None:
            return Finding(release=release, problems=(f"{release}: is in no series",))
        return check_release(sources, own, release)

    with ThreadPoolExecutor(_JOBS) as pool:
        yield from pool.map(one, releases)


def check(sources: Sources, *, choice: str, record: bool) -> int:
    """Check the chosen releases and print what is wrong; return 1 if anything is.

    With ``record``, and nothing wrong, the hashes of the patched modules go into the release
    table; without, they must be those that it has. Raises UserError if there is nothing to check.
    """
    series = load_series(sources.patches, sources.table)
    releases = chosen_releases(choice, series, sources.table)
    problems: list[str] = []
    if choice in ("all", "ends"):
        problems = defects(sources.patches, series, sources.table)
        whole = {release for each in series if not each.missing() for release in each.releases}
        releases = [release for release in releases if release in whole]
    for problem in problems:
        print(problem, flush=True)
    hashes: dict[str, Mapping[str, str]] = {}
    for finding in _findings(sources, series, releases):
        for problem in finding.problems:
            print(problem, flush=True)
        problems += finding.problems
        if not finding.problems:
            hashes[finding.release] = finding.modules
    if not record:
        wrong = _wrong_hashes(hashes, sources.table)
        print("".join(f"{line}\n" for line in wrong), end="")
        problems += wrong
    if problems:
        number = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        print(f"{number}; nothing recorded" if record else number)
        return 1
    if record:
        record_hashes(hashes, sources.table_file)
    checked = {own.name for release in hashes if (own := series_of(series, release)) is not None}
    number = "1 release" if len(hashes) == 1 else f"{len(hashes)} releases"
    print(
        f"{number}: the {len(FIXES)} patches of {len(checked)} series apply as they stand and "
        "export to the same bytes"
    )
    return 0


def _wrong_hashes(
    hashes: Mapping[str, Mapping[str, str]], table: Mapping[str, Release]
) -> list[str]:
    """Say for which releases the table does not have these hashes of the patched modules."""
    recorded = {release: table[release].get("patched") for release in hashes}
    lines = []
    for what, releases in {
        "no": [release for release in hashes if recorded[release] is None],
        "other": [
            release for release in hashes if recorded[release] not in (None, hashes[release])
        ],
    }.items():
        if releases:
            named = ", ".join(encode_ranges(releases, list(table)))
            lines.append(
                f"{named}: shim/releases.json has {what} hashes of the patched modules. If the "
                "patches are as they should be: nox -s patches-check -- --record"
            )
    return lines


def record_hashes(hashes: Mapping[str, Mapping[str, str]], table: Path) -> None:
    """Write the hashes of patched modules, by release and module, into the release table."""
    data = json.loads(table.read_text(encoding="utf-8"))
    releases = data["releases"]
    data["releases"] = {
        name: with_patched(release, hashes.get(name, release.get("patched")))
        for name, release in releases.items()
    }
    table.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
