"""The walk through the code in CONTRIBUTING names files, classes and functions that exist."""

import ast
import re
from pathlib import Path

import pytest
from tests.guides.guide import ROOT

PACKAGE = ROOT / "src" / "thinkaloud"
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
WALK = re.findall(
    r"^\d+\. .*", PAGE.partition("## A walk through the code")[2].partition("\n## ")[0], re.MULTILINE
)
MAX_STOPS = 12
FILE_AND_NAME = re.compile(r"`([\w/.-]+\.(?:py|ts))` `([\w.]+)`")
PLACES = [place for stop in WALK for place in FILE_AND_NAME.findall(stop)]


def python_names(path: Path) -> set[str]:
    """The functions of a module, and its methods as `Class.method`."""
    names: set[str] = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            functions = [
                item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
            ]
            names |= {f"{node.name}.{function.name}" for function in functions}
    return names


def typescript_names(path: Path) -> set[str]:
    """The same of a TypeScript module; a method belongs to the class that was declared last before it."""
    names: set[str] = set()
    owner = ""
    for line in path.read_text("utf-8").splitlines():
        if declared := re.match(r"(?:export )?(?:abstract )?class (\w+)", line):
            owner = declared[1]
        elif function := re.match(r"(?:export )?(?:async )?function (\w+)", line):
            names.add(function[1])
        elif method := re.match(r"  (?:(?:private|protected|override|async|static) )*#?(\w+)\(", line):
            names.add(f"{owner}.{method[1]}")
    return names


def test_walk_is_short_and_every_stop_names_its_place() -> None:
    assert 1 <= len(WALK) <= MAX_STOPS
    assert [stop for stop in WALK if not FILE_AND_NAME.search(stop)] == []


@pytest.mark.parametrize(("file", "name"), PLACES, ids=str)
def test_walk_stop_exists(file: str, name: str) -> None:
    path = ROOT / file if file.startswith("web/") else PACKAGE / file
    assert path.is_file(), f"CONTRIBUTING.md names {file}, which is not there"
    names = python_names(path) if path.suffix == ".py" else typescript_names(path)
    assert name in names, f"CONTRIBUTING.md names {name} in {file}, which has {', '.join(sorted(names))}"


def test_boxes_in_contributing_are_those_that_exist() -> None:
    existing = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    existing |= {path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")}
    table = PAGE.partition("| boxes in `src/thinkaloud` |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines()[2:]]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == existing
