"""``python -m shim run``: the application is as it would be without, and has the fixes."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from textwrap import dedent

import pytest
from children import ROOT, Child, run, variables

STARTUP = str(ROOT / "shim" / "startup")
SHIM = ("-m", "shim", "run")

# Prints which fixes are on in a process that does not import the shim itself.
STATES = """
import json, os, sys
import agents.realtime
fixes = sys.modules["shim"].status().fixes if "shim" in sys.modules else {}
print(json.dumps({name: fix.state for name, fix in fixes.items()}), flush=True)
"""
APPLIED = dict.fromkeys(("converter-status", "close-reset", "history-merge"), "applied")

WHAT_IT_SEES = """
import __main__, json, sys
print(json.dumps({
    "argv": sys.argv,
    "path": sys.path,
    "main": [__name__, __package__, getattr(__spec__, "name", None)],
    "own": __main__.__dict__ is globals(),
    "file": globals().get("__file__"),
    "flags": repr(sys.flags),
    "warnings": sys.warnoptions,
    "options": sys._xoptions,
    "executable": sys.executable,
    "input": sys.stdin.read() if sys.argv[0] != "-" else None,
}))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of an application: ``app.py`` and the package ``package``."""
    (tmp_path / "app.py").write_text(WHAT_IT_SEES)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "__main__.py").write_text(WHAT_IT_SEES)
    (tmp_path / "zipped").mkdir()
    (tmp_path / "zipped" / "__main__.py").write_text(WHAT_IT_SEES)
    return tmp_path


def both(
    folder: Path, *application: str, options: tuple[str, ...] = (), text: str = ""
) -> tuple[Child, Child]:
    """Run an application without and with the shim."""
    plain = run([sys.executable, *options, *application], folder=folder, text=text)
    with_shim = run([sys.executable, *options, *SHIM, *application], folder=folder, text=text)
    return plain, with_shim


def outcome(child: Child) -> tuple[int, str, str]:
    return child.returncode, child.stdout, child.stderr


@pytest.mark.parametrize(
    "application",
    [
        ("app.py",),
        ("app.py", "-x", "--", "run", "a b", ""),
        ("./app.py", "-m", "shim"),
        ("-m", "package", "-m", "run"),
        ("-c", WHAT_IT_SEES, "-c"),
        ("zipped", "1"),
        ("-", "1"),
    ],
    ids=" ".join,
)
def test_an_application_sees_what_it_would_see_without(
    folder: Path, application: tuple[str, ...]
) -> None:
    text = WHAT_IT_SEES if application[0] == "-" else "words"
    plain, with_shim = both(folder, *application, text=text)
    assert json.loads(plain.stdout)["argv"]
    assert outcome(with_shim) == outcome(plain)


@pytest.mark.parametrize(
    "options",
    [
        ("-X", "dev", "-W", "error::UserWarning"),
        ("-O", "-B", "-u"),
        ("-Xutf8",),
        ("-P",) if sys.version_info >= (3, 11) else ("-s",),
    ],
    ids=" ".join,
)
def test_the_options_of_python_stay(folder: Path, options: tuple[str, ...]) -> None:
    plain, with_shim = both(folder, "app.py", options=options)
    assert (
        json.loads(plain.stdout)["flags"] != json.loads(both(folder, "app.py")[0].stdout)["flags"]
    )
    assert outcome(with_shim) == outcome(plain)


@pytest.mark.parametrize("options", [("-mshim",), ("-Bmshim",), ("-Bm", "shim")], ids=" ".join)
def test_the_module_may_be_written_together_with_its_option(
    folder: Path, options: tuple[str, ...]
) -> None:
    child = run([sys.executable, *options, "run", "app.py"], folder=folder)
    seen = json.loads(child.stdout)
    assert seen["argv"] == ["app.py"]
    assert ("dont_write_bytecode=1" in seen["flags"]) == ("B" in options[0])


@pytest.mark.parametrize(
    "code",
    [
        "import sys; sys.exit(3)",
        "import sys; sys.exit('no more')",
        "import sys; sys.exit()",
        "import os; os._exit(4)",
        "def f():\n    1 / 0\n\nf()",
        "import atexit; atexit.register(print, 'end'); raise KeyError('ä')",
        "raise KeyboardInterrupt",
        "def (",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
        "import threading, time\n"
        "def work():\n    time.sleep(0.2)\n    print('done')\n"
        "threading.Thread(target=work).start()",
    ],
)
def test_an_application_ends_as_it_would_without(folder: Path, code: str) -> None:
    (folder / "app.py").write_text(code)
    plain, with_shim = both(folder, "app.py")
    assert outcome(with_shim) == outcome(plain)


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_the_application_gets_the_signals(folder: Path) -> None:
    (folder / "app.py").write_text(
        dedent(
            """
            import os, signal, sys, time

            def end(number, frame):
                os.write(1, f"got {signal.Signals(number).name}\\n".encode())
                sys.exit(7)

            signal.signal(signal.SIGTERM, end)
            print("ready", flush=True)
            time.sleep(60)
            """
        )
    )
    process = subprocess.Popen(
        [sys.executable, *SHIM, "app.py"],
        cwd=folder,
        env=variables(),
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == "got SIGTERM\n"
    assert process.returncode == 7


@pytest.mark.parametrize(
    "application", [("app.py",), ("-m", "app"), ("-c", STATES), ("-",)], ids=lambda each: each[0]
)
def test_the_application_has_the_fixes(folder: Path, application: tuple[str, ...]) -> None:
    (folder / "app.py").write_text(STATES)
    plain, with_shim = both(folder, *application, text=STATES)
    assert json.loads(plain.stdout) == {}
    assert json.loads(with_shim.stdout) == APPLIED
    assert with_shim.stderr == ""


CHILDREN = {
    "subprocess": """
        import subprocess, sys
        subprocess.run([sys.executable, "-c", STATES], check=True)
        """,
    "spawn": """
        import multiprocessing
        if __name__ == "__main__":
            process = multiprocessing.get_context("spawn").Process(target=exec, args=(STATES,))
            process.start()
            process.join()
        """,
    "forkserver": """
        import multiprocessing
        if __name__ == "__main__":
            process = multiprocessing.get_context("forkserver").Process(target=exec, args=(STATES,))
            process.start()
            process.join()
        """,
    "process pool": """
        import concurrent.futures, multiprocessing
        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
                pool.submit(exec, STATES).result()
        """,
}


@pytest.mark.parametrize("kind", CHILDREN)
def test_the_children_have_the_fixes(folder: Path, kind: str) -> None:
    (folder / "app.py").write_text(f"STATES = {STATES!r}\n{dedent(CHILDREN[kind])}")
    plain, with_shim = both(folder, "app.py")
    assert json.loads(plain.stdout) == {}
    assert json.loads(with_shim.stdout) == APPLIED


def test_the_workers_of_uvicorn_have_the_fixes(folder: Path) -> None:
    (folder / "web.py").write_text(
        dedent(
            """
            import json, os, sys
            import agents.realtime

            async def app(scope, receive, send):
                assert scope["type"] == "http"
                fixes = sys.modules["shim"].status().fixes if "shim" in sys.modules else {}
                states = {name: fix.state for name, fix in fixes.items()}
                body = json.dumps([os.getpid(), states]).encode()
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": body})
            """
        )
    )
    # By -c: uvicorn has no option to print the port that it was given.
    code = "import uvicorn; uvicorn.run('web:app', port=0, workers=2, lifespan='off')"
    process = subprocess.Popen(
        [sys.executable, *SHIM, "-c", f"if __name__ == '__main__': {code}"],
        cwd=folder,
        env=variables(path=folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stderr is not None
        try:
            address = next(filter(None, map(re.compile("http://[0-9.:]+").search, process.stderr)))
            found: dict[int, dict[str, str]] = {}
            deadline = time.monotonic() + 60
            while len(found) < 2 and time.monotonic() < deadline:
                # The socket is bound, but takes no connection before the first worker is ready.
                with (
                    suppress(urllib.error.URLError),
                    urllib.request.urlopen(address.group(), timeout=60) as answer,
                ):
                    worker, states = json.load(answer)
                    found[worker] = states
        finally:
            process.terminate()
            process.stderr.read()
    assert process.pid not in found
    assert list(found.values()) == [APPLIED, APPLIED]


def test_the_sitecustomize_of_the_environment_runs_as_well(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text("import sys; sys.customized = __file__\n")
    (folder / "app.py").write_text(
        "import sys, sitecustomize\n"
        "print(sys.customized, sitecustomize.__file__, 'shim' in sys.modules)\n"
    )
    child = run([sys.executable, *SHIM, "app.py"], folder=folder, path=folder)
    file = str(folder / "sitecustomize.py")
    assert child.stdout == f"{file} {file} True\n"


def test_another_python_that_the_application_starts_is_left_alone() -> None:
    environment = {"PYTHONPATH": STARTUP, "OPENAI_AGENTS_SHIM_RUN": "/another/environment"}
    code = "import sys; print('shim' in sys.modules, [p for p in sys.path if 'startup' in p])"
    child = run([sys.executable, "-c", code], environment=environment)
    assert outcome(child) == (0, "False []\n", "")


def test_one_run_in_another_is_one(folder: Path) -> None:
    (folder / "app.py").write_text("import os; print(os.environ['PYTHONPATH'])")
    child = run([sys.executable, *SHIM, *SHIM, "app.py"], folder=folder)
    assert child.stdout.strip().split(os.pathsep).count(STARTUP) == 1


def test_switched_off_the_application_runs_without(folder: Path) -> None:
    child = run([sys.executable, *SHIM, "-c", STATES], environment={"OPENAI_AGENTS_SHIM": "off"})
    assert json.loads(child.stdout) == dict.fromkeys(APPLIED, "skipped")


@pytest.mark.parametrize(
    ("application", "options", "words"),
    [
        (["app.py"], ["-I"], "with Python's option -I the shim cannot be there"),
        (["app.py"], ["-E"], "with Python's option -E the shim cannot be there"),
        (["app.py"], ["-S"], "with Python's option -S the shim cannot be there"),
        (["uvicorn", "web:app"], [], "python -m shim run -m uvicorn"),
        (["nope.py"], [], "there is no file nope.py\n"),
        (["-X", "dev", "app.py"], [], "run takes app.py, -m MODULE or -c CODE, and not -X."),
        (["-m"], [], "-m needs a module"),
        (["-c"], [], "-c needs code"),
    ],
)
def test_what_cannot_be_run(
    folder: Path, application: list[str], options: list[str], words: str
) -> None:
    # -S leaves only PYTHONPATH to find packages in.
    packages = Path(str(metadata.distribution("wrapt").locate_file("")))
    child = run([sys.executable, *options, *SHIM, *application], folder=folder, path=packages)
    assert words in f"{child.error}\n"


# `python -m shim` would find the application's module.
RUN = """
import sys
sys.path[0] = {root!r}
sys.argv, sys.orig_argv = ["shim", "run", *{own!r}], ["python", "-m", "shim", "run", *{own!r}]
from shim.run import main
sys.exit(main({own!r}))
"""


def run_from_anywhere(*application: str, folder: Path) -> Child:
    code = RUN.format(root=str(ROOT), own=list(application))
    return run([sys.executable, "-c", code], folder=folder)


@pytest.mark.parametrize(
    ("application", "module"),
    [
        (("app.py",), "shim.py"),
        (("app.py",), "shim/__init__.py"),
        (("-m", "app"), "shim.py"),
        (("-c", "1"), "shim/__init__.py"),
        (("zipped",), "zipped/shim.py"),
    ],
)
def test_an_application_with_a_module_of_that_name(
    folder: Path, application: tuple[str, ...], module: str
) -> None:
    (folder / module).parent.mkdir(exist_ok=True)
    (folder / module).touch()
    child = run_from_anywhere(*application, folder=folder)
    assert "the application has a module `shim` of its own" in child.error
    assert module in child.error


def test_a_zip_file_with_a_module_of_that_name(folder: Path) -> None:
    (folder / "zipped" / "shim.py").touch()
    shutil.make_archive(str(folder / "app"), "zip", folder / "zipped")
    child = run_from_anywhere("app.zip", folder=folder)
    assert "the application has a module `shim` of its own" in child.error
    (folder / "zipped" / "shim.py").unlink()
    shutil.make_archive(str(folder / "app"), "zip", folder / "zipped")
    assert json.loads(run_from_anywhere("app.zip", folder=folder).stdout)["argv"] == ["app.zip"]


def test_a_module_of_that_name_that_the_application_does_not_see(folder: Path) -> None:
    (folder / "shim.py").touch()
    (folder / "zipped" / "__main__.py").write_text(STATES)
    assert json.loads(run_from_anywhere("zipped", folder=folder).stdout) == APPLIED


@pytest.mark.parametrize("path", [":/x", ":", "a::b", "/a:", "", None])
def test_an_empty_folder_in_the_path_stays(folder: Path, path: str | None) -> None:
    (folder / "scripts").mkdir()
    (folder / "scripts" / "app.py").write_text("import sys; print(sys.path)")
    environment = variables()
    del environment["PYTHONPATH"]
    if path is not None:
        environment["PYTHONPATH"] = path
    plain, with_shim = (
        subprocess.run(
            [sys.executable, *words, "scripts/app.py"],
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
        for words in ((), SHIM)
    )
    assert with_shim.stdout == plain.stdout


def test_a_nested_run_comes_first_again(folder: Path) -> None:
    (folder / "own").mkdir()
    (folder / "own" / "sitecustomize.py").write_text("import sys; sys.customized = True\n")
    (folder / "app.py").write_text(
        "import os, subprocess, sys\n"
        "os.environ['PYTHONPATH'] = 'own' + os.pathsep + os.environ['PYTHONPATH']\n"
        "code = 'import sys; print(sys.customized, \"shim\" in sys.modules)'\n"
        "subprocess.run([sys.executable, '-m', 'shim', 'run', '-c', code], check=True)\n"
    )
    assert run([sys.executable, *SHIM, "app.py"], folder=folder).stdout == "True True\n"


def test_an_environment_by_another_path_is_the_same(folder: Path) -> None:
    (folder / "link").symlink_to(sys.prefix)
    (folder / "app.py").write_text(
        "import subprocess\n"
        "code = 'import sys; print(\"shim\" in sys.modules)'\n"
        "subprocess.run(['link/bin/python', '-c', code], check=True)\n"
    )
    assert run([sys.executable, *SHIM, "app.py"], folder=folder).stdout == "True\n"


def test_a_shim_that_cannot_be_imported_leaves_nothing_behind(folder: Path) -> None:
    (folder / "wrapt.py").write_text("raise ImportError('no wrapt')\n")
    (folder / "app.py").write_text("import sys; print('shim' in sys.modules)\n")
    child = run([sys.executable, *SHIM, "app.py"], folder=folder, path=folder)
    assert (child.returncode, child.stdout) == (0, "False\n")
    assert "Error in sitecustomize" in child.stderr
    assert "no wrapt" in child.stderr


@pytest.mark.parametrize(
    "code",
    [
        "from shim.__main__ import main; sys.exit(main(['run', 'app.py']))",
        "from shim.__main__ import main; sys.argv = ['x', 'run', '1']; sys.exit(main())",
        "import runpy; sys.argv = ['x', 'run', '1']; runpy.run_module('shim', None, '__main__')",
    ],
)
def test_run_is_not_for_programs(folder: Path, code: str) -> None:
    (folder / "1").touch()
    child = run([sys.executable, "-c", f"import sys; {code}"], folder=folder)
    assert "run is for the command line" in child.error


def test_run_is_not_for_a_program_of_the_same_arguments(folder: Path) -> None:
    (folder / "tool.py").write_text("import sys; from shim.__main__ import main; sys.exit(main())")
    child = run([sys.executable, "tool.py", "run", "app.py"], folder=folder)
    assert "run is for the command line" in child.error


def test_a_current_folder_that_cannot_be_named(folder: Path) -> None:
    own = ["-c", "print('Hello')"]
    code = "import pathlib\ndef cwd(): raise FileNotFoundError\npathlib.Path.cwd = cwd\n"
    code += RUN.format(root=str(ROOT), own=own)
    child = run([sys.executable, "-c", code], folder=folder)
    assert (child.returncode, child.stdout, child.stderr) == (0, "Hello\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_to_itself_is_left_to_python(folder: Path) -> None:
    (folder / "loop.py").symlink_to("loop.py")
    shimmed = run([sys.executable, *SHIM, "loop.py"], folder=folder)
    bare = run([sys.executable, "loop.py"], folder=folder)
    assert outcome(shimmed) == outcome(bare)
    assert "loop.py" in bare.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a folder that is in use stays there")
def test_a_current_folder_that_is_gone(folder: Path) -> None:
    command = [sys.executable, *SHIM, "-c", "print('Hello')"]
    code = f"import os; os.rmdir(os.getcwd()); os.execv({command[0]!r}, {command!r})"
    (folder / "gone").mkdir()
    child = run([sys.executable, "-c", code], folder=folder / "gone")
    assert (child.returncode, child.stdout, child.stderr) == (0, "Hello\n", "")


def test_in_strict_mode_a_wrong_variable_stops_the_start(folder: Path) -> None:
    environment = {"OPENAI_AGENTS_SHIM": "strict", "OPENAI_AGENTS_SHIM_SKIP": "nonsense"}
    for command in (("run", "app.py"), ("status",), ("status", "--json")):
        child = run(
            [sys.executable, "-m", "shim", *command], folder=folder, environment=environment
        )
        assert "OPENAI_AGENTS_SHIM_SKIP names no fix with 'nonsense'" in child.error


def test_run_has_help() -> None:
    child = run([sys.executable, *SHIM, "--help"])
    assert child.stdout.startswith("usage: python -m shim run (app.py | -m MODULE | -c CODE)")
    assert child.returncode == 0
    assert run([sys.executable, *SHIM]).returncode == 2


def test_a_module_named_run_is_not_taken_for_the_command(folder: Path) -> None:
    (folder / "package" / "__init__.py").write_text("import shim\n")
    (folder / "package" / "__main__.py").write_text("import shim; print(shim.status().version)\n")
    child = run([sys.executable, "-m", "package", "run"], folder=folder)
    assert (child.returncode, child.stderr) == (0, "")
