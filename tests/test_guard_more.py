"""The guard's examination in detail, of small packages and tables that the tests make up."""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path

import pytest

from shim.guard import Examination, Refusal, Release, examine, installed_version, release_table

VERSION = "2.0.0"
SESSION = "agents.realtime.session"
MODEL = "agents.realtime.openai_realtime"
TRACKER = "agents.realtime._default_tracker"
PINNED = (MODEL, SESSION)
ALL = (MODEL, SESSION, TRACKER)


def digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def release(version: str = VERSION, *, patched: tuple[str, ...] = ()) -> Release:
    """A release of two pinned modules, and patches for some."""
    return Release(
        version=version,
        modules={module: digest(f"published {module}") for module in PINNED},
        patched={module: digest(f"patched {module}") for module in patched},
        uploaded="2026-01-02T03:04:05Z",
        fixes={"close-reset": ("2.1",)},
    )


RELEASE = release()
PATCHABLE = release(patched=ALL)


class Installation:
    """A folder with the files of the SDK, at the place where it is installed unless moved."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "agents" / "realtime"
        self.folder.mkdir(parents=True)
        for module in ALL:
            self.write(module, "published")

    def file(self, module: str) -> Path:
        return self.folder / f"{module.rpartition('.')[2]}.py"

    def write(self, module: str, words: str) -> None:
        self.file(module).write_text(f"{words} {module}")

    def locate_file(self, path: str) -> Path:
        """What `importlib.metadata.Distribution` answers."""
        return self.root / path

    def examine(self, *releases: Release) -> Examination:
        return examine(self.folder, table={each.version: each for each in releases})


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installation:
    installation = Installation(tmp_path)
    monkeypatch.setattr(metadata, "version", {"openai-agents": VERSION}.__getitem__)
    monkeypatch.setattr(metadata, "distribution", {"openai-agents": installation}.__getitem__)
    return installation


@pytest.fixture
def elsewhere(installation: Installation, tmp_path: Path) -> Installation:
    """The same where another place is the one where the SDK is installed."""
    installation.root = tmp_path / "site"
    (installation.root / "agents" / "realtime").mkdir(parents=True)
    return installation


def edited(installation: Installation, module: str) -> Refusal:
    return Refusal(
        reason=(
            f"{installation.file(module)} is not the file that openai-agents {VERSION} was "
            "published with"
        ),
        remedy=(
            "If nobody meant to edit it: pip install --force-reinstall --no-deps "
            f"openai-agents=={VERSION}. If somebody did, apply the patches for openai-agents "
            f"{VERSION} from this project's patches/ to that tree instead."
        ),
    )


def unreadable(installation: Installation, module: str, why: str) -> Refusal:
    return Refusal(
        reason=f"the source of {module} cannot be read ({installation.file(module)}: {why})",
        remedy="Install the SDK as files, with their sources.",
    )


def partly_patched(installation: Installation, module: str, *, example: str) -> Refusal:
    return Refusal(
        reason=(
            f"{installation.file(example).name} has this project's patches for openai-agents "
            f"{VERSION}, and {installation.file(module)} does not"
        ),
        remedy=(
            "Apply all of them to the published files, or none: pip install --force-reinstall "
            f"--no-deps openai-agents=={VERSION}."
        ),
    )


def another_package(installation: Installation, why: str) -> Refusal:
    return Refusal(
        reason=(
            f"the package `agents` at {installation.folder.parent} is not the OpenAI Agents SDK "
            f"({why})"
        ),
        remedy=(
            "If it is your own, remove `import shim` or set OPENAI_AGENTS_SHIM=off; otherwise "
            "check which `agents` comes first on sys.path."
        ),
    )


def test_the_version_that_is_installed(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert installed_version() == VERSION

    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert installed_version() is None


def test_published_files(installation: Installation) -> None:
    expected = Examination(release=RELEASE, package=None, modules={}, patched=frozenset())
    assert installation.examine(release("1.0.0"), RELEASE) == expected
    assert installation.examine(PATCHABLE).modules == {}


def test_published_files_elsewhere(elsewhere: Installation) -> None:
    assert elsewhere.examine(RELEASE) == Examination(release=RELEASE, modules={})


def test_an_edited_file(installation: Installation) -> None:
    installation.write(SESSION, "edited")
    expected = {SESSION: edited(installation, SESSION)}
    assert installation.examine(RELEASE) == Examination(release=RELEASE, modules=expected)


def test_edited_files(installation: Installation) -> None:
    for module in PINNED:
        installation.write(module, "edited")
    expected = {module: edited(installation, module) for module in PINNED}
    assert installation.examine(RELEASE) == Examination(release=RELEASE, modules=expected)


def test_an_edited_file_elsewhere(elsewhere: Installation) -> None:
    elsewhere.write(MODEL, "edited")
    assert elsewhere.examine(RELEASE).modules == {MODEL: edited(elsewhere, MODEL)}


def test_a_file_that_is_not_there(installation: Installation) -> None:
    installation.file(SESSION).unlink()
    expected = {SESSION: unreadable(installation, SESSION, "No such file or directory")}
    assert installation.examine(RELEASE) == Examination(release=RELEASE, modules=expected)


def test_the_first_file_is_not_there(installation: Installation) -> None:
    installation.file(MODEL).unlink()
    installation.write(SESSION, "edited")
    assert installation.examine(RELEASE).modules == {
        MODEL: unreadable(installation, MODEL, "No such file or directory"),
        SESSION: edited(installation, SESSION),
    }


def test_a_file_that_cannot_be_read_for_some_reason(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> bytes:
        raise OSError("the disk is on fire")

    monkeypatch.setattr(Path, "read_bytes", fail)
    examination = installation.examine(RELEASE)
    assert examination.modules == {
        module: unreadable(installation, module, "the disk is on fire") for module in PINNED
    }


@pytest.mark.parametrize("pinned", [True, False], ids=["known release", "unknown release"])
def test_another_package_of_that_name(elsewhere: Installation, pinned: bool) -> None:
    for module in PINNED:
        elsewhere.write(module, "unrelated")
    examination = elsewhere.examine(RELEASE if pinned else release("1.0.0"))
    why = f"openai-agents {VERSION} is installed elsewhere"
    assert examination == Examination(package=another_package(elsewhere, why), modules={})


def test_the_place_of_the_installation_is_gone(installation: Installation, tmp_path: Path) -> None:
    for module in PINNED:
        installation.write(module, "unrelated")
    installation.root = tmp_path / "gone"
    examination = installation.examine(RELEASE)
    assert examination.package is not None
    assert "is installed elsewhere" in examination.package.reason


def test_a_package_of_that_name_without_an_installation(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    expected = another_package(installation, "openai-agents is not installed")
    assert installation.examine(RELEASE) == Examination(package=expected, modules={})


def test_an_unknown_release(installation: Installation) -> None:
    table = [release(version) for version in ("1.0.0", "1.1.0", "1.2.0")]
    assert installation.examine(*table) == Examination(
        package=Refusal(
            reason=(
                f"openai-agents {VERSION} is not in the release table, which goes from 1.0.0 to "
                "1.2.0"
            ),
            remedy=(
                "Update openai-agents-realtime-shim, which may know it by now, or pin one of "
                "these releases."
            ),
        ),
        modules={},
    )


@pytest.mark.parametrize("where", ["installation", "elsewhere"])
def test_a_patched_tree(request: pytest.FixtureRequest, where: str) -> None:
    installation: Installation = request.getfixturevalue(where)
    for module in ALL:
        installation.write(module, "patched")
    expected = Examination(release=PATCHABLE, modules={}, patched=frozenset(ALL))
    assert installation.examine(PATCHABLE) == expected


def test_a_tree_with_one_pinned_file_patched(installation: Installation) -> None:
    installation.write(SESSION, "patched")
    examination = installation.examine(release(patched=PINNED))
    assert examination.patched == {SESSION}
    assert examination.modules == {MODEL: partly_patched(installation, MODEL, example=SESSION)}


def test_a_tree_with_one_file_unpatched_that_is_not_pinned(installation: Installation) -> None:
    for module in PINNED:
        installation.write(module, "patched")
    refusal = partly_patched(installation, TRACKER, example=MODEL)
    examination = installation.examine(PATCHABLE)
    assert examination.patched == set(PINNED)
    assert examination.modules == dict.fromkeys(PINNED, refusal)


def test_a_tree_with_only_a_file_patched_that_is_not_pinned(installation: Installation) -> None:
    installation.write(TRACKER, "patched")
    examination = installation.examine(PATCHABLE)
    assert examination.patched == {TRACKER}
    assert examination.modules == {
        module: partly_patched(installation, module, example=TRACKER) for module in PINNED
    }


def test_a_tree_with_a_patched_and_an_edited_file(installation: Installation) -> None:
    installation.write(MODEL, "patched")
    installation.write(SESSION, "edited")
    examination = installation.examine(release(patched=PINNED))
    assert examination.modules == {SESSION: edited(installation, SESSION)}
    # The patched file counts on the other's patches, as far as that is pinned; so it is refused
    # with it wherever a fix needs both.
    assert examination.refusal_of(set(PINNED)) == edited(installation, SESSION)


def test_a_tree_with_two_files_unpatched(installation: Installation) -> None:
    installation.write(SESSION, "patched")
    examination = installation.examine(PATCHABLE)
    # The pinned file's own refusal stays; the other file's is that of the patched one.
    assert examination.modules == {
        MODEL: partly_patched(installation, MODEL, example=SESSION),
        SESSION: partly_patched(installation, TRACKER, example=SESSION),
    }


def test_the_first_of_two_unpatched_files_is_named(installation: Installation) -> None:
    other = "agents.realtime.another"
    installation.write(SESSION, "patched")
    examination = installation.examine(release(patched=(*PINNED, TRACKER, other)))
    assert examination.modules[SESSION] == partly_patched(installation, TRACKER, example=SESSION)
    installation.write(TRACKER, "patched")
    examination = installation.examine(release(patched=(*PINNED, TRACKER, other)))
    assert examination.modules[SESSION] == partly_patched(installation, other, example=SESSION)


def test_a_patched_file_that_cannot_be_read_and_is_not_pinned(installation: Installation) -> None:
    for module in PINNED:
        installation.write(module, "patched")
    installation.file(TRACKER).unlink()
    refusal = partly_patched(installation, TRACKER, example=MODEL)
    assert installation.examine(PATCHABLE).modules == dict.fromkeys(PINNED, refusal)


def test_the_refusal_that_concerns_some_modules() -> None:
    package, first, second = (Refusal(reason=each, remedy=each) for each in ("p", "a", "b"))
    modules = {"b": second, "a": first}
    assert Examination(modules=modules).refusal_of({"b", "c"}) is second
    assert Examination(modules=modules).refusal_of({"c", "b", "a"}) is first
    assert Examination(modules=modules).refusal_of({"c"}) is None
    assert Examination(modules=modules, package=package).refusal_of({"c"}) is package


def test_the_table_as_it_is_read() -> None:
    table = release_table()
    oldest = table["0.2.0"]
    assert next(iter(table)) == oldest.version
    assert oldest.modules.keys() == set(PINNED)
    assert oldest.uploaded == "2025-07-15T15:49:33Z"
    assert oldest.fixes["converter-status"][0] == "1.1"
    assert all(each.patched.keys() >= set(PINNED) for each in table.values())
    assert all(each.patched[SESSION] != each.modules[SESSION] for each in table.values())
