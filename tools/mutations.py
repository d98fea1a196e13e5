"""The mutants of a module: copies of its source with one small slip each.

The slips are those of Cosmic Ray's operators, and of a few that it lacks. What is a slip in words
only (an annotation, a docstring), what does not compile, and what another operator makes as well
is no mutant.
"""

from __future__ import annotations

import ast
import difflib
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from cosmic_ray.ast import ast_nodes, get_ast  # type: ignore[import-untyped]
from cosmic_ray.mutating import mutate_code  # type: ignore[import-untyped]
from cosmic_ray.operators.operator import Example  # type: ignore[import-untyped]
from cosmic_ray.operators.provider import OperatorProvider  # type: ignore[import-untyped]

Position = tuple[tuple[int, int], tuple[int, int]]


class Operator(Protocol):
    """What Cosmic Ray asks of an operator.

    A node is one of parso's syntax tree, which keeps every blank and comment.
    """

    def mutation_positions(self, node: Any) -> Iterable[Position]:
        """Yield where the operator can change ``node``, once for each change."""

    def mutate(self, node: Any, index: int) -> Any:
        """Return ``node`` with the change of that index."""


@dataclass(frozen=True, kw_only=True)
class Key:
    """What a mutant is known by, whatever moves around it.

    Attributes:
        module: The module's name without its package.
        function: The qualified name of the function or class that the slip is in; may be empty.
        operator: The name of what made the slip, as in `ALL_OPERATORS`.
        was: The lines that are different, as they are in the source.
        becomes: The same as the mutant has them.
        occurrence: Which one it is, from 1, of those with all else the same.
    """

    module: str
    function: str
    operator: str
    was: str
    becomes: str
    occurrence: int = 1


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A module's source with one slip, which is in line ``line`` of the original."""

    key: Key
    line: int
    code: str


class RemoveStatement:
    """Leave out a statement of a function that does something but bind a name."""

    _WITH_EFFECT = ("return_stmt", "raise_stmt", "del_stmt", "assert_stmt", "atom_expr", "await")
    _KEYWORDS = ("return", "continue", "break")

    examples: ClassVar = (
        Example("def f():\n    g()\n", "def f():\n    pass\n"),
        Example("def f(x):\n    x.y = 1\n", "def f(x):\n    pass\n"),
        Example("def f(x):\n    x = g(x)\n    return x\n", "def f(x):\n    pass\n    return x\n"),
        Example("def f(x):\n    # Why.\n    return x\n", "def f(x):\n    # Why.\n    pass\n"),
    )

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        if node.type == "simple_stmt" and self._has_effect(node.children[0]):
            yield node.children[0].start_pos, node.children[0].end_pos

    def _has_effect(self, statement: Any) -> bool:
        function = _enclosing_function(statement)
        if function is None:
            return False
        if statement.type == "keyword":
            return statement.value in self._KEYWORDS
        if statement.type != "expr_stmt":
            return statement.type in self._WITH_EFFECT
        target = statement.children[0]
        # Without its first binding a name is unknown, as any test notices.
        return target.type == "atom_expr" or (
            target.type == "name" and _is_bound_before(target, function)
        )

    def mutate(self, node: Any, index: int) -> Any:
        prefix = node.children[0].get_first_leaf().prefix
        node.children[0] = get_ast(f"{prefix}pass")
        return node


def _enclosing_function(node: Any) -> Any:
    while node is not None and node.type != "funcdef":
        node = node.parent
    return node


def _is_bound_before(name: Any, function: Any) -> bool:
    return any(
        leaf.type == "name"
        and leaf.value == name.value
        and leaf.start_pos < name.start_pos
        and leaf.is_definition()
        for leaf in ast_nodes(function)
    )


class DropOperand:
    """Leave out one operand of ``and`` or ``or``."""

    examples: ClassVar = (
        Example("x = a and b\n", "x = b\n"),
        Example("x = a and b or c\n", "x = c\n"),
        Example("x = a or b\n", "x = a\n", occurrence=1),
    )

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        if node.type in ("and_test", "or_test"):
            for operand in node.children[::2]:
                yield operand.start_pos, operand.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        prefix = node.get_first_leaf().prefix
        del node.children[max(0, 2 * index - 1) : max(2, 2 * index + 1)]
        node.get_first_leaf().prefix = prefix
        return node


class SwapMembership:
    """Swap ``in`` and ``not in``."""

    examples: ClassVar = (
        Example("x = a in b\n", "x = a not in b\n"),
        Example("x = a not in b\n", "x = a in b\n"),
    )
    _SWAPPED: ClassVar = {"in": " not in", "not in": " in"}

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        for operator in self._operators(node):
            yield operator.start_pos, operator.end_pos

    def _operators(self, node: Any) -> list[Any]:
        if node.type != "comparison":
            return []
        return [each for each in node.children[1::2] if _words(each) in self._SWAPPED]

    def mutate(self, node: Any, index: int) -> Any:
        operator = self._operators(node)[index]
        position = node.children.index(operator)
        node.children[position] = get_ast(self._SWAPPED[_words(operator)])
        return node


class NegateFilter:
    """Negate the condition of a comprehension."""

    examples: ClassVar = (Example("x = [a for a in b if a]\n", "x = [a for a in b if not ( a)]\n"),)

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        if node.type == "comp_if":
            yield node.children[1].start_pos, node.children[1].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        node.children[1] = get_ast(f" not ({node.children[1].get_code()})")
        return node


class ReplaceString:
    """Make a string another one."""

    examples: ClassVar = (
        Example("x = ''\n", "x = 'XXXX'\n"),
        Example("x = 'a'\n", "x = 'XXaXX'\n"),
        Example("x('a' \"b\")\n", "x('a' 'XXbXX')\n", occurrence=1),
    )

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        if node.type == "string" and isinstance(ast.literal_eval(node.value), str):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        node.value = repr(f"XX{ast.literal_eval(node.value)}XX")
        return node


class RemoveArgument:
    """Leave out a keyword argument."""

    examples: ClassVar = (
        Example("f(a=1)\n", "f()\n"),
        Example("f(1, a=2, b=3)\n", "f(1, b=3)\n"),
        Example("f(1, a=2)\n", "f(1)\n"),
        Example("f(\n    a=1,\n    b=2,\n)\n", "f(\n    a=1,\n)\n", occurrence=1),
    )

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        for argument in self._arguments(node):
            yield argument.start_pos, argument.end_pos

    def _arguments(self, node: Any) -> list[Any]:
        if node.type not in ("arglist", "trailer"):
            return []
        return [
            each
            for each in node.children
            if each.type == "argument" and _words(each.children[1]) == "="
        ]

    def mutate(self, node: Any, index: int) -> Any:
        argument = self._arguments(node)[index]
        first = node.children.index(argument)
        last = first
        if node.type == "arglist":
            # With the comma that follows it, or else with the one before it.
            if first + 1 < len(node.children):
                last += 1
            else:
                first -= 1
        del node.children[first : last + 1]
        return node


def _words(node: Any) -> str:
    return " ".join(node.get_code().split())


def _all_operators() -> dict[str, Operator]:
    provider = OperatorProvider()
    core = {f"core/{name}": provider[name] for name in provider}
    own: tuple[type[Operator], ...] = (
        RemoveStatement,
        DropOperand,
        SwapMembership,
        NegateFilter,
        ReplaceString,
        RemoveArgument,
    )
    return {
        # Those that take arguments are for variables that one names.
        **{name: operator() for name, operator in core.items() if not operator.arguments()},
        **{operator.__name__: operator() for operator in own},
    }


ALL_OPERATORS: Mapping[str, Operator] = _all_operators()
"""All operators by their names; those of Cosmic Ray begin with ``core/``."""


def mutants_of(
    module: str, source: str, *, operators: Mapping[str, Operator] = ALL_OPERATORS
) -> list[Mutant]:
    """Return the mutants that some operators make of a module, in the order of its lines."""
    tree = get_ast(source)
    seen = {_meaning(source)}
    numbers: Counter[Key] = Counter()
    mutants = []
    for name, operator in operators.items():
        nodes = [
            (node, position)
            for node in ast_nodes(tree)
            for position in operator.mutation_positions(node)
        ]
        for occurrence, (node, (start, _)) in enumerate(nodes):
            code = mutate_code(source, operator, occurrence)
            meaning = _meaning(code)
            if meaning is None or meaning in seen:
                continue
            seen.add(meaning)
            key = _key(module, _function(node), name, source, code)
            numbers[key] += 1
            key = replace(key, occurrence=numbers[key])
            mutants.append(Mutant(key=key, line=start[0], code=code))
    return sorted(mutants, key=lambda mutant: mutant.line)


def _meaning(source: str) -> str | None:
    """Return what the source means to the interpreter; None if it does not compile.

    Two that are different in annotations or docstrings alone mean the same: in a module that
    imports ``annotations`` from ``__future__``, nothing evaluates the former. So do the two ways
    to negate a comparison.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            compile(source, "mutant", "exec")
    except SyntaxError:
        return None
    return ast.dump(_Plain().visit(ast.parse(source)))


class _Plain(ast.NodeTransformer):
    """Takes annotations and docstrings out of a syntax tree, and resolves ``not`` where it can."""

    _OPPOSITE: ClassVar[dict[type[ast.cmpop], type[ast.cmpop]]] = {
        ast.Is: ast.IsNot,
        ast.IsNot: ast.Is,
        ast.Eq: ast.NotEq,
        ast.NotEq: ast.Eq,
        ast.In: ast.NotIn,
        ast.NotIn: ast.In,
    }

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        inner = node.operand
        if not isinstance(node.op, ast.Not):
            return node
        if isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.Not):
            return inner.operand
        if isinstance(inner, ast.Compare) and len(inner.ops) == 1:
            opposite = self._OPPOSITE.get(type(inner.ops[0]))
            return (
                node
                if opposite is None
                else ast.Compare(inner.left, [opposite()], inner.comparators)
            )
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_docstring = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_docstring else self.generic_visit(node)


def _function(node: Any) -> str:
    names: list[str] = []
    while node is not None:
        if node.type in ("funcdef", "classdef"):
            names.insert(0, node.name.value)
        node = node.parent
    return ".".join(names)


def _key(module: str, function: str, operator: str, source: str, code: str) -> Key:
    before, after = source.splitlines(), code.splitlines()
    changes = [
        (before[a:b], after[c:d])
        for tag, a, b, c, d in difflib.SequenceMatcher(a=before, b=after).get_opcodes()
        if tag != "equal"
    ]
    was, becomes = (
        " ".join(" ".join(line for change in changes for line in change[side]).split())
        for side in (0, 1)
    )
    return Key(module=module, function=function, operator=operator, was=was, becomes=becomes)
