"""The table of frameworks in the docs: which modules it is about, its rows, and the programs of its pages."""

import re
from typing import Any

from tests.integrations.screen_table import ADAPTERS, PAGES, SERVED_MODULES, screen_modules

TABLE = PAGES / "frameworks.md"
COMMON_MODULES = ("__init__", "chunks", "element", "request")
_PROGRAM = re.compile(r"```python\n(.*?)```", re.DOTALL)
_ROW = re.compile(r"^\| \[[^]]+\]\((\w+)\.md\) \|.*\n", re.MULTILINE)
_COLUMNS = ("without whole", "without streamed", "with whole", "with streamed")


def adapters() -> list[str]:
    """Return the names of the frameworks that have a module."""
    others = {*COMMON_MODULES, *SERVED_MODULES, *screen_modules()}
    return sorted(path.stem for path in ADAPTERS.glob("*.py") if path.stem not in others)


def program_of(name: str) -> str:
    """Return the first program of a framework's page."""
    match = _PROGRAM.search((PAGES / f"{name}.md").read_text("utf-8"))
    assert match is not None, f"docs/integrations/{name}.md has no program"
    return match[1]


def rows() -> dict[str, str]:
    """Return the rows of the table by the name of their framework."""
    return {match[1]: match[0] for match in _ROW.finditer(TABLE.read_text("utf-8"))}


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


def write_row(name: str, row: str) -> None:
    """Replace the row of a framework, or add it below the others."""
    text = TABLE.read_text("utf-8")
    old = rows().get(name)
    if old is None:
        end = text.index("<!-- end -->")
        text = text[:end] + row + text[end:]
    else:
        text = text.replace(old, row)
    TABLE.write_text(text, "utf-8")
