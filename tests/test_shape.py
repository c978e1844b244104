"""Limits on the shape of the code: sizes of functions, modules and folders, and names that say too little."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "thinkaloud"
MODULES = sorted(
    path for folder in ("src", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")
)
WEB_MODULES = sorted(path for folder in ("src", "page") for path in (ROOT / "web" / folder).rglob("*.ts"))

FUNCTION_LINES = 60
MODULE_LINES = 600
LEAST_MODULE_LINES = 40
FOLDER_MODULES = 25
PARAMETERS = 6
DOCSTRING_LINES = 8
EMPTY_NAME = re.compile(r"(?:Manager|Helper|Util|Impl)s?$|(?:^|_)(?:manager|helper|util|impl)s?$")
VAGUE_VARIABLES = {"told", "said", "came", "way"}
"""Words that could hold anything. The field `said` of events holds the provider's own word."""

NOUNS_IN_ING = {
    "routing": "the choice of a route",
    "sampling": "how a model draws its next token",
    "thinking": "what the product is about",
    "timing": "the times of a turn",
    "tracing": "distributed tracing",
}
"""Names of modules that end in -ing and are nouns; all others are gerunds."""

REPEATED_CONSTANTS = {
    "BINDING_BETA": "a simulator states by itself what its provider demands",
    "EFFORTS_TO_HIGH": "each simulator states by itself what its provider accepts",
    "MAX_NUMBER": "the numbers of a puzzle and of a made-up value have nothing in common",
    "TABLE": "the SQL of each database stands beside the name of the table",
}
"""Constants that may stand in two modules with the same value, and why."""
PARALLEL_PACKAGES = {"dialects", "integrations", "simulators"}
"""Packages whose modules have the same parts on purpose: every dialect has a `Reader`."""

SMALL_ON_PURPOSE = {"migrations", "locales"}
"""Folders of small modules, and all below: one change of the tables each, one language each."""

ADAPTERS = {"importers", "simulators", "surfaces"}
"""Boxes with one module for each format, provider or surface, which is as small as that is."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def long_functions(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, Function):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES:
                yield node.lineno, f"{node.name} has {lines} lines; the limit is {FUNCTION_LINES}"


def wide_functions(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
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


def empty_names(nodes: list[ast.AST], stem: str) -> Iterator[tuple[int, str]]:
    named = [(node.lineno, node.name) for node in nodes if isinstance(node, Function | ast.ClassDef)]
    for line, name in [(1, stem), *named]:
        if EMPTY_NAME.search(name):
            yield line, f"{name} says nothing: name it for what it does (no Manager, Helper, Util, Impl)"


def gerund_modules(stem: str) -> Iterator[tuple[int, str]]:
    if stem.endswith("ing") and stem.rpartition("_")[2] not in NOUNS_IN_ING:
        yield 1, f"the module {stem} is named by a gerund: use a noun or a plain verb"


def vague_variables(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    fields = {
        statement.target
        for node in nodes
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
    }
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) if node not in fields:
                assigned = name
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.alias(asname=str(name)):
                assigned = name
            case _:
                continue
        if assigned.strip("_") in VAGUE_VARIABLES:
            yield node.lineno, f"{assigned} could be anything: name it after what it holds"


def faults(source: str, stem: str) -> list[tuple[int, str]]:
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))  # once: it takes most of the time
    return [
        *long_functions(nodes),
        *wide_functions(nodes),
        *long_modules(source),
        *docstring_faults(tree),
        *empty_names(nodes, stem),
        *gerund_modules(stem),
        *vague_variables(nodes),
    ]


def public_classes(path: Path) -> list[str]:
    classes = [
        node.name for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.ClassDef)
    ]
    return [name for name in classes if not name.startswith("_")]


def source_modules() -> list[Path]:
    """Return the modules of the product; those that only name or start a package are none."""
    return [path for path in sorted(SOURCE.rglob("*.py")) if not path.stem.startswith("__")]


def multiline_conditionals(source: str) -> list[int]:
    if " else " not in source:  # parsing takes most of the time
        return []
    nodes = ast.walk(ast.parse(source))
    return [node.lineno for node in nodes if isinstance(node, ast.IfExp) and node.end_lineno != node.lineno]


def lines_of(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the name, without its underscore, and the value of each constant whose value says something."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if value is None or not is_literal(value) or is_trivial(value):
            continue
        for target in targets:
            if isinstance(target, ast.Name) and target.id.isupper():
                yield target.id.lstrip("_"), ast.unparse(value)


def is_literal(value: ast.expr) -> bool:
    names = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
    return not any(isinstance(node, names) for node in ast.walk(value))


def is_trivial(value: ast.expr) -> bool:
    """Return whether a value is too small to be a rule: nothing, 0, 1 or a mark of one or two characters."""
    if not isinstance(value, ast.Constant):
        return False
    content = value.value
    return content in (None, True, False, 0, 1) or (isinstance(content, str | bytes) and len(content) <= 2)


def test_every_module_is_within_the_limits() -> None:
    assert MODULES, "no module was found, so nothing was checked"
    violations = []
    for path in MODULES:
        stem = path.parent.name if path.stem == "__init__" else path.stem
        place = path.relative_to(ROOT)
        violations += [f"{place}:{line}: {fault}" for line, fault in faults(path.read_text("utf-8"), stem)]
    assert not violations, "over the limits:\n" + "\n".join(violations)


def test_every_web_module_is_within_the_limits() -> None:
    assert WEB_MODULES, "no module was found, so nothing was checked"
    sizes = {path.relative_to(ROOT).as_posix(): lines_of(path) for path in WEB_MODULES}
    assert {name: lines for name, lines in sizes.items() if lines > MODULE_LINES} == {}


def test_no_folder_has_too_many_modules() -> None:
    folders = Counter(path.parent.relative_to(SOURCE).as_posix() for path in source_modules())
    assert {folder: count for folder, count in folders.items() if count > FOLDER_MODULES} == {}


def test_no_module_is_too_small_for_a_subject() -> None:
    small = set()
    for path in source_modules():
        place = path.relative_to(SOURCE)
        exempt = SMALL_ON_PURPOSE & set(place.parts) or place.parent.as_posix() in ADAPTERS
        if not exempt and lines_of(path) < LEAST_MODULE_LINES:
            small.add(place.as_posix())
    assert small == set(), "under 40 lines: join each with the module whose part it is"


def test_conditional_expressions_fit_on_a_line() -> None:
    places = []
    for path in sorted(SOURCE.rglob("*.py")):
        lines = multiline_conditionals(path.read_text("utf-8"))
        places += [f"{path.relative_to(SOURCE)}:{line}" for line in lines]
    assert places == [], "write an `if` statement"


def test_public_class_names_are_unique() -> None:
    modules: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        if not set(place.parts) & PARALLEL_PACKAGES:
            for name in public_classes(path):
                modules[name].append(place.as_posix())
    assert {name: places for name, places in modules.items() if len(places) > 1} == {}


def test_no_constant_stands_twice() -> None:
    modules: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        for constant in constants(ast.parse(path.read_text("utf-8"))):
            modules[constant].append(str(path.relative_to(SOURCE)))
    repeated = {name: paths for (name, _), paths in modules.items() if len(paths) > 1}
    assert {name: paths for name, paths in repeated.items() if name not in REPEATED_CONSTANTS} == {}
    assert set(REPEATED_CONSTANTS) <= set(repeated), "an exception that is no longer needed"


def test_constants_are_compared_by_name_and_value() -> None:
    tree = ast.parse(
        '_SIZE = 64 * 1024\nSIZE: int = 64 * 1024\nDASH = "-"\nONE = 1.0\nOTHER = SIZE\nname = 77'
    )
    assert [*constants(tree)] == [("SIZE", "64 * 1024"), ("SIZE", "64 * 1024")]


def test_size_limits_find_what_is_too_large() -> None:
    body = "\n".join(["    pass"] * 60)
    assert faults(f'"""A module."""\ndef long():\n{body}\n', "reader") == [
        (2, "long has 61 lines; the limit is 60")
    ]
    assert faults('"""A module."""\ndef wide(self, a, b, c, *, d, e, f): ...\n', "reader") == []
    assert faults('"""A module."""\nasync def wide(a, b, c, d, e, *, f, g): ...\n', "reader") == [
        (2, "wide takes 7 parameters; the limit is 6")
    ]
    assert [line for line, _ in faults('"""A module."""\n' + "\n" * MODULE_LINES, "reader")] == [601]


def test_multiline_conditionals_are_found() -> None:
    assert multiline_conditionals("x = (\n    1\n    if y\n    else 2\n)\n") == [2]
    assert multiline_conditionals("x = 1 if y else 2\nif x:\n    y = 1\nelse:\n    y = 2\n") == []


def test_name_rules_find_what_says_too_little() -> None:
    assert [fault for _, fault in faults("", "reader")] == [
        "the module's docstring has 0 lines; it needs 1 to 8"
    ]
    assert len(faults('"""One.\n' + "\nmore" * 8 + '\n"""\n', "reader")) == 1
    empty = '"""A module."""\nclass TurnManager: ...\ndef text_utils(): ...\nclass Utility: ...\n'
    assert [line for line, _ in faults(empty, "io_helpers")] == [1, 2, 3]
    assert [line for line, _ in faults('"""A module."""\n', "retrying")] == [1]
    assert faults('"""A module."""\n', "tracing") == []
    vague = '"""A module."""\ntold = 1\ndef f(said): ...\nself._came = 2\nfor way in (): ...\n'
    assert sorted(line for line, _ in faults(vague, "reader")) == [2, 3, 4, 5]
    assert faults('"""A module."""\nclass TurnEnded:\n    said: str = ""\n', "reader") == []
