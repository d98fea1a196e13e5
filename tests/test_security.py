"""What SECURITY.md promises: nothing on the network, no files but to read, no words in logs."""

from __future__ import annotations

import json
import os
import sys
from functools import cache
from pathlib import Path

import pytest
from children import ROOT, python, run

# Prints, as JSON and by what they are, the audit events of the code that follows.
RECORD = """
import atexit, json, os, sys
_found = {"net": [], "written": [], "processes": [], "read": []}
_WRITES = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink",
           "os.truncate", "os.chmod", "os.utime", "shutil.", "tempfile.")
_PROCESSES = ("subprocess.Popen", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system")
def _hook(event, arguments):
    if event.startswith("socket."):
        _found["net"].append(event)
    elif event.startswith(_WRITES):
        _found["written"].append(f"{event} {arguments[0]}")
    elif event.startswith(_PROCESSES):
        _found["processes"].append(event)
    elif event == "open" and isinstance(arguments[0], str):
        writes = arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        _found["written" if writes else "read"].append(arguments[0])
sys.addaudithook(_hook)
atexit.register(lambda: print("AUDIT " + json.dumps(_found)))
"""
WORDS = ("bird", "It is")


pytestmark = pytest.mark.skipif(
    "COVERAGE_PROCESS_CONFIG" in os.environ,
    reason="in a child, coverage writes files of its own",
)


@cache
def audit(code: str) -> dict[str, set[str]]:
    # -B: the cache of compiled modules is Python's, not the shim's.
    child = python(RECORD + code, "-B")
    assert child.returncode == 0, child.stderr
    (line,) = [each for each in child.stdout.splitlines() if each.startswith("AUDIT ")]
    return {kind: set(found) for kind, found in json.loads(line.removeprefix("AUDIT ")).items()}


def test_the_recorder_records() -> None:
    found = audit(
        "import socket, subprocess\n"
        "socket.socket().close(); open(os.devnull, 'w').close(); open(os.devnull).close()\n"
        "subprocess.run([sys.executable, '-c', ''])"
    )
    assert {"socket.__new__"} <= found["net"]
    assert os.devnull in found["written"]
    assert os.devnull in found["read"]
    assert "subprocess.Popen" in found["processes"]


@pytest.fixture(scope="module")
def bare() -> dict[str, set[str]]:
    return audit("import agents.realtime")


@pytest.mark.parametrize(
    "code",
    [
        "import shim",
        "import shim, agents.realtime; shim.status()",
        "import agents.realtime, shim; shim.revert(); shim.apply()",
    ],
)
def test_nothing_that_the_sdk_does_not_do(code: str, bare: dict[str, set[str]]) -> None:
    found = audit(code)
    for kind in ("net", "written", "processes"):
        assert found[kind] <= bare[kind]


def test_what_is_read(bare: dict[str, set[str]]) -> None:
    import agents.realtime
    import wrapt

    read = audit("import shim, agents.realtime; shim.status()")["read"] - bare["read"]
    sdk = Path(agents.realtime.__file__).parent
    own = (
        str(ROOT / "shim"),
        str(Path(wrapt.__file__).parent),
        str(Path(json.__file__).parents[1]),
    )
    others = {file for file in read if not file.startswith(own)}
    metadata = {file for file in others if ".dist-info" in file}
    assert others - metadata <= {str(sdk / "session.py"), str(sdk / "openai_realtime.py")}
    assert str(sdk / "session.py") in read
    assert str(ROOT / "shim" / "releases.json") in read


def test_no_words_of_a_conversation_in_logs_and_warnings() -> None:
    script = ROOT / "docs" / "examples" / "history_merge.py"
    code = f"""
import logging, runpy, sys, warnings
warnings.simplefilter("always")
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr, format="%(name)s %(message)s")
for name in ("asyncio", "openai", "websockets"):
    logging.getLogger(name).setLevel(logging.ERROR)
import shim
runpy.run_path({str(script)!r}, run_name="__main__")
"""
    child = run(
        [sys.executable, "-c", code],
        environment={"OPENAI_AGENTS_DISABLE_TRACING": "1", "NO_PROXY": "127.0.0.1"},
    )
    assert child.returncode == 0, child.stderr
    assert all(word in child.stdout for word in WORDS)
    logged = [line for line in child.stderr.splitlines() if line.startswith("shim")]
    assert any("history-merge: wrapped agents.realtime.session" in line for line in logged)
    assert not [line for line in logged for word in WORDS if word in line]
    assert "ShimWarning" not in child.stderr
