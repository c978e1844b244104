"""The table of frameworks in the docs: which modules it is about, its rows, and the programs of its pages."""

import ast
import re
from pathlib import Path
from typing import Any

from tests.integrations.screen_table import ADAPTERS, PAGES, replace_row

TABLE = PAGES / "frameworks.md"
SERVERS_TABLE = PAGES / "servers.md"
REQUEST_MODULE = "thinkaloud.integrations.request"
_ROW = re.compile(r"^\| \[[^]]+\]\((\w+)\.md\) \|.*\n", re.MULTILINE)
_COLUMNS = ("without whole", "without streamed", "with whole", "with streamed")


def adapters(folder: Path = ADAPTERS) -> list[str]:
    """Return the names of the frameworks that have a module: those that ask a model, so import `request`.

    Screens and telemetry are in the same folder and only show or report a turn.
    """
    return sorted(path.stem for path in folder.glob("*.py") if asks_models(path.read_text("utf-8")))


def asks_models(source: str) -> bool:
    """Return whether a module imports what all models for frameworks ask through."""
    return any(REQUEST_MODULE in _imported_modules(node) for node in ast.walk(ast.parse(source)))


def _imported_modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        return [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return []


def rows(table: Path = TABLE) -> dict[str, str]:
    """Return the rows of a table by the name of their framework."""
    return {match[1]: match[0] for match in _ROW.finditer(table.read_text("utf-8"))}


def make_row(name: str, measured: dict[str, Any], date: str) -> str:
    """Return the row for what was measured."""
    title = (PAGES / f"{name}.md").read_text("utf-8").splitlines()[0].removeprefix("# ")
    versions = ", ".join(f"{package} {number}" for package, number in measured["versions"].items())
    cells = [f"[{title}]({name}.md)", versions, date]
    for part in ("cases", "loops"):
        for column in _COLUMNS:
            right = measured["results"][column][part]
            cells.append(f"{sum(right)} of {len(right)}")
    return f"| {' | '.join(cells)} |\n"


def write_row(name: str, row: str, table: Path = TABLE) -> None:
    """Replace the row of a framework, or add it below the others."""
    replace_row(table, rows(table).get(name), row)
