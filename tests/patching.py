"""A small SDK of three releases, published as folders, for the tests of the patch tools."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from tools.checkout import Sources, make_base
from tools.export import write_patches
from tools.git import Git
from tools.patches import main
from tools.releases import FIXES, Release, UserError

OLD, SAME, NEW = "0.1.0", "0.1.1", "0.2.0"
"""The releases: the first two have the same modules, the last one has a line more on top."""

REALTIME = "src/agents/realtime"
MODULE = f"{REALTIME}/openai_realtime.py"
SESSION = f"{REALTIME}/session.py"

_LINES = 40
# The line of each file that the patch of a fix changes, by the fix's number.
_PATCHED_LINES = (5, 20, 35)


def _source(release: str) -> str:
    """Return the text of the release's modules."""
    head = "EXTRA = 0\n" if release == NEW else ""
    return head + "".join(f"line_{number} = {number}\n" for number in range(1, _LINES + 1))


def _publish(folder: Path, release: str) -> None:
    """Write what a release is published with, as an unpacked sdist."""
    for file in (MODULE, SESSION):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(_source(release))
    for package in ("src/agents", REALTIME, "tests", "tests/realtime"):
        (folder / package).mkdir(parents=True, exist_ok=True)
        (folder / package / "__init__.py").touch()
    (folder / "tests/realtime/test_lines.py").write_text(
        "from agents.realtime import session\n\n\n"
        "def test_the_lines() -> None:\n    assert session.line_1 == 1\n"
    )
    (folder / "README.md").write_text(f"The SDK {release}\r\n")
    (folder / ".gitattributes").write_text("* text=auto eol=lf\n")
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "published.log").touch()
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")


def change(git: Git, number: int) -> None:
    """Commit the change of a fix, counted from 1, with a test."""
    name = f"line_{_PATCHED_LINES[number - 1]}"
    for file in (MODULE, SESSION):
        path = git.folder / file
        path.write_text(path.read_text().replace(f"{name} =", f"{name} = 100 +"))
    test = f"tests/realtime/test_{number}.py"
    (git.folder / test).write_text(
        "from agents.realtime import session\n\n\n"
        f"def test_{name}() -> None:\n    assert session.{name} > 100\n"
    )
    commit(git, f"fix(realtime): change {name}\n\nBecause, naïvely, it is too small.")


def commit(git: Git, message: str = "x") -> None:
    """Commit everything, by somebody at some time."""
    git.run("add", "--all")
    git.run(
        "commit",
        "--message",
        message,
        variables={"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_DATE": "2001-01-01T00:00:00"},
    )


class Project:
    """A folder with the three releases, their table, and patches."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.patches = folder / "patches"
        self.table_file = folder / "releases.json"
        self.published = folder / "published"

    def publish(self) -> None:
        """Write the releases and the table; there are no patches yet."""
        table: dict[str, Release] = {}
        for release in (OLD, SAME, NEW):
            _publish(self.published / release, release)
            digest = hashlib.sha256(_source(release).encode()).hexdigest()
            names = ("openai_realtime", "session")
            table[release] = {
                "uploaded": "2026-01-01T00:00:00Z",
                "modules": {f"agents.realtime.{name}": digest for name in names},
                "functions": "0",
            }
        self.table_file.write_text(json.dumps({"releases": table}, indent=2) + "\n")

    @property
    def table(self) -> dict[str, Release]:
        releases: dict[str, Release] = json.loads(self.table_file.read_text())["releases"]
        return releases

    @property
    def sources(self) -> Sources:
        return Sources(
            patches=self.patches, table=self.table, table_file=self.table_file, sdist=self._sdist
        )

    def _sdist(self, release: str) -> Path:
        if not (self.published / release).is_dir():
            raise UserError(f"cannot download the sdist of {release}")
        return self.published / release

    def run(self, *arguments: str | Path) -> int:
        """Run the command line on this project; return the exit code."""
        return main([str(each) for each in arguments], sources=self.sources)

    def make_series(self, name: str, *releases: str) -> None:
        """Write the patches of a series, and its entry in ``series.toml``."""
        self.patches.mkdir(exist_ok=True)
        tree = self.folder / f"made-{name}"
        git = make_base(tree, name, self.published / name)
        for number in range(1, len(FIXES) + 1):
            change(git, number)
        commits = git.run("rev-list", "--reverse", "HEAD~3..HEAD").split()
        write_patches(git, commits, self.patches / name)
        shutil.rmtree(tree)
        with (self.patches / "series.toml").open("a") as index:
            index.write(entry(name, *releases))

    def patch(self, series: str, number: int) -> Path:
        return self.patches / series / f"{number:04}-{FIXES[number - 1]}.patch"


def entry(directory: str, *releases: str) -> str:
    """Return a table of ``series.toml``."""
    return f'[[series]]\ndirectory = "{directory}"\nreleases = {json.dumps(list(releases))}\n'
