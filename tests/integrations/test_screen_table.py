"""Every screen has its driven row, and every module that shows the block has a screen and a page."""

import ast
import re

import pytest
from tests.integrations.screen_table import (
    CHECKS,
    PROGRAMS,
    SCREENS,
    Screen,
    make_row,
    program_of,
    rows,
    screen_modules,
)
from tests.web.story_page import FILES

MAX_PROGRAM_LINES = 15


def cells_of(screen: Screen) -> list[str]:
    return [cell.strip() for cell in rows()[screen.name].split("|")[1:-1]]


def test_every_module_has_a_screen_and_every_screen_a_row() -> None:
    assert screen_modules() == sorted({screen.module for screen in SCREENS})
    assert {screen.name for screen in SCREENS} == set(rows()), "run `make integrations`"


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.name)
def test_row_has_a_date_and_all_that_was_asked(screen: Screen) -> None:
    _, versions, date, *found, stories = cells_of(screen)
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", date)
    assert all(f"{package} " in versions for package in screen.packages)
    assert found == ["yes"] * len(CHECKS)
    assert stories == (f"{len(FILES)} of {len(FILES)}" if screen.tells_stories else "")


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.name)
def test_program_of_a_screen_shows_the_stream_of_the_test(screen: Screen) -> None:
    program = (PROGRAMS / screen.program).read_text("utf-8")
    assert "open_stream" in program
    assert f"thinkaloud.integrations.{screen.module}" in program


@pytest.mark.parametrize("module", screen_modules())
def test_program_of_a_page_is_short_and_complete(module: str) -> None:
    program = program_of(module)
    assert len(program.splitlines()) <= MAX_PROGRAM_LINES
    ast.parse(program)
    assert f"thinkaloud.integrations.{module}" in program


def test_row_says_what_was_found() -> None:
    measured = {**dict.fromkeys(CHECKS, True), "cut off": False, "stories": "2 of 3"}
    row = make_row(SCREENS[0], {"jupyterlab": "4.6"}, "2026-01-02", measured)
    assert row == (
        "| [JupyterLab](notebook.md) | jupyterlab 4.6 | 2026-01-02 | yes | yes | yes | no | 2 of 3 |\n"
    )
