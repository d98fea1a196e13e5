"""docs/refusals.md quotes what the shim really says, and leaves out nothing that it can say."""

from __future__ import annotations

import py_compile
import re
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
from children import ROOT, Child, command_line, copy_sdk, python, run
from documentation import blocks

PAGE = ROOT / "docs" / "refusals.md"
SDK = metadata.version("openai-agents")
IMPORTS = "import shim, agents.realtime"


def edited(folder: Path) -> Child:
    with (copy_sdk(folder) / "session.py").open("a") as file:
        file.write("# edited\n")
    return python(IMPORTS, path=folder)


def unknown(folder: Path) -> Child:
    copy_sdk(folder, version="99.0.0")
    return python(IMPORTS, path=folder)


def partly_patched(folder: Path) -> Child:
    realtime = copy_sdk(folder)
    # What the shim takes for the patched file is the table's word, so this needs no patch.
    code = f"""
import dataclasses, hashlib, pathlib, shim.guard
table = shim.guard.release_table()
file = pathlib.Path({str(realtime / "session.py")!r})
patched = dict.fromkeys(table[{SDK!r}].modules, "0" * 64)
patched["agents.realtime.session"] = hashlib.sha256(file.read_bytes()).hexdigest()
release = dataclasses.replace(table[{SDK!r}], patched=patched)
shim.guard.release_table = lambda: {{**table, {SDK!r}: release}}
import agents.realtime
"""
    return python(code, path=folder)


def unreadable(folder: Path) -> Child:
    source = copy_sdk(folder) / "session.py"
    py_compile.compile(str(source), cfile=str(source.with_suffix(".pyc")), doraise=True)
    source.unlink()
    return python(IMPORTS, path=folder)


def own_package(folder: Path) -> None:
    realtime = folder / "agents" / "realtime"
    realtime.mkdir(parents=True)
    for file in (realtime.parent / "__init__.py", realtime / "__init__.py"):
        file.touch()
    for name in ("session", "openai_realtime"):
        (realtime / f"{name}.py").touch()


def another_package(folder: Path) -> Child:
    own_package(folder)
    return python("import shim, agents.realtime.session", path=folder)


def another_package_alone(folder: Path) -> Child:
    own_package(folder)
    code = """
from importlib import metadata
def version(name):
    raise metadata.PackageNotFoundError(name)
metadata.version = version
import shim, agents.realtime.session
"""
    return python(code, path=folder)


def own_defect(folder: Path) -> Child:
    code = """
import shim.guard
def broken():
    raise ZeroDivisionError("oops")
shim.guard.release_table = broken
import agents.realtime
"""
    return python(code)


def mode(folder: Path) -> Child:
    return python("import shim", environment={"OPENAI_AGENTS_SHIM": "yes"})


def skip(folder: Path) -> Child:
    return python("import shim", environment={"OPENAI_AGENTS_SHIM_SKIP": "history"})


def no_sdk(folder: Path) -> Child:
    (folder / "wrapt").symlink_to(Path(sys.modules["wrapt"].__file__ or "").parent)
    return command_line("status", interpreter=(sys.executable, "-S"), path=folder)


def no_voice(folder: Path) -> Child:
    (folder / "websockets.py").write_text("raise ModuleNotFoundError(name=__name__)\n")
    return command_line("status", path=folder)


def broken_sdk(folder: Path) -> Child:
    (folder / "agents.py").write_text("raise RuntimeError('broken')\n")
    return command_line("status", path=folder)


def lacks_package(folder: Path) -> Child:
    (folder / "openai.py").write_text("raise ModuleNotFoundError(name=__name__)\n")
    return command_line("status", path=folder)


def no_realtime(folder: Path) -> Child:
    (folder / "agents").mkdir()
    (folder / "agents" / "__init__.py").touch()
    return command_line("status", path=folder)


def unknown_to_releases(folder: Path) -> Child:
    return command_line("releases", "99.0.0")


def options_of_python(folder: Path) -> Child:
    # -E would leave out the path to the shim where it is not installed.
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})"
    call = "from shim.run import main; sys.exit(main(['app.py']))"
    return run([sys.executable, "-E", "-c", f"{code}; {call}"])


def own_module(folder: Path) -> Child:
    (folder / "app.py").touch()
    (folder / "shim.py").touch()
    return command_line("run", str(folder / "app.py"))


def no_file(folder: Path) -> Child:
    return command_line("run", "app")


def old_python(folder: Path) -> Child:
    interpreters = sorted(Path.home().glob(".pyenv/versions/3.9.*/bin/python"))
    if not interpreters:
        pytest.skip("needs Python 3.9, looked for in ~/.pyenv")
    return run([str(interpreters[-1]), "-c", "import shim"])


SITUATIONS: dict[str, Callable[[Path], Child]] = {
    "edited": edited,
    "partly-patched": partly_patched,
    "unknown": unknown,
    "unreadable": unreadable,
    "another-package": another_package,
    "another-package-alone": another_package_alone,
    "own-defect": own_defect,
    "mode": mode,
    "skip": skip,
    "old-python": old_python,
    "no-sdk": no_sdk,
    "no-voice": no_voice,
    "lacks-package": lacks_package,
    "broken-sdk": broken_sdk,
    "no-realtime": no_realtime,
    "unknown-to-releases": unknown_to_releases,
    "options-of-python": options_of_python,
    "own-module": own_module,
    "no-file": no_file,
}


def message(child: Child, folder: Path) -> str:
    """Return the one message of a child, on one line, with names that are the same everywhere."""
    lines = [line for line in child.stderr.splitlines() if "rror: " in line or "arning: " in line]
    (line,) = lines
    text = re.sub(r"^.*?Warning: ", "", line)
    for part in (str(folder.resolve()), str(folder)):
        text = text.replace(part, "...")
    text = text.replace(SDK, "VERSION")
    return re.sub(r"(and this is )3\.\d+\.\d+", r"\g<1>3.9.18", text)


def quoted() -> dict[str, str]:
    """Return the messages in the page, on one line each, by their situations."""
    return {
        block.comment.removeprefix("refusal: "): " ".join(block.text.split())
        for block in blocks(PAGE)
        if block.comment.startswith("refusal: ")
    }


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_page_quotes_the_message(name: str, tmp_path: Path) -> None:
    assert quoted()[name] == message(SITUATIONS[name](tmp_path), tmp_path)


def test_every_quoted_message_is_tested() -> None:
    assert set(quoted()) == set(SITUATIONS)
