"""Running tests on mutants, each in a copy of the project, until one of them fails."""

from __future__ import annotations

import json
import os
import queue
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tools import mutant_server
from tools.environments import install
from tools.mutations import Key, Mutant
from tools.releases import ROOT, Release, UserError

PACKAGE = "shim"

PRELOADED = ("pytest", "pytest_asyncio", "agents.realtime", "websockets")
"""What is imported once for all mutants."""

TEST_TIMEOUT = 60.0
"""Seconds after which a test hangs. None of them takes more than four on an idle machine."""

STAGE_TIMEOUT = 600.0
"""Seconds after which a whole stage does."""

_HANGS = re.compile(r"Timeout \(?>")
_OUTPUT_LINES = 40


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Tests that are run in one go, with one release of the SDK after the other.

    Attributes:
        name: What the stage is called in messages.
        releases: The releases of the SDK.
        arguments: What pytest gets, ``{module}`` standing for the mutated module's name.
        requirements: What has to be installed for them, beside what all tests need.
        modules: The modules that the stage is for; all of them if there are none.
    """

    name: str
    releases: tuple[str, ...]
    arguments: tuple[str, ...]
    requirements: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    def is_for(self, module: str) -> bool:
        return not self.modules or module in self.modules


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What came of a mutant: the stage that noticed it, or None, and whether that was by a hang."""

    key: Key
    killer: str | None
    hangs: bool = False


@dataclass(frozen=True)
class _Step:
    """A stage on one release, for one module."""

    name: str
    release: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Run:
    passed: bool
    hangs: bool
    output: str


def install_environments(
    stages: Sequence[Stage], table: Mapping[str, Release], *, folder: Path, python: str
) -> dict[str, Path]:
    """Make an environment for each release of the stages that ``folder`` has none for.

    Returns their interpreters, by release. Raises UserError if one cannot be made.
    """
    interpreters = {}
    for release in dict.fromkeys(release for stage in stages for release in stage.releases):
        if release not in table:
            raise UserError(f"no supported release: {release!r} (see shim/releases.json)")
        environment = folder / release
        interpreter = environment / "bin" / "python"
        if not interpreter.exists():
            needed = {
                name for stage in stages if release in stage.releases for name in stage.requirements
            }
            install(
                release,
                table[release],
                folder=environment,
                python=python,
                requirements=sorted(needed),
            )
        interpreters[release] = interpreter
    return interpreters


class _Server:
    """A process that runs pytest with the SDK of one release; see `tools.mutant_server`."""

    def __init__(self, interpreter: Path, *, output: Path) -> None:
        """Start it; ``output`` is the file for what pytest prints."""
        self._output = output
        self._process = subprocess.Popen(
            [str(interpreter), str(Path(mutant_server.__file__).resolve()), *PRELOADED],
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def run(self, folder: Path, arguments: Sequence[str]) -> _Run:
        """Run pytest in that folder."""
        request = {
            "folder": str(folder),
            "arguments": list(arguments),
            "output": str(self._output),
            "timeout": STAGE_TIMEOUT,
        }
        answer = self._ask(json.dumps(request))
        if not answer:
            raise UserError("a process that runs tests has ended")
        code = json.loads(answer)
        output = self._output.read_text(encoding="utf-8", errors="replace")
        return _Run(
            passed=code == 0,
            hangs=code is None or _HANGS.search(output) is not None,
            output="\n".join(output.rstrip().splitlines()[-_OUTPUT_LINES:]),
        )

    def _ask(self, request: str) -> str:
        """Return the answer to a request, each of them a line; nothing if the process has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{request}\n")
            self._process.stdin.flush()
        return self._process.stdout.readline()

    def stop(self) -> None:
        self._process.terminate()
        with suppress(BrokenPipeError), self._process:
            pass


class Laboratory:
    """Copies of the project in which mutants are tried, one at a time in each.

    A context manager, because of the processes that it keeps.
    """

    def __init__(
        self,
        interpreters: Mapping[str, Path],
        stages: Sequence[Stage],
        *,
        folder: Path,
        copies: int,
    ) -> None:
        """Copy the project so many times to new folders in ``folder``."""
        self._interpreters = interpreters
        self._stages = stages
        self._copies = copies
        self._free: queue.Queue[Path] = queue.Queue()
        self._servers: dict[tuple[Path, str], _Server] = {}
        for number in range(1, copies + 1):
            copy = folder / f"copy-{number}"
            shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "__pycache__"))
            self._free.put(copy)

    def __enter__(self) -> Laboratory:
        return self

    def __exit__(self, *exception: object) -> None:
        for server in self._servers.values():
            server.stop()

    def check(self, modules: Sequence[str], *, report: Callable[[str], None]) -> None:
        """Run every stage for these modules on a copy as it is, and on one without the package.

        Raises UserError if the former fails or the latter passes: then a stage would say nothing
        about a mutant.
        """
        copy = self._free.get()
        package = copy / PACKAGE / "__init__.py"
        done: set[_Step] = set()
        for step in (step for module in modules for step in self._steps(module)):
            if step in done:
                continue
            done.add(step)
            started = time.monotonic()
            run = self._run(copy, step)
            if not run.passed:
                raise UserError(f"{step.name} fails without a mutant:\n{run.output}")
            report(f"{step.name}: passes, {time.monotonic() - started:.0f} s")
            with _changed(package, "raise ImportError('the package is gone')\n"):
                if self._run(copy, step).passed:
                    raise UserError(f"{step.name} passes without the package")
        self._free.put(copy)

    def try_all(self, mutants: Sequence[Mutant]) -> Iterator[Verdict]:
        """Try the mutants, as many at a time as there are copies; yield what came of each."""
        with ThreadPoolExecutor(self._copies) as pool:
            futures = [pool.submit(self._try, mutant) for mutant in mutants]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                pool.shutdown(cancel_futures=True)

    def _try(self, mutant: Mutant) -> Verdict:
        copy = self._free.get()
        module = mutant.key.module
        try:
            with _changed(copy / PACKAGE / f"{module}.py", mutant.code):
                for step in self._steps(module):
                    run = self._run(copy, step)
                    if not run.passed:
                        return Verdict(key=mutant.key, killer=step.name, hangs=run.hangs)
            return Verdict(key=mutant.key, killer=None)
        finally:
            self._free.put(copy)

    def _steps(self, module: str) -> Iterator[_Step]:
        for stage in self._stages:
            if stage.is_for(module):
                arguments = tuple(each.replace("{module}", module) for each in stage.arguments)
                for release in stage.releases:
                    yield _Step(f"{stage.name} on {release}", release, arguments)

    def _run(self, copy: Path, step: _Step) -> _Run:
        # A copy is never used twice at a time, and so neither is a server.
        server = self._servers.get((copy, step.release))
        if server is None:
            output = copy.with_name(f"{copy.name}-{step.release}.txt")
            server = _Server(self._interpreters[step.release], output=output)
            self._servers[copy, step.release] = server
        arguments = ["-x", "-q", "-p", "no:cacheprovider", "--timeout", str(TEST_TIMEOUT)]
        return server.run(copy, [*arguments, *step.arguments])


@contextmanager
def _changed(file: Path, text: str) -> Iterator[None]:
    """Give a module that text for a while."""
    original = file.read_bytes()
    # Python takes two files of one size and second for the same.
    compiled = file.parent / "__pycache__"
    try:
        file.write_text(text, encoding="utf-8")
        shutil.rmtree(compiled, ignore_errors=True)
        yield
    finally:
        file.write_bytes(original)
        shutil.rmtree(compiled, ignore_errors=True)


def _environment() -> dict[str, str]:
    """Return this process's environment, set so that a fix that is refused is an error."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OPENAI_AGENTS", "PYTHON"))
    }
    return {**kept, "OPENAI_AGENTS_SHIM": "strict"}
