"""Every framework and every web server has its measured row, and a page with a short program."""

import ast
import re
from pathlib import Path

import pytest
from tests.integrations.environments import ROOT
from tests.integrations.framework_table import (
    SERVERS_TABLE,
    adapters,
    make_row,
    rows,
)
from tests.integrations.measure_framework import FRAMEWORKS, PROVIDERS
from tests.integrations.reasoning_cases import CASES
from tests.integrations.screen_table import SERVED_MODULES, program_of

MAX_PROGRAM_LINES = 15


def test_every_adapter_is_measured() -> None:
    assert adapters() == sorted(FRAMEWORKS) == sorted(rows()), "run `make integrations`"


@pytest.mark.parametrize(
    "source",
    [
        "from thinkaloud.integrations.request import FrameworkRequest",
        "from thinkaloud.integrations import request",
        "def ask():\n    import thinkaloud.integrations.request as request",
    ],
)
def test_module_that_asks_models_is_an_adapter(tmp_path: Path, source: str) -> None:
    (tmp_path / "robot.py").write_text(source)
    (tmp_path / "screen.py").write_text("from thinkaloud.client import follow  # not integrations.request")
    assert adapters(tmp_path) == ["robot"]


@pytest.mark.parametrize("name", adapters())
def test_row_has_a_date_and_all_cases_with_us(name: str) -> None:
    cells = [cell.strip() for cell in rows()[name].split("|")[1:-1]]
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", cells[2])
    assert cells[5:7] == [f"{len(CASES)} of {len(CASES)}"] * 2
    assert cells[9:] == [f"{len(PROVIDERS)} of {len(PROVIDERS)}"] * 2


@pytest.mark.parametrize("name", [*adapters(), *SERVED_MODULES])
def test_program_is_short_and_complete(name: str) -> None:
    program = program_of(name)
    assert len(program.splitlines()) <= MAX_PROGRAM_LINES
    ast.parse(program)
    assert f"thinkaloud.integrations.{name}" in program


def test_every_web_server_is_measured() -> None:
    assert sorted(SERVED_MODULES) == sorted(rows(SERVERS_TABLE)), "run `make integrations`"
    for row in rows(SERVERS_TABLE).values():
        *_, date, checks, cuts, _ = (cell.strip() for cell in row.split("|"))
        assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", date)
        assert int(checks) > 0
        assert int(cuts) > 0


def test_row_counts_what_is_right() -> None:
    part = {"cases": [True, False], "loops": [True]}
    ways = ("without whole", "without streamed", "with whole", "with streamed")
    measured = {"versions": {"langchain": "1.0"}, "results": dict.fromkeys(ways, part)}
    row = make_row("langchain", measured, "2026-01-02")
    assert row.startswith("| [LangChain and LangGraph](langchain.md) | langchain 1.0 | 2026-01-02 | 1 of 2 |")
    assert row.count("1 of 1") == 4


@pytest.mark.parametrize("name", adapters())
def test_readme_says_the_lower_counts_of_the_table(name: str) -> None:
    title, _, _, *counts = [cell.strip() for cell in rows()[name].split("|")[1:-1]]
    cells = {
        who: f"{min(counts[at : at + 2], key=_right)}, {min(counts[at + 4 : at + 6], key=_right)}"
        for who, at in (("own", 0), ("ours", 2))
    }
    link = title.replace("(", "(docs/integrations/")
    row = f"| {link} | {cells['own']} | {cells['ours']} |\n"
    assert row in (ROOT / "README.md").read_text("utf-8")


def _right(count: str) -> int:
    return int(count.partition(" ")[0])
