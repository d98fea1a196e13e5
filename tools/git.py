"""Run git the same way on every machine: no configuration but the repository's own, no hooks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tools.releases import UserError

# For GIT_CONFIG_GLOBAL.
_OLDEST_GIT = (2, 32)

_AUTHOR = "openai-agents-realtime-shim contributors"
_EMAIL = "openai-agents-realtime-shim@users.noreply.github.com"
_DATE = "2026-11-30T12:00:00+0000"

_IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", _AUTHOR), ("EMAIL", _EMAIL), ("DATE", _DATE))
}

# In the repository and not on the command line, so that it also holds for who works in there.
_CONFIGURATION = f"""\
[user]
\tname = {_AUTHOR}
\temail = {_EMAIL}
[core]
\texcludesFile = {os.devnull}
\thooksPath = {os.devnull}
[commit]
\tgpgSign = false
[gc]
\tauto = 0
"""

# Later releases have a .gitattributes that would change line ends, and a user may have one. The
# repository's own outranks both.
_ATTRIBUTES = "* -text !diff !filter !ident !merge !working-tree-encoding\n"

_EXCLUDED = "__pycache__/\n*.pyc\n.*_cache/\n.venv/\n"


class GitError(UserError):
    """A git command that failed; the text has its words."""


def require_git() -> None:
    """Raise UserError, with what to do about it, without a git that is new enough."""
    oldest = ".".join(map(str, _OLDEST_GIT))
    git = shutil.which("git")
    if git is None:
        raise UserError(f"git is not on the PATH: install git {oldest} or later")
    answer = subprocess.run([git, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"(\d+)\.(\d+)", answer)
    if found is None:
        raise UserError(f"{git} does not tell its version: install git {oldest} or later")
    if (int(found[1]), int(found[2])) < _OLDEST_GIT:
        raise UserError(f"{git} is version {found[0]}: install git {oldest} or later")


class Git:
    """The git repository in a folder, as the project's tools use it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.internal = self.folder / ".git"

    @classmethod
    def create(cls, folder: Path) -> Git:
        """Make an empty repository in a folder, which may hold files, and return it."""
        git = cls(folder)
        git.run("init", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=main")
        with (git.internal / "config").open("a", encoding="utf-8") as config:
            config.write(_CONFIGURATION)
        info = git.internal / "info"
        info.mkdir(exist_ok=True)
        (info / "attributes").write_text(_ATTRIBUTES, encoding="utf-8")
        (info / "exclude").write_text(_EXCLUDED, encoding="utf-8")
        return git

    def run(
        self, *arguments: str, text: str | None = None, variables: Mapping[str, str] | None = None
    ) -> str:
        """Return the output of a git command, ``text`` being its input.

        Raises GitError if it fails.
        """
        done = self.attempt(*arguments, text=text, variables=variables)
        if done.returncode:
            words = done.stderr.strip() or done.stdout.strip()
            raise GitError(f"git {arguments[0]} failed in {self.folder}:\n{words}")
        return done.stdout

    def attempt(
        self, *arguments: str, text: str | None = None, variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a git command that may fail, and return what came of it."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env={**self._environment(), **(variables or {})},
            input=(text or "").encode(),
            capture_output=True,
            check=False,
        )
        # Not by subprocess, which would change line ends.
        out, error = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
        return subprocess.CompletedProcess(done.args, done.returncode, out, error)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return {
            **kept,
            **_IDENTITY,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            # A repository around the folder is not the one that is meant.
            "GIT_CEILING_DIRECTORIES": str(self.folder.parent),
            "GIT_EDITOR": ":",
            "LC_ALL": "C",
        }
