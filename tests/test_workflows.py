"""The workflows of continuous integration, and the jobs that are made from nox's list."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tools.ci_jobs import jobs, main
from tools.releases import UserError

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
THIS = f"{sys.version_info.major}.{sys.version_info.minor}"


def nox_list(*options: str) -> list[dict[str, Any]]:
    pytest.importorskip("nox")
    command = [sys.executable, "-m", "nox", "--list", "--json", *options]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    listed: list[dict[str, Any]] = json.loads(result.stdout)
    return listed


def session(name: str, python: str | None) -> dict[str, Any]:
    return {"session": name if python is None else f"{name}-{python}", "name": name} | {
        "python": python
    }


def test_every_session_of_plain_nox_is_in_one_job() -> None:
    listed = nox_list()
    versions = {each["python"] for each in listed} - {None}
    made = jobs(dict.fromkeys(sorted(versions), listed), shared=THIS)
    found = Counter(name for job in made for name in job["sessions"].splitlines())
    assert found == Counter(each["session"] for each in listed)


def test_sessions_of_no_version_run_once() -> None:
    lists = {
        "3.12": [session("lint", None), session("tests", "3.12"), session("tests", "3.10")],
        "3.13": [session("lint", None), session("tests", "3.13"), session("tests", "3.10")],
    }
    assert jobs(lists, shared="3.13") == [
        {"name": "tests", "python": "3.12", "sessions": "tests-3.12"},
        {"name": "lint", "python": "3.13", "sessions": "lint"},
        {"name": "tests", "python": "3.13", "sessions": "tests-3.13"},
    ]


def test_sessions_of_one_name_are_one_job() -> None:
    listed = [session("regression", "3.13") | {"session": f"regression-{n}"} for n in "12"]
    (job,) = jobs({"3.13": listed}, shared="3.13")
    assert job["sessions"] == "regression-1\nregression-2"


def test_a_version_without_sessions_is_an_error() -> None:
    with pytest.raises(UserError, match=r"no session for Python 3\.14"):
        jobs({"3.13": [session("tests", "3.13")], "3.14": []}, shared="3.13")


@pytest.mark.parametrize(
    ("text", "words"),
    [("nothing", "is not a list of sessions"), ("[]", "there is no list of Python 3.13")],
)
def test_lists_that_are_of_no_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    (tmp_path / "3.12.json").write_text(text)
    assert main([str(tmp_path), "--shared", "3.13"]) == 1
    assert words in capsys.readouterr().err


def test_the_jobs_are_printed_for_github(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "3.13.json").write_text(json.dumps([session("tests", "3.13")]))
    assert main([str(tmp_path), "--shared", "3.13"]) == 0
    name, _, value = capsys.readouterr().out.rstrip("\n").partition("=")
    assert name == "jobs"
    assert "\n" not in value
    assert json.loads(value) == [{"name": "tests", "python": "3.13", "sessions": "tests-3.13"}]


def test_the_workflows_are_there() -> None:
    assert {file.stem for file in WORKFLOWS} == {"matrix", "release", "tests", "watch"}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.stem)
def test_actions_are_pinned_and_permissions_begin_with_none(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.+)", text)
    for each in used:
        assert each.startswith("./") or re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)
    assert used
    assert "\npermissions: {}\n" in text
    jobs_text = text.partition("\njobs:\n")[2]
    number = len(re.findall(r"^  [\w-]+:$", jobs_text, re.MULTILINE))
    assert jobs_text.count("\n    permissions:") == number
    # A job that calls a workflow has none of its own.
    assert jobs_text.count("timeout-minutes:") == number - jobs_text.count("uses: ./")
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")


def test_one_action_has_one_version() -> None:
    used = re.findall(r"uses: ([\w/-]+)@(.+)", "".join(map(Path.read_text, WORKFLOWS)))
    assert len(set(used)) == len({action for action, _ in used})


def test_the_sessions_of_the_workflows_exist() -> None:
    known = {each["name"] for each in nox_list("--session", *session_names())}
    assert known == set(session_names())


def session_names() -> list[str]:
    """Return what the workflows have nox run by name."""
    text = "".join(file.read_text(encoding="utf-8") for file in WORKFLOWS)
    matrix = (ROOT / ".github" / "workflows" / "matrix.yml").read_text(encoding="utf-8")
    block = re.search(r"session:\n((?: +- \S+\n)+)", matrix)
    assert block is not None
    return re.findall(r"nox --session (\w[\w-]*)", text) + re.findall(r"- (\S+)", block[1])
