"""Finds which tests prove which number of docs/behaviour.md.

`python -m tests.behaviour` checks the page's last column; `--write` updates it.
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

ROW = re.compile(r"^\| (?P<number>[RST]\d+) \| (?P<says>.+?) \| (?P<state>.+?) \|.*\|$", re.MULTILINE)
NUMBER = re.compile(r"\b(?:R\d{3}|S(?:[1-9]|1\d|2[01])|T[1-9])\b")
NUMBER_RANGE = re.compile(r"\bR(\d{3}) ?[-–] ?R(\d{3})\b")
LEADING_NUMBERS = re.compile(rf"(?:Proves )?(?:{NUMBER.pattern}(?:,? and |, | ?[-–] ?|; | )?)+")
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


class Link(NamedTuple):
    """A test or a story, and whether it fails when the promise breaks."""

    number: str
    text: str
    proof: bool


def links_from_tests(root: Path) -> Iterator[Link]:
    """Yield the numbers that tests name.

    A number in a test's name, or at the beginning of its docstring, is what the test proves. Elsewhere in a
    docstring it is only mentioned, and so is every number of a test that needs recordings from outside.
    """
    for path in sorted((root / "tests").rglob("test_*.py")):
        place = path.relative_to(root).as_posix()
        needs_shared = path.name.startswith("test_shared_")
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not node.name.startswith(
                "test_"
            ):
                continue
            docstring = ast.get_docstring(node) or ""
            leading = LEADING_NUMBERS.match(docstring)
            proved = {number.upper() for number in NUMBER_IN_NAME.findall(node.name)}
            proved |= numbers_in(leading[0]) if leading else set()
            for number in proved | numbers_in(docstring):
                text = f"[{path.name}::{node.name}](../{place})"
                yield Link(number, text, number in proved and not needs_shared)


def links_from_stories(root: Path) -> Iterator[Link]:
    """Yield the numbers that stories prove on every surface."""
    for path in sorted((root / "stories").rglob("*.json")):
        story = json.loads(path.read_text("utf-8"))
        place = path.relative_to(root).as_posix()
        for number in story.get("proves", []) if isinstance(story, dict) else []:
            yield Link(number, f"[{place}](../{place})", proof=True)


class Evidence(NamedTuple):
    """Links to what proves a number, and to what only mentions it."""

    proofs: list[str]
    mentions: list[str]

    def cell(self) -> str:
        """Return the text of the page's last column."""
        proofs, mentions = ", ".join(self.proofs), ", ".join(self.mentions)
        return "; ".join(filter(None, (proofs, mentions and f"mentioned in {mentions}")))


def evidence(root: Path = ROOT) -> dict[str, Evidence]:
    """Return the evidence for each number that is named anywhere."""
    links = sorted({*links_from_tests(root), *links_from_stories(root)})
    found: dict[str, Evidence] = {}
    for link in links:
        row = found.setdefault(link.number, Evidence([], []))
        (row.proofs if link.proof else row.mentions).append(link.text)
    return found


def fill_page(page: str, evidence_by_number: dict[str, Evidence]) -> str:
    """Return the page with its last column written anew."""

    def row(match: re.Match[str]) -> str:
        evidence = evidence_by_number.get(match["number"])
        tests = evidence.cell() if evidence else ""
        return f"| {match['number']} | {match['says']} | {match['state']} | {tests}{' ' if tests else ''}|"

    return ROW.sub(row, page)


def main() -> int:
    page = PAGE.read_text("utf-8")
    now = fill_page(page, evidence())
    if now == page:
        print("docs/behaviour.md is up to date")
        return 0
    if sys.argv[1:] != ["--write"]:
        print("docs/behaviour.md is out of date: run `make behaviour`")
        return 1
    PAGE.write_text(now, "utf-8")
    print("docs/behaviour.md was updated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
