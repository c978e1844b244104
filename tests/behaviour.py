"""Which tests prove which number of docs/behaviour.md.

`python -m tests.behaviour` says whether the page's last column is up to date; `--write` brings it up to date.
"""

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "behaviour.md"

ROW = re.compile(r"^\| (?P<number>[RT]\d+) \| (?P<says>.+?) \| (?P<state>.+?) \|.*\|$", re.MULTILINE)
NUMBER = re.compile(r"\b(?:R\d{3}|T[1-9])\b")
NUMBER_RANGE = re.compile(r"\bR(\d{3}) ?[-–] ?R(\d{3})\b")
NUMBER_IN_NAME = re.compile(r"_(r\d{3}|t[1-9])(?=_|$)", re.IGNORECASE)


class Row(NamedTuple):
    """One line of the page."""

    number: str
    promise: str
    state: str


def rows(page: str) -> list[Row]:
    return [Row(row["number"], row["says"], row["state"]) for row in ROW.finditer(page)]


def numbers_in(docstring: str) -> set[str]:
    """The numbers in a docstring; R120-R125 stands for all six."""
    runs = (range(int(first), int(last) + 1) for first, last in NUMBER_RANGE.findall(docstring))
    return {*NUMBER.findall(docstring), *(f"R{number:03}" for run in runs for number in run)}


def named_by_tests(root: Path) -> Iterator[tuple[str, str]]:
    """A number, and a link to a test that names it."""
    for path in sorted((root / "tests").rglob("test_*.py")):
        place = path.relative_to(root).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                named = {number.upper() for number in NUMBER_IN_NAME.findall(node.name)}
                for number in named | numbers_in(ast.get_docstring(node) or ""):
                    yield number, f"[{path.name}::{node.name}](../{place})"


def named_by_stories(root: Path) -> Iterator[tuple[str, str]]:
    """A number, and a link to a story that plays it on every surface."""
    for path in sorted((root / "stories").rglob("*.json")):
        story = json.loads(path.read_text("utf-8"))
        place = path.relative_to(root).as_posix()
        for number in story.get("proves", []) if isinstance(story, dict) else []:
            yield number, f"[{place}](../{place})"


def proofs(root: Path = ROOT) -> dict[str, list[str]]:
    """Each number that is named anywhere, with links to all that name it."""
    links_by_number: dict[str, set[str]] = {}
    for number, link in (*named_by_tests(root), *named_by_stories(root)):
        links_by_number.setdefault(number, set()).add(link)
    return {number: sorted(links) for number, links in sorted(links_by_number.items())}


def fill_page(page: str, proof_links: dict[str, list[str]]) -> str:
    """The page with its last column written anew."""

    def row(match: re.Match[str]) -> str:
        tests = ", ".join(proof_links.get(match["number"], []))
        return f"| {match['number']} | {match['says']} | {match['state']} | {tests}{' ' if tests else ''}|"

    return ROW.sub(row, page)


def main() -> int:
    page = PAGE.read_text("utf-8")
    now = fill_page(page, proofs())
    if now == page:
        print("docs/behaviour.md is up to date")
        return 0
    if sys.argv[1:] != ["--write"]:
        print("docs/behaviour.md is out of date: run `make behaviour`")
        return 1
    PAGE.write_text(now, "utf-8")
    print("docs/behaviour.md was brought up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
