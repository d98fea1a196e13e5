"""Which release is installed, and whether its files are the published ones.

A module is wrapped only if its file's hash is the one that the release table has for the
installed release. Everything else is refused, in words.
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
        modules: SHA-256 (hexadecimal) of each module's file, by the module's full name.
        fixes: Names of the fixes that the release needs.
    """

    version: str
    modules: dict[str, str]
    fixes: frozenset[str]


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
    """

    release: Release | None = None
    package: Refusal | None = None
    modules: dict[str, Refusal]

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
        version: Release(version=version, modules=entry["modules"], fixes=frozenset(entry["fixes"]))
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
    refusals = {
        module: refusal
        for module, digest in (release.modules if release else {}).items()
        if (refusal := _examine_file(folder, module, digest, version)) is not None
    }
    nothing_matches = release is None or len(refusals) == len(release.modules)
    if nothing_matches and not _is_installed_at(folder):
        return _refused(_not_the_sdk(folder, f"{DISTRIBUTION} {version} is installed elsewhere"))
    if release is None:
        return _refused(_unknown_release(version, list(table)))
    return Examination(release=release, modules=refusals)


def _refused(refusal: Refusal) -> Examination:
    return Examination(package=refusal, modules={})


def _examine_file(folder: Path, module: str, digest: str, version: str) -> Refusal | None:
    file = folder / f"{module.rpartition('.')[2]}.py"
    try:
        content = file.read_bytes()
    except OSError as error:
        return Refusal(
            reason=f"the source of {module} cannot be read ({file}: {error.strerror or error})",
            remedy="Install the SDK as files, with their sources.",
        )
    if hashlib.sha256(content).hexdigest() == digest:
        return None
    return Refusal(
        reason=f"{file} is not the file that {DISTRIBUTION} {version} was published with",
        remedy=(
            f"If nobody meant to edit it: pip install --force-reinstall --no-deps "
            f"{DISTRIBUTION}=={version}. If somebody did, what the fix does has to go in there too."
        ),
    )


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
