"""Make Python versions that pyenv has installed visible to nox and uv."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path


def show_pyenv_versions(minors: Iterable[str]) -> None:
    """Let ``python3.10`` and the like answer for every version in ``minors`` that pyenv has.

    pyenv's shims serve only the selected versions, and fail for the others although they are
    installed. Selecting more of them, after the ones selected already, changes nothing about
    plain ``python`` and ``python3``. Without pyenv this does nothing.
    """
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    installed = _installed(root)
    found = [installed[minor] for minor in minors if minor in installed]
    if not found:
        return
    selected = _selected(root)
    if selected:
        os.environ["PYENV_VERSION"] = ":".join(dict.fromkeys([*selected, *found]))
    # For a PATH without the shims; at its end, so that no other program changes.
    folders = [str(root / "versions" / name / "bin") for name in found]
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), *folders])


def _installed(root: Path) -> dict[str, str]:
    """Map minor versions (``3.10``) to the newest CPython release that pyenv has of each."""
    names = [folder.parent.name for folder in root.glob("versions/*/bin")]
    plain = [name for name in names if re.fullmatch(r"\d+\.\d+\.\d+", name)]
    oldest_first = sorted(plain, key=lambda name: int(name.rpartition(".")[2]))
    return {name.rpartition(".")[0]: name for name in oldest_first}


def _selected(root: Path) -> list[str]:
    """Return the versions that pyenv serves at present; nothing if it cannot be asked."""
    pyenv = shutil.which("pyenv") or shutil.which(root / "bin" / "pyenv")
    if pyenv is None:
        return []
    answer = subprocess.run([pyenv, "version-name"], capture_output=True, text=True, check=False)
    return answer.stdout.strip().split(":") if answer.returncode == 0 else []
