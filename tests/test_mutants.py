"""The tool that mutates the shim: what it makes, what it runs, and what it concludes."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
import tomli
from cosmic_ray.mutating import mutate_code  # type: ignore[import-untyped]
from rich.console import Console

from tools import mutant_runs, mutants
from tools.mutant_report import (
    Results,
    document,
    dump_results,
    load_results,
    problems_of,
    table_of,
    toml_of,
)
from tools.mutant_runs import Laboratory, Stage, Verdict, install_environments
from tools.mutant_settings import Listed, Settings, Skip, load_settings
from tools.mutations import ALL_OPERATORS, Key, mutants_of
from tools.releases import ROOT, UserError

OWN_OPERATORS = [name for name in ALL_OPERATORS if not name.startswith("core/")]


@pytest.mark.parametrize("name", OWN_OPERATORS)
def test_an_operator_makes_of_its_examples_what_they_say(name: str) -> None:
    operator: Any = ALL_OPERATORS[name]
    assert operator.examples
    for example in operator.examples:
        code = mutate_code(example.pre_mutation_code, operator, example.occurrence)
        assert code == example.post_mutation_code


def changes(source: str, *operators: str) -> list[tuple[str, str]]:
    """What is changed in a source, by all operators or some: ``(was, becomes)``."""
    chosen = {name: ALL_OPERATORS[name] for name in operators or ALL_OPERATORS}
    found = mutants_of("module", source, operators=chosen)
    return [(mutant.key.was, mutant.key.becomes) for mutant in found]


def test_the_first_binding_of_a_name_stays() -> None:
    source = """
def f(a, b):
    "What f does."
    import g
    x = 1
    x = 2
    a = 3
    y: int
    a.b = c[0] = 4
    a.b += 5
    for z in a:
        z = 6
        continue
    g(a)
    await_ = 1
    if a:
        raise b
    del a
    return

x = 1
x = 2
g()
"""
    assert [was for was, _ in changes(source, "RemoveStatement")] == [
        "x = 2",
        "a = 3",
        "a.b = c[0] = 4",
        "a.b += 5",
        "z = 6",
        "continue",
        "g(a)",
        "raise b",
        "del a",
        "return",
    ]


def test_what_awaits_has_an_effect() -> None:
    source = "async def f(a):\n    await a.b()\n    await a\n    yield a\n    a.b(await a)\n"
    assert [was for was, _ in changes(source, "RemoveStatement")] == [
        "await a.b()",
        "await a",
        "a.b(await a)",
    ]


def test_a_mutant_has_a_name_that_lasts() -> None:
    source = """class Outer:
    def inner(self, a):
        return a == 1

    def other(self, a):
        if a:
            return False
        return False
"""
    operators = {"core/ReplaceFalseWithTrue": ALL_OPERATORS["core/ReplaceFalseWithTrue"]}
    found = mutants_of("module", source, operators=operators)
    assert [(mutant.key, mutant.line) for mutant in found] == [
        (
            Key(
                module="module",
                function="Outer.other",
                operator="core/ReplaceFalseWithTrue",
                was="return False",
                becomes="return True",
                occurrence=occurrence,
            ),
            line,
        )
        for occurrence, line in ((1, 7), (2, 8))
    ]
    assert found[1].code == source[: source.rindex("False")] + "True\n"
    moved = mutants_of("module", f"# More.\n\nx = []\n{source}", operators=operators)
    assert [mutant.key for mutant in moved] == [mutant.key for mutant in found]


def test_words_of_a_mutant_that_changes_several_lines() -> None:
    source = "def f(a):\n    a(\n        1,\n        b='x',\n    )\n"
    assert changes(source, "RemoveStatement") == [("a( 1, b='x', )", "pass")]
    assert changes(source, "RemoveArgument") == [("b='x',", "")]


def test_what_means_the_same_is_no_mutant() -> None:
    source = """
from __future__ import annotations
def f(a: "str" | None, *, b: int = 1) -> "str" | None:
    "What f does."
    c: "str" | None = a
    "What c is."
    return c
async def g(a: "str") -> "str":
    "What g does."
    return a
class A:
    "What A is."
    b: "str"
    "What b is."
"""
    found = changes(source)
    assert found
    words = [becomes for _, becomes in found]
    assert not [each for each in words if "XX" in each]
    assert not [each for each in words if "str" in each and "|" not in each]


def test_a_mutant_is_made_once() -> None:
    source = "def f(a):\n    if a is not None:\n        g()\n    return a in b\n"
    conditions = [becomes for was, becomes in changes(source) if was.startswith("if")]
    # And not `not a is not None` as well.
    assert conditions == ["if a is None:"]
    source = "def f(a):\n    if not a:\n        g()\n"
    conditions = [becomes for was, becomes in changes(source) if was.startswith("if")]
    assert conditions == ["if a:"]


def test_what_does_not_compile_is_no_mutant() -> None:
    # A star of another kind, and a continue that is in no loop.
    assert changes("def f(*a):\n    pass\n") == []
    assert changes("[*a]\n", "core/ReplaceBinaryOperator_Mul_Add") == []


SETTINGS = """
modules = ["calc", "other"]
rate = 90

[[stage]]
name = "fast"
releases = ["1.0", "2.0"]
arguments = ["-k", "{module}"]

[[stage]]
name = "slow"
releases = ["2.0"]
arguments = ["slow"]
requirements = ["hypothesis"]
modules = ["calc"]

[[skip]]
operator = "core/.*"
module = "other"
reason = "it is fine"

[[skip]]
was = ".*words.*"
reason = "words"

[[survivor]]
module = "calc"
function = "f"
operator = "DropOperand"
was = "a and b"
becomes = "a"
reason = "b is always true"
equivalent = true
"""

LISTED = Listed(
    key=Key(module="calc", function="f", operator="DropOperand", was="a and b", becomes="a"),
    reason="b is always true",
    equivalent=True,
)


def test_settings() -> None:
    skips = (
        Skip(operator="core/.*", module="other", reason="it is fine"),
        Skip(was=".*words.*", reason="words"),
    )
    stages = (
        Stage(name="fast", releases=("1.0", "2.0"), arguments=("-k", "{module}")),
        Stage(
            name="slow",
            releases=("2.0",),
            arguments=("slow",),
            requirements=("hypothesis",),
            modules=("calc",),
        ),
    )
    assert load_settings(SETTINGS) == Settings(
        modules=("calc", "other"), rate=90.0, stages=stages, skips=skips, listed=(LISTED,)
    )
    assert [stage.is_for("calc") for stage in stages] == [True, True]
    assert [stage.is_for("other") for stage in stages] == [True, False]


@pytest.mark.parametrize(
    "text",
    [
        "modules =",
        SETTINGS.replace("rate = 90", ""),
        SETTINGS.replace("rate = 90", "rate = 'high'"),
        SETTINGS.replace("rate = 90", "rate = 90\npace = 1"),
        SETTINGS.replace("was = ", "were = "),
        SETTINGS.replace("equivalent = true", ""),
        SETTINGS.replace('releases = ["2.0"]', 'release = "2.0"'),
    ],
)
def test_settings_that_make_no_sense(text: str) -> None:
    with pytest.raises(UserError, match=r"mutants\.toml"):
        load_settings(text)


def test_what_is_skipped_is_not_made() -> None:
    settings = load_settings(SETTINGS)
    source = "def f(a):\n    g('words', 1)\n    g('other', 1)\n    return a == 1\n"

    def made(module: str) -> set[tuple[str, str]]:
        found = settings.mutants_of(module, source, operators=ALL_OPERATORS)
        return {(mutant.key.was, mutant.key.operator.partition("/")[0]) for mutant in found}

    own = {
        ("g('other', 1)", "ReplaceString"),
        ("g('other', 1)", "RemoveStatement"),
        ("return a == 1", "RemoveStatement"),
    }
    assert made("other") == own
    assert made("calc") == {*own, ("g('other', 1)", "core"), ("return a == 1", "core")}


def test_the_settings_of_the_project() -> None:
    settings = load_settings(mutants.SETTINGS.read_text(encoding="utf-8"))
    keys = [each.key for each in settings.listed]
    assert len(keys) == len(set(keys))
    assert {key.module for key in keys} <= set(settings.modules)
    assert all(each.reason.strip() for each in settings.listed)
    assert {module for stage in settings.stages for module in stage.modules} <= set(
        settings.modules
    )
    assert all((ROOT / "shim" / f"{module}.py").is_file() for module in settings.modules)
    for stage in settings.stages:
        files = [each for each in stage.arguments if each.startswith("tests/")]
        named = [each.replace("{module}", name) for each in files for name in stage.modules]
        assert all((ROOT / each).exists() for each in named or files)


def key(module: str = "calc", **fields: Any) -> Key:
    values = {"function": "f", "operator": "DropOperand", "was": "a and b", "becomes": "b"}
    return Key(module=module, **{**values, **fields})


def verdicts(*killers: str | None, module: str = "calc") -> list[Verdict]:
    return [
        Verdict(key=key(module, occurrence=number), killer=killer)
        for number, killer in enumerate(killers, 1)
    ]


def test_the_rate() -> None:
    results = Results((*verdicts("fast", None, "slow", "slow"), *verdicts("fast", module="other")))
    assert results.rate == 80.0
    assert results.of("calc").rate == 75.0
    assert results.of("other").rate == 100.0
    assert results.of("none").rate == 100.0
    assert results.survivors == [key(occurrence=2)]


def test_results_are_kept_as_they_are() -> None:
    results = Results((*verdicts("fast", None), Verdict(key=key("x"), killer="slow", hangs=True)))
    assert load_results(dump_results(results)) == results


def problems(
    found: list[Verdict], *listed: Key, modules: tuple[str, ...] = ("calc",), rate: float = 0
) -> list[str]:
    entries = [Listed(key=each, reason="fine", equivalent=True) for each in listed]
    found_problems = problems_of(Results(tuple(found)), entries, modules=modules, rate=rate)
    return [each.partition("\n")[0] for each in found_problems]


def test_nothing_is_wrong_where_all_survivors_are_listed() -> None:
    assert problems(verdicts("fast", None), key(occurrence=2)) == []
    assert problems(verdicts("fast")) == []


def test_what_can_be_wrong_with_results() -> None:
    unlisted = "survives, and is not listed:"
    assert problems(verdicts(None, "fast", None), key(occurrence=3)) == [unlisted]
    assert problems(verdicts(None), key(occurrence=2)) == [
        unlisted,
        "listed, but there is no such mutant:",
    ]
    assert problems(verdicts("slow"), key()) == ["listed, but killed by slow:"]
    assert problems(verdicts("slow", None), key(occurrence=2), rate=50) == []
    assert problems(verdicts("slow", None), key(occurrence=2), rate=50.1) == [
        "50.0 % are killed, and not 50.1 %"
    ]


def test_what_is_listed_for_other_modules_is_left_alone() -> None:
    assert problems(verdicts("fast"), key("other")) == []
    assert problems(verdicts("fast"), key("other"), modules=("calc", "other")) == [
        "listed, but there is no such mutant:"
    ]


@pytest.mark.parametrize(
    "words", ["plain", "\"a\" 'b'", "a\\b\\n", "naïve → ünïcode", "x = {'a': \"\\u2014\"}"]
)
def test_an_entry_for_the_settings_means_the_same_key(words: str) -> None:
    for occurrence in (1, 2):
        named = key(was=words, becomes=words[::-1], occurrence=occurrence)
        (entry,) = tomli.loads(toml_of(named))["survivor"]
        assert Key(**entry) == named
        assert ("occurrence" in entry) == (occurrence == 2)


def test_the_table() -> None:
    results = Results(
        (
            *verdicts("fast", None, "slow", "slow"),
            Verdict(key=key("other"), killer="fast", hangs=True),
        )
    )
    assert table_of(results, ("calc", "other")).splitlines() == [
        "| module | mutants | killed | of these by a hang | survived | killed, per cent |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| calc | 4 | 3 | 0 | 1 | 75.0 |",
        "| other | 1 | 1 | 1 | 0 | 100.0 |",
        "| all | 5 | 4 | 1 | 1 | 80.0 |",
    ]


def test_the_document() -> None:
    settings = load_settings(SETTINGS)
    listed = Verdict(key=LISTED.key, killer=None)
    text = document(Results((listed, *verdicts("fast", None))), settings)
    assert "| calc | 3 | 1 | 0 | 2 | 33.3 |" in text
    assert "## calc.py\n\n`f`, DropOperand:\n\n```diff\n- a and b\n+ a\n```\n\n" in text
    assert "Equivalent: b is always true." in text
    assert "`f`, DropOperand (2):" in text
    assert "Not listed." in text
    assert "## other.py" not in text
    assert "- operator `core/.*`, module `other`: it is fine." in text
    assert text.endswith("- was `.*words.*`: words.\n")


CALC = """
def area(width, height):
    return width * height

def sign(number):
    while number > 1:
        number = number - 1
    return number

def idle():
    return None
"""

TESTS = """
from shim.calc import area, sign

def test_area():
    assert area(2, 3) == 6

def test_sign():
    assert sign(2) == 1
"""


class SmallProject:
    """A project of one module, with an environment that is this interpreter."""

    def __init__(self, folder: Path) -> None:
        self.stack = ExitStack()
        self.root = folder / "project"
        self.environments = folder / "environments"
        (self.root / "shim").mkdir(parents=True)
        (self.root / "shim" / "__init__.py").write_text("")
        (self.root / "shim" / "calc.py").write_text(CALC)
        (self.root / "tests").mkdir()
        (self.root / "tests" / "test_calc.py").write_text(TESTS)
        (self.root / "tools").mkdir()
        (self.root / "docs").mkdir()
        (self.root / ".cache").mkdir()
        (self.root / ".cache" / "large").write_text("is not copied")
        interpreter = self.environments / "0.24.0" / "bin" / "python"
        interpreter.parent.mkdir(parents=True)
        interpreter.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        interpreter.chmod(0o755)
        self.interpreters = {"0.24.0": interpreter}

    def laboratory(self, folder: Path, *, copies: int = 1, test: str = "test_calc") -> Laboratory:
        stage = Stage(name="tests", releases=("0.24.0",), arguments=(f"tests/{test}.py",))
        folder.mkdir()
        laboratory = Laboratory(self.interpreters, [stage], folder=folder, copies=copies)
        return self.stack.enter_context(laboratory)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallProject]:
    project = SmallProject(tmp_path)
    monkeypatch.setattr(mutant_runs, "ROOT", project.root)
    monkeypatch.setattr(mutant_runs, "TEST_TIMEOUT", 3.0)
    # Its tests need no SDK, and no plugins but one.
    monkeypatch.setattr(mutant_runs, "PRELOADED", ("pytest", "none"))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_timeout")
    monkeypatch.setattr(mutants, "ROOT", project.root)
    monkeypatch.setattr(mutants, "SETTINGS", project.root / "tools" / "mutants.toml")
    monkeypatch.setattr(mutants, "DOCUMENT", project.root / "docs" / "mutants.md")
    monkeypatch.setattr(mutants, "CACHE", project.root / ".cache")
    monkeypatch.setattr(mutants, "LAST_RUN", project.root / ".cache" / "mutants.json")
    with project.stack:
        yield project


def test_mutants_are_tried_in_copies(project: SmallProject, tmp_path: Path) -> None:
    laboratory = project.laboratory(tmp_path / "copies", copies=2)
    laboratory.check(["calc"], report=print)
    operators = {
        name: ALL_OPERATORS[name]
        for name in ("core/ReplaceBinaryOperator_Mul_Add", "RemoveStatement")
    }
    found = list(laboratory.try_all(mutants_of("calc", CALC, operators=operators)))
    killers = {(each.key.was, each.key.becomes, each.killer, each.hangs) for each in found}
    assert killers == {
        ("return width * height", "return width + height", "tests on 0.24.0", False),
        ("return width * height", "pass", "tests on 0.24.0", False),
        ("number = number - 1", "pass", "tests on 0.24.0", True),
        ("return number", "pass", "tests on 0.24.0", False),
        ("return None", "pass", None, False),
    }
    for copy in (tmp_path / "copies").glob("copy-?"):
        assert (copy / "shim" / "calc.py").read_text() == CALC
        assert not (copy / ".cache").exists()
    assert (project.root / "shim" / "calc.py").read_text() == CALC
    assert not list(project.root.rglob("*.pyc"))


def test_mutants_of_one_size_are_told_apart(project: SmallProject, tmp_path: Path) -> None:
    # Python takes a file for the one that it has compiled if size and time are the same.
    laboratory = project.laboratory(tmp_path / "copies")
    chosen = ("core/ReplaceComparisonOperator_Gt_Lt", "core/NumberReplacer")
    operators = {name: ALL_OPERATORS[name] for name in chosen}
    same_size = [
        mutant
        for mutant in mutants_of("calc", CALC.replace("- 1", "-  1"), operators=operators)
        if len(mutant.code) == len(CALC) + 1
    ]
    assert len(same_size) >= 3
    found = {each.key: each.killer for each in laboratory.try_all(same_size)}
    again = {each.key: each.killer for each in laboratory.try_all(same_size[::-1])}
    assert found == again
    assert set(found.values()) == {"tests on 0.24.0"}


def runs(pid: int) -> bool:
    """Tell whether a process is there, and no zombie that waits for its parent."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_a_stage_that_hangs_is_stopped_with_its_children(
    project: SmallProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutant_runs, "TEST_TIMEOUT", 300.0)
    monkeypatch.setattr(mutant_runs, "STAGE_TIMEOUT", 5.0)
    pipe = tmp_path / "pids"
    (project.root / "tests" / "test_calc.py").write_text(
        "import os, subprocess, sys\nfrom shim.calc import area\ndef test_area():\n"
        "    if area(2, 3) == 5:\n"
        "        child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'])\n"
        f"        open({str(pipe)!r}, 'w').write(str(child.pid))\n"
        "        child.wait()\n"
    )
    laboratory = project.laboratory(tmp_path / "copies")
    name = "core/ReplaceBinaryOperator_Mul_Add"
    (mutant,) = mutants_of("calc", CALC, operators={name: ALL_OPERATORS[name]})
    (verdict,) = laboratory.try_all([mutant])
    assert verdict == Verdict(key=mutant.key, killer="tests on 0.24.0", hangs=True)
    child = int(pipe.read_text())
    # A process that has been killed is there for a moment.
    deadline = time.monotonic() + 30
    while runs(child):
        assert time.monotonic() < deadline, "the child goes on"
        time.sleep(0.05)


def test_tests_that_fail_by_themselves_say_nothing(project: SmallProject, tmp_path: Path) -> None:
    (project.root / "tests" / "test_calc.py").write_text("def test_it():\n    assert 1 == 2\n")
    laboratory = project.laboratory(tmp_path / "copies")
    with pytest.raises(UserError, match=r"(?s)tests on 0\.24\.0 fails.*assert 1 == 2"):
        laboratory.check(["calc"], report=print)
    with pytest.raises(UserError, match="fails without a mutant"):
        project.laboratory(tmp_path / "none", test="test_none").check(["calc"], report=print)


def test_tests_of_something_else_say_nothing(project: SmallProject, tmp_path: Path) -> None:
    (project.root / "tests" / "test_calc.py").write_text("def test_it():\n    pass\n")
    laboratory = project.laboratory(tmp_path / "copies")
    with pytest.raises(UserError, match=r"tests on 0\.24\.0 passes without the package"):
        laboratory.check(["calc"], report=print)


def test_tests_are_run_as_pytest_runs_them(project: SmallProject, tmp_path: Path) -> None:
    (project.root / "tests" / "test_calc.py").write_text(
        "import os, sys\nfrom pathlib import Path\nimport shim\n"
        "def test_it():\n"
        "    assert sys.path[0] == str(Path(__file__).parent)\n"
        "    assert sys.path[1] == os.getcwd() == str(Path(__file__).parents[1])\n"
        "    assert os.read(0, 1) == b''\n"
        "    assert os.environ['OPENAI_AGENTS_SHIM'] == 'strict'\n"
        "    assert 'OPENAI_AGENTS_SHIM_SKIP' not in os.environ\n"
        "    os.environ['LEFT_BEHIND'] = 'yes'\n"
        "def test_another():\n"
        "    sys.stdout.write('words on stdout')\n"
        "    assert 'shim.calc' not in sys.modules\n"
        "    import shim.calc\n"
    )
    laboratory = project.laboratory(tmp_path / "copies")
    for _ in range(2):
        laboratory.check(["calc"], report=print)


def test_a_process_that_runs_tests_may_end(project: SmallProject, tmp_path: Path) -> None:
    project.interpreters["0.24.0"].write_text("#!/bin/sh\n")
    laboratory = project.laboratory(tmp_path / "copies")
    with pytest.raises(UserError, match="a process that runs tests has ended"):
        laboratory.check(["calc"], report=print)


def test_environments_that_are_there_are_used(
    project: SmallProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[str, object]] = []

    def install(name: str, release: object, *, folder: Path, **options: object) -> Path:
        made.append((name, options))
        (folder / "bin").mkdir(parents=True)
        return folder / "bin" / "python"

    monkeypatch.setattr(mutant_runs, "install", install)
    stages = [
        Stage(
            name="a",
            releases=("0.24.0", "0.3.0"),
            arguments=(),
            requirements=("rich", "hypothesis"),
        ),
        Stage(name="b", releases=("0.3.0",), arguments=(), requirements=("rich", "psutil")),
    ]
    table: dict[str, Any] = {"0.24.0": {}, "0.3.0": {}}
    found = install_environments(stages, table, folder=project.environments, python="3.11")
    assert found == {
        name: project.environments / name / "bin" / "python" for name in ("0.24.0", "0.3.0")
    }
    options = {"python": "3.11", "requirements": ["hypothesis", "psutil", "rich"]}
    assert made == [("0.3.0", options)]
    with pytest.raises(UserError, match=r"no supported release: '0\.4\.0'"):
        install_environments(
            [Stage(name="c", releases=("0.4.0",), arguments=())],
            table,
            folder=project.environments,
            python="3.11",
        )


SMALL_SETTINGS = """
modules = ["calc"]
rate = 50

[[stage]]
name = "tests"
releases = ["0.24.0"]
arguments = ["tests/test_{module}.py"]

[[skip]]
operator = "(?!RemoveStatement).*"
reason = "it takes time"
"""
SURVIVOR = """
[[survivor]]
module = "calc"
function = "idle"
operator = "RemoveStatement"
was = "return None"
becomes = "pass"
equivalent = true
reason = "a function returns None by itself"
"""


def run(project: SmallProject, settings: str, *arguments: str) -> int:
    mutants.SETTINGS.write_text(settings)
    return mutants.main(["--environments", str(project.environments), "--jobs", "2", *arguments])


def test_a_run_with_a_survivor_that_is_not_listed(
    project: SmallProject, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project, SMALL_SETTINGS) == 1
    output = capsys.readouterr().out
    assert "4 mutants of calc" in output
    assert "survives: calc.idle, RemoveStatement (1): return None -> pass" in output
    assert 'survives, and is not listed:\n[[survivor]]\nmodule = "calc"' in output
    assert "| all | 4 | 3 | 1 | 1 | 75.0 |" in output
    assert "1 problems" in output
    assert "Not listed." in mutants.DOCUMENT.read_text()


def test_a_run_with_a_survivor_that_is_listed(
    project: SmallProject, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project, SMALL_SETTINGS + SURVIVOR) == 0
    output = capsys.readouterr().out
    assert "0 problems" in output
    assert "written to docs/mutants.md" in output
    assert "Equivalent: a function returns None by itself." in mutants.DOCUMENT.read_text()


def test_too_many_survivors(project: SmallProject, capsys: pytest.CaptureFixture[str]) -> None:
    settings = SMALL_SETTINGS.replace("rate = 50", "rate = 80")
    assert run(project, settings + SURVIVOR) == 1
    assert "75.0 % are killed, and not 80 %" in capsys.readouterr().out


def test_only_survivors_are_tried_again(
    project: SmallProject, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project, SMALL_SETTINGS + SURVIVOR) == 0
    # Nothing would be killed now.
    (project.root / "tests" / "test_calc.py").write_text("import shim\n\ndef test_it(): pass\n")
    assert run(project, SMALL_SETTINGS + SURVIVOR, "--only-survivors") == 0
    assert "[   1/1] survives" in capsys.readouterr().out
    assert run(project, SMALL_SETTINGS + SURVIVOR) == 1
    assert "[   4/4] survives" in capsys.readouterr().out


def test_a_run_that_breaks_off_keeps_what_it_has_found(
    project: SmallProject, tmp_path: Path
) -> None:
    class BreaksOff(Laboratory):
        def try_all(self, mutants: Any) -> Any:
            yield Verdict(key=mutants[0].key, killer="fast")
            raise KeyboardInterrupt

    other = Verdict(key=key("other"), killer=None)
    mutants.LAST_RUN.write_text(dump_results(Results((other,))))
    laboratory = BreaksOff({}, [], folder=tmp_path / "copies", copies=0)
    made = mutants_of("calc", CALC)
    with pytest.raises(KeyboardInterrupt):
        mutants.run(made, laboratory, killed={}, console=Console())
    assert mutants.last_run().verdicts == (other, Verdict(key=made[0].key, killer="fast"))


def test_the_last_run_may_be_gone(project: SmallProject) -> None:
    assert mutants.last_run() == Results(())
    mutants.LAST_RUN.write_text("[1]")
    assert mutants.last_run() == Results(())


@pytest.mark.parametrize(
    ("settings", "arguments", "words"),
    [
        (SMALL_SETTINGS, ["--modules", "calc,none"], "mutants.toml does not name none"),
        ("modules = ", [], "cannot read mutants.toml"),
        (SMALL_SETTINGS.replace("0.24.0", "9.9"), [], "no supported release: '9.9'"),
    ],
)
def test_what_cannot_be_run(
    project: SmallProject,
    capsys: pytest.CaptureFixture[str],
    settings: str,
    arguments: list[str],
    words: str,
) -> None:
    assert run(project, settings, *arguments) == 1
    assert f"error: {words}" in capsys.readouterr().err
