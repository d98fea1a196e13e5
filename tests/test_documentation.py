"""Every command and every block in the pages is run, or claimed by another test that runs it.

A block or a command that nobody claims fails here.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote

import pytest
from children import ROOT, Child, command_line, copy_sdk, run, variables
from documentation import PAGES, Block, all_blocks, code_spans, tokens

import shim
from shim.guard import release_table

SDK = metadata.version("openai-agents")
TABLE = release_table()
NEWEST = list(TABLE)[-1]
WHEEL = f"openai_agents_realtime_shim-{shim.__version__}-py3-none-any.whl"
APPLICATION = """
import sys, shim, agents.realtime
assert {fix.state for fix in shim.status().fixes.values()} == {"applied"}
print(sys.argv[1:])
"""
# Which command of a tool a nox session passes its arguments to.
TOOLS = {
    "fuzz": "tools.fuzz",
    "compatibility": "tools.compatibility",
    "equivalence": "tools.equivalence",
    "matrix": "tools.matrix",
    "patched": "tools.patched",
    "patches-check": "tools.patches check",
    "patches-checkout": "tools.patches checkout",
    "patches-export": "tools.patches export",
    "pin": "tools.pin",
    "table": "tools.release_table",
}
COMMAND = re.compile(r"(?:[A-Z_]+=\S+ )?(?:nox|python|pytest)(?: -.+)?|(?:[A-Z_]+=\S+ )python .+")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an application, as a program, as a module and as a test."""
    for name in ("app", "module"):
        (tmp_path / f"{name}.py").write_text(APPLICATION)
    (tmp_path / "test_app.py").write_text(
        "import sys\ndef test_it():\n    assert 'shim' in sys.modules\n"
    )
    return tmp_path


def succeeds(child: Child) -> Child:
    assert child.returncode == 0, child.stdout + child.stderr
    return child


# Commands: each check gets what the first group of its pattern has found


@cache
def session_names() -> set[str]:
    """Return the names of all nox sessions."""
    noxfile = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    return set(re.findall(r'@nox\.session\(name="([\w-]+)"', noxfile)) | set(
        re.findall(r"@nox\.session(?:\(python=\w+\))?\n(?:@.+\n)*def (\w+)", noxfile)
    )


@cache
def help_of(tool: str) -> str:
    command = [sys.executable, "-m", *tool.split(), "--help"]
    return succeeds(run(command, folder=ROOT)).stdout


def check_nox(arguments: str, folder: Path) -> None:
    own, _, passed = arguments.partition(" -- ")
    names = [word for word in shlex.split(own) if not word.startswith("-")]
    for name in names:
        assert re.match(r"[a-z-]*[a-z]", name)[0] in session_names()  # type: ignore[index]
    options = [word for word in shlex.split(passed) if word.startswith("--") and word != "--help"]
    if passed and passed != "--help":
        tool = TOOLS[names[0]]
        assert importlib.util.find_spec(tool.partition(" ")[0]) is not None
        for option in options:
            assert option in help_of(tool)


def check_shim(arguments: str, folder: Path) -> None:
    if arguments in ("demo", "run"):
        # The demo has tests of its own, and `run` alone is not a command.
        arguments += " --help"
    child = succeeds(
        run(
            [sys.executable, "-m", "shim", *shlex.split(arguments)],
            folder=folder,
            path=folder if " -m " in f" {arguments}" else None,
        )
    )
    if "ARGS" in arguments:
        assert child.stdout == "['ARGS']\n"


def check_example(script: str, folder: Path) -> None:
    """test_documentation_examples.py runs them, with both commands."""
    assert (ROOT / "docs" / "examples" / f"{script}.py").exists()


def check_autowrapt(arguments: str, folder: Path) -> None:
    if importlib.util.find_spec("autowrapt") is None:
        pytest.skip("needs autowrapt, which goes with a new wrapt only")
    command = [sys.executable, *shlex.split(arguments)]
    succeeds(run(command, folder=folder, environment={"AUTOWRAPT_BOOTSTRAP": "shim"}))


def check_pytest(arguments: str, folder: Path) -> None:
    succeeds(run([sys.executable, "-m", "pytest", *shlex.split(arguments)], folder=folder))


def check_code(code: str, folder: Path) -> None:
    output = succeeds(run([sys.executable, "-c", shlex.split(code)[0]], folder=ROOT)).stdout
    if "wheel_sha256" in code:
        table = json.loads((ROOT / "shim" / "releases.json").read_text())["releases"]
        assert output.strip() in {entry["wheel_sha256"] for entry in table.values()}


def check_install(arguments: str, folder: Path) -> None:
    """What `pip install .` puts in place is the wheel."""
    build = pytest.importorskip("hatchling.build")
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        name = build.build_wheel(str(folder))
    finally:
        os.chdir(before)
    assert name == WHEEL
    zipfile.ZipFile(folder / name).extractall(folder / "installed")
    command = [sys.executable, "-P"] if sys.version_info >= (3, 11) else [sys.executable]
    environment = {"PYTHONPATH": str(folder / "installed")}
    code = "import shim; print(shim.__file__)"
    child = succeeds(run([*command, "-c", code], folder=folder, environment=environment))
    assert child.stdout.startswith(str((folder / "installed").resolve()))


def check_release(version: str, folder: Path) -> None:
    assert version in TABLE


def check_sum(file: str, folder: Path) -> None:
    (folder / file).write_bytes(b"wheel")
    assert re.fullmatch(r"openai_agents-[\d.]+-py3-none-any\.whl", file)
    output = succeeds(run(["sha256sum", file], folder=folder)).stdout
    assert output.split() == [hashlib.sha256(b"wheel").hexdigest(), file]


def check_attestation(wheel: str, folder: Path) -> None:
    """Needs GitHub or PyPI, and a release there: only the name of the wheel can be held to."""
    assert wheel == WHEEL


def check_ci(arguments: str, folder: Path) -> None:
    """What .ci/run does itself, with options of its own."""
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert any(set(arguments.split()) <= set(line.split()) for line in lines)


def check_quick_start(arguments: str, folder: Path) -> None:
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    *preparations, nox = (f"python3{arguments}").split(" && ")
    for part in preparations:
        assert f"\n{part}\n" in ci
    assert f"\n{nox.partition(' -s ')[0]} " in ci
    check_nox(nox.removeprefix(".venv/bin/python -m nox").strip(), folder)


COMMANDS: dict[str, Callable[[str, Path], None]] = {
    r"nox ?(.*)": check_nox,
    r"python -m shim(?: run)? docs/examples/(\w+)\.py": check_example,
    r"python docs/examples/(\w+)\.py": check_example,
    r"python -m shim ?(.*)": check_shim,
    r"AUTOWRAPT_BOOTSTRAP=shim python (app\.py)": check_autowrapt,
    r"pytest (.+)": check_pytest,
    r"python -c (.+)": check_code,
    r"python3( -m venv \.venv && .+)": check_quick_start,
    r"python (-m pip install nox uv)": check_ci,
    r"pip install (\.)": check_install,
    r'pip install "?openai-agents\[voice\]==([\d.]+)"?': check_release,
    r"pip download --no-deps --only-binary :all: openai-agents==([\d.]+)": check_release,
    r"sha256sum (\S+)": check_sum,
    r"gh attestation verify (\S+) --repo OWNER/openai-agents-realtime-shim": check_attestation,
    (
        r"pypi-attestations verify pypi --repository "
        r"https://github\.com/OWNER/openai-agents-realtime-shim pypi:(\S+)"
    ): check_attestation,
}


def check_command(command: str, folder: Path) -> None:
    for pattern, check in COMMANDS.items():
        found = re.fullmatch(pattern, command)
        if found:
            check(found[1], folder)
            return
    pytest.fail(f"nobody claims the command: {command}")


def commands() -> dict[str, list[str]]:
    """Return every command of the pages, with where it is."""
    found: dict[str, list[str]] = {}
    for block in all_blocks():
        if block.kind == "console" and not block.text.startswith("git "):
            for line in block.text.splitlines():
                found.setdefault(line, []).append(str(block))
    for page in PAGES:
        for span in code_spans(page):
            if COMMAND.fullmatch(span) and span not in ("python", "python -m shim"):
                found.setdefault(span, []).append(str(page.relative_to(ROOT)))
    return found


@pytest.mark.parametrize("command", commands())
def test_a_command(command: str, folder: Path) -> None:
    check_command(command, folder)


# Blocks


def is_of_another_test(block: Block) -> bool:
    return (
        block.comment.startswith("example: ")  # test_documentation_examples.py
        or block.comment.startswith("refusal: ")  # test_documentation_refusals.py
        # test_upstream_report.py
        or (block.page == "patches/UPSTREAM.md" and block.kind in ("python", "text"))
    )


@pytest.mark.parametrize(
    "block",
    [pytest.param(each, id=str(each)) for each in all_blocks() if not is_of_another_test(each)],
)
def test_a_block(block: Block, tmp_path: Path) -> None:
    if block.kind == "python":
        child = succeeds(run([sys.executable, "-c", block.text], folder=tmp_path))
        assert child.stderr == ""
    elif block.kind == "console" and block.text.startswith("git "):
        run_git(block.text, tmp_path)
    elif block.kind == "console":
        assert set(block.text.splitlines()) <= set(commands())
    else:
        pytest.fail(f"nobody claims the block {block}")


def run_git(script: str, folder: Path) -> None:
    """Run a block of git commands in a repository of the newest release."""
    if SDK != NEWEST:
        pytest.skip(f"the patches that are applied are those of {NEWEST}")
    if script.startswith("git diff --no-index"):
        # 1 is that there are differences.
        assert run(shlex.split(script), folder=ROOT).returncode == 1
        return
    series = re.sub("<series>|<directory>", "0.23.1", script)
    series = series.replace("path/to/patches", "patches").replace(
        "patches/", f"{shlex.quote(str(ROOT))}/patches/"
    )
    # Upstream's own tools, which download what they need.
    series = re.sub(r"make sync\nuv run pytest tests/realtime\n\Z", "", series)
    repository = make_repository(folder)
    environment = {
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{repository}.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/openai/openai-agents-python",
        **{f"GIT_{who}_NAME": "somebody" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "somebody@example.com" for who in ("AUTHOR", "COMMITTER")},
    }
    start = folder if series.startswith("git clone") else repository
    series += "git diff --stat v0.24.0 -- src\n"
    shell = run(["bash", "-ec", series], folder=start, environment=environment)
    assert "2 files changed" in succeeds(shell).stdout


def make_repository(folder: Path) -> Path:
    """Make a repository whose main branch and whose tag v0.24.0 are the installed SDK."""
    repository = folder / "repository"
    (repository / "src").mkdir(parents=True)
    copy_sdk(folder / "copy")
    shutil.copytree(folder / "copy" / "agents", repository / "src" / "agents")
    identity = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.com"]
    for command in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "."],
        [*identity, "commit", "--quiet", "-m", "The release"],
        ["tag", f"v{NEWEST}"],
    ):
        subprocess.run(
            ["git", *command], cwd=repository, env=variables(), check=True, capture_output=True
        )
    return repository


def test_status_as_json_has_the_documented_fields() -> None:
    status = json.loads(succeeds(command_line("status", "--json")).stdout)
    page = (ROOT / "docs" / "status.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w.]+)` \| ", page.partition("## JSON")[2], re.MULTILINE)
    fields = set()
    for name, value in status.items():
        inner = {"fixes": next(iter(status["fixes"].values())), "sdk": value}.get(name, {})
        prefix = f"{name}.NAME." if name == "fixes" else f"{name}."
        fields |= {prefix + key for key in inner} or {name}
    assert set(rows) == fields
    assert status["schema"] == 1


def test_the_quick_start_is_one_block_of_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.partition("\n## Quick start\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"^```console\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert len(block.splitlines()) == 2
    assert section.count("```") == 2


# Links


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    found: set[str] = set()
    for heading, inline in zip(tokens(page), tokens(page)[1:], strict=False):
        if heading.type == "heading_open":
            words = "".join(
                child.content
                for child in inline.children or ()
                if child.type in ("text", "code_inline")
            )
            anchor = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            number = 0
            while (unique := f"{anchor}-{number}" if number else anchor) in found:
                number += 1
            found.add(unique)
    return found


def links(page: Path) -> list[str]:
    return [
        str(child.attrGet("href"))
        for token in tokens(page)
        for child in token.children or ()
        if child.type == "link_open"
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_within_the_project(page: Path) -> None:
    for link in links(page):
        if link.startswith("https://"):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_relative_to(ROOT), link
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def test_every_page_is_linked() -> None:
    linked = {
        (page.parent / link.partition("#")[0]).resolve() for page in PAGES for link in links(page)
    }
    assert not set(PAGES) - linked - {ROOT / "README.md"}
