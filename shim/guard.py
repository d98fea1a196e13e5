"""Which release is installed, and whether its files are the published ones.

A module is wrapped only if its file's hash is the one that the release table has for the
installed release. A module that has this project's patches is left alone, as it needs nothing.
Everything else is refused, in words.
"""

from __future__ import annotations

import hashlib
import json
import pkgutil
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

DISTRIBUTION = "openai-agents"


@dataclass(frozen=True, kw_only=True)
class Release:
    """What the release table knows about one release.

    Attributes:
        version: The release's version.
        uploaded: When it came out (ISO 8601, UTC).
        modules: SHA-256 (hexadecimal) of each module's file, by the module's full name.
        patched: The same with this project's patches applied, and of the other modules that they
            change; empty if there are none for the release.
        fixes: The rules of the contract that the release breaks, by the names of the fixes that it
            needs.
    """

    version: str
    uploaded: str
    modules: dict[str, str]
    patched: dict[str, str]
    fixes: dict[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why fixes are not applied, and what to do about it; both are sentences."""

    reason: str
    remedy: str


@dataclass(frozen=True, kw_only=True)
class Examination:
    """What was found out about an imported ``agents.realtime``.

    Attributes:
        release: The installed release, if it is in the table and nothing speaks against it.
        package: The refusal of the package as a whole, if there is one.
        modules: The refusals of single modules, by their full names.
        patched: Full names of the modules that have this project's patches.
    """

    release: Release | None = None
    package: Refusal | None = None
    modules: dict[str, Refusal]
    patched: frozenset[str] = frozenset()

    def refusal_of(self, modules: set[str]) -> Refusal | None:
        """Return the first refusal that concerns any of ``modules``."""
        if self.package is not None:
            return self.package
        return next((self.modules[name] for name in sorted(modules & set(self.modules))), None)


def release_table() -> dict[str, Release]:
    """Read the release table: release by version, oldest first."""
    data = pkgutil.get_data(__package__, "releases.json")
    assert data is not None, "the release table is part of the package"
    releases: dict[str, Any] = json.loads(data)["releases"]
    return {
        version: Release(
            version=version,
            uploaded=entry["uploaded"],
            modules=entry["modules"],
            patched=entry.get("patched", {}),
            fixes={fix: tuple(rules.split()) for fix, rules in entry["fixes"].items()},
        )
        for version, entry in releases.items()
    }


def installed_version() -> str | None:
    """Return the version of the installed SDK, or None without one."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None


def examine(folder: Path, *, table: dict[str, Release]) -> Examination:
    """Examine the package ``agents.realtime`` whose files are in ``folder``.

    Reads the files of the modules that the table pins, and never raises for what it finds.
    """
    version = installed_version()
    if version is None:
        return _refused(_not_the_sdk(folder, f"{DISTRIBUTION} is not installed"))
    release = table.get(version)
    refusals, patched = _examine_files(folder, release) if release else ({}, frozenset())
    nothing_matches = release is None or len(refusals) == len(release.modules)
    if nothing_matches and not patched and not _is_installed_at(folder):
        return _refused(_not_the_sdk(folder, f"{DISTRIBUTION} {version} is installed elsewhere"))
    if release is None:
        return _refused(_unknown_release(version, list(table)))
    return Examination(release=release, modules=refusals, patched=patched)


def _refused(refusal: Refusal) -> Examination:
    return Examination(package=refusal, modules={})


def _examine_files(folder: Path, release: Release) -> tuple[dict[str, Refusal], frozenset[str]]:
    """Return the refusals of pinned modules, and all modules that have this project's patches."""
    refusals: dict[str, Refusal] = {}
    published: set[str] = set()
    patched: set[str] = set()
    for module in {**release.modules, **release.patched}:
        file = _source(folder, module)
        try:
            found = hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError as error:
            if module in release.modules:
                refusals[module] = _unreadable(file, module, error)
            continue
        if found == release.patched.get(module):
            patched.add(module)
        elif found == release.modules.get(module):
            published.add(module)
        elif module in release.modules:
            refusals[module] = _edited(file, release.version)
    if patched:
        # What the patches put into one file counts on what they put into the others.
        example = _source(folder, next(each for each in release.patched if each in patched))
        for module in published:
            refusals[module] = _partly_patched(_source(folder, module), example, release.version)
        for module in sorted(set(release.patched) - patched - set(release.modules)):
            refusal = _partly_patched(_source(folder, module), example, release.version)
            for each in patched:
                refusals.setdefault(each, refusal)
    return refusals, frozenset(patched)


def _source(folder: Path, module: str) -> Path:
    return folder / f"{module.rpartition('.')[2]}.py"


def _unreadable(file: Path, module: str, error: OSError) -> Refusal:
    return Refusal(
        reason=f"the source of {module} cannot be read ({file}: {error.strerror or error})",
        remedy="Install the SDK as files, with their sources.",
    )


def _edited(file: Path, version: str) -> Refusal:
    return Refusal(
        reason=f"{file} is not the file that {DISTRIBUTION} {version} was published with",
        remedy=(
            f"If nobody meant to edit it: {_reinstall(version)}. If somebody did, apply the "
            f"patches for {DISTRIBUTION} {version} from this project's patches/ to that tree "
            "instead."
        ),
    )


def _partly_patched(file: Path, patched: Path, version: str) -> Refusal:
    return Refusal(
        reason=(
            f"{patched.name} has this project's patches for {DISTRIBUTION} {version}, and {file} "
            "does not"
        ),
        remedy=f"Apply all of them to the published files, or none: {_reinstall(version)}.",
    )


def _reinstall(version: str) -> str:
    return f"pip install --force-reinstall --no-deps {DISTRIBUTION}=={version}"


def _is_installed_at(folder: Path) -> bool:
    installed = Path(str(metadata.distribution(DISTRIBUTION).locate_file("agents/realtime")))
    try:
        return installed.samefile(folder)
    except OSError:
        return False


def _not_the_sdk(folder: Path, why: str) -> Refusal:
    return Refusal(
        reason=f"the package `agents` at {folder.parent} is not the OpenAI Agents SDK ({why})",
        remedy=(
            "If it is your own, remove `import shim` or set OPENAI_AGENTS_SHIM=off; otherwise "
            "check which `agents` comes first on sys.path."
        ),
    )


def _unknown_release(version: str, pinned: list[str]) -> Refusal:
    return Refusal(
        reason=(
            f"{DISTRIBUTION} {version} is not in the release table, which goes from {pinned[0]} "
            f"to {pinned[-1]}"
        ),
        remedy=(
            "Update openai-agents-realtime-shim, which may know it by now, or pin one of "
            "these releases."
        ),
    )
