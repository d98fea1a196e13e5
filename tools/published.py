"""What the package index has of a release, asked for through uv and pip."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

import tomli

from tools.releases import PACKAGE, Release, UserError

# Option of pip, and the pattern of the file's name.
_FORMATS = {"wheel": ("--only-binary", "*.whl"), "sdist": ("--no-binary", "*.tar.gz")}

_PROJECT = """\
[project]
name = "lookup"
version = "0"
requires-python = ">=3.10"
dependencies = [{requirement}]
"""


def find_release(name: str) -> Release:
    """Return when a release was uploaded (UTC) and the hash of its wheel.

    Raises UserError if there is no such release, or the index does not tell the upload time.
    """
    with tempfile.TemporaryDirectory() as folder:
        project = _PROJECT.format(requirement=json.dumps(f"{PACKAGE}=={name}"))
        (Path(folder) / "pyproject.toml").write_text(project, encoding="utf-8")
        command = [sys.executable, "-m", "uv", "lock", "--quiet", "--project", folder]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise UserError(f"cannot find {PACKAGE} {name}:\n{run.stderr.strip()}")
        lock = tomli.loads((Path(folder) / "uv.lock").read_text(encoding="utf-8"))
    wheels = [
        wheel
        for package in lock["package"]
        if package["name"] == PACKAGE
        for wheel in package.get("wheels", [])
    ]
    if len(wheels) != 1 or "upload-time" not in wheels[0]:
        raise UserError(f"the index does not say when the wheel of {PACKAGE} {name} was uploaded")
    uploaded = datetime.fromisoformat(wheels[0]["upload-time"].replace("Z", "+00:00"))
    return {
        "uploaded": uploaded.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "wheel_sha256": wheels[0]["hash"].removeprefix("sha256:"),
    }


def download(name: str, form: str, *, folder: Path) -> Path:
    """Download a release as ``wheel`` or ``sdist`` into an empty folder; return the file's path.

    Raises UserError with pip's words if it cannot be had.
    """
    option, pattern = _FORMATS[form]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += [option, PACKAGE, "--dest", str(folder), f"{PACKAGE}=={name}"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    file = next(folder.glob(pattern), None)
    if run.returncode or file is None:
        raise UserError(f"cannot download the {form} of {PACKAGE} {name}:\n{run.stderr.strip()}")
    return file
