"""The shape budget: how long a function or a module may grow, and which names say nothing."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULES = sorted(path for room in ("src", "benchmarks", "examples") for path in (ROOT / room).rglob("*.py"))

FUNCTION_LINES = 60
MODULE_LINES = 400
PARAMETERS = 6
DOCSTRING_LINES = 8
EMPTY_NAME = re.compile(r"(?:Manager|Helper|Util|Impl)s?$|(?:^|_)(?:manager|helper|util|impl)s?$")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def long_functions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, Function):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES:
                yield node.lineno, f"{node.name} has {lines} lines; the limit is {FUNCTION_LINES}"


def wide_functions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, Function):
            parameters = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            count = len(parameters) - (parameters[:1] in (["self"], ["cls"]))
            if count > PARAMETERS:
                yield node.lineno, f"{node.name} takes {count} parameters; the limit is {PARAMETERS}"


def long_modules(source: str) -> Iterator[tuple[int, str]]:
    lines = len(source.splitlines())
    if lines > MODULE_LINES:
        yield lines, f"the module has {lines} lines; the limit is {MODULE_LINES}"


def docstring_faults(tree: ast.Module) -> Iterator[tuple[int, str]]:
    lines = len((ast.get_docstring(tree) or "").splitlines())
    if not 1 <= lines <= DOCSTRING_LINES:
        yield 1, f"the module's docstring has {lines} lines; it needs 1 to {DOCSTRING_LINES}"


def empty_names(tree: ast.Module, stem: str) -> Iterator[tuple[int, str]]:
    named = [(node.lineno, node.name) for node in ast.walk(tree) if isinstance(node, Function | ast.ClassDef)]
    for line, name in [(1, stem), *named]:
        if EMPTY_NAME.search(name):
            yield line, f"{name} says nothing: name it for what it does (no Manager, Helper, Util, Impl)"


def faults(source: str, stem: str) -> list[tuple[int, str]]:
    tree = ast.parse(source)
    return [
        *long_functions(tree),
        *wide_functions(tree),
        *long_modules(source),
        *docstring_faults(tree),
        *empty_names(tree, stem),
    ]


def test_every_module_keeps_to_the_budget() -> None:
    assert MODULES, "no module was found: the budget was checked on nothing"
    violations = []
    for path in MODULES:
        stem = path.parent.name if path.stem == "__init__" else path.stem
        place = path.relative_to(ROOT)
        violations += [f"{place}:{line}: {fault}" for line, fault in faults(path.read_text("utf-8"), stem)]
    assert not violations, "over the shape budget:\n" + "\n".join(violations)


def test_the_budget_sees_what_is_too_large() -> None:
    body = "\n".join(["    pass"] * 60)
    assert faults(f'"""A module."""\ndef long():\n{body}\n', "reader") == [
        (2, "long has 61 lines; the limit is 60")
    ]
    assert faults('"""A module."""\ndef wide(self, a, b, c, *, d, e, f): ...\n', "reader") == []
    assert faults('"""A module."""\nasync def wide(a, b, c, d, e, *, f, g): ...\n', "reader") == [
        (2, "wide takes 7 parameters; the limit is 6")
    ]
    assert [line for line, _ in faults('"""A module."""\n' + "\n" * 400, "reader")] == [401]


def test_the_budget_sees_what_is_unsaid() -> None:
    assert [fault for _, fault in faults("", "reader")] == [
        "the module's docstring has 0 lines; it needs 1 to 8"
    ]
    assert len(faults('"""One.\n' + "\nmore" * 8 + '\n"""\n', "reader")) == 1
    statement = '"""A module."""\nclass TurnManager: ...\ndef text_utils(): ...\nclass Utility: ...\n'
    assert [line for line, _ in faults(statement, "io_helpers")] == [1, 2, 3]
