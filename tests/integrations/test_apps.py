"""Chunks of a turn for frameworks that send values whole, and the pages of the app frameworks."""

import ast
import json
import re

import pytest
from tests.integrations.screen_table import SCREENS, program_of, rows

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Kind,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.transcript import fold_entries
from thinkaloud.integrations.chunks import TurnChunks, whole_turn
from thinkaloud.integrations.element import entry_lines

APPS = {screen.module: screen.name for screen in SCREENS if not screen.module.startswith("notebook")}
EVENTS: list[Event] = [
    TurnStarted(),
    BlockStarted(0, Kind.REASONING),
    *(BlockGrew(0, f"thought {number} ") for number in range(2_000)),
    BlockEnded(0),
    TurnEnded(),
]
ENTRIES = [Entry(seq, event, 1_000) for seq, event in enumerate(EVENTS)]


def test_newest_values_of_all_chunks_are_the_turn() -> None:
    chunks, values = TurnChunks("a"), dict[int, str]()
    for entry in ENTRIES:
        chunk = chunks.add(entry_lines([entry]))
        values[chunks.number] = str(chunk["lines"])
    assert "".join(values.values()) == entry_lines(ENTRIES)


def test_chunk_names_the_entry_before_it() -> None:
    chunks, last = TurnChunks("a"), -1
    number = 0
    for entry in ENTRIES:
        chunk = chunks.add(entry_lines([entry]))
        if chunks.number != number:
            number = chunks.number
            assert chunk["after"] == last
        assert json.loads(str(chunk["lines"]).splitlines()[0])["seq"] > int(chunk["after"])
        last = entry.seq
    assert number > 10


def test_a_delta_costs_one_chunk_however_long_the_thought_is() -> None:
    chunks = TurnChunks("a")
    sizes = [len(str(chunks.add(entry_lines([entry]))["lines"])) for entry in ENTRIES]
    assert max(sizes) < 10_000
    assert abs(max(sizes[-500:]) - max(sizes[:500])) < 200


def test_whole_turn_is_one_chunk() -> None:
    chunk = whole_turn("a", fold_entries(ENTRIES))
    assert chunk["whole"] is True
    assert "thought 1999" in str(chunk["lines"])
    assert len(str(chunk["lines"]).splitlines()) < 10


@pytest.mark.parametrize("name", APPS)
def test_program_of_the_page_is_short_and_complete(name: str) -> None:
    program = program_of(name)
    assert len(program.splitlines()) <= 15
    ast.parse(program)
    assert f"thinkaloud.integrations.{name}" in program


@pytest.mark.parametrize("name", APPS)
def test_app_has_a_measured_row(name: str) -> None:
    cells = [cell.strip() for cell in rows()[APPS[name]].split("|")[1:-1]]
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", cells[2])
    assert cells[3:7] == ["yes"] * 4
    told, of = cells[7].split(" of ")
    assert told == of, "run `make integrations`"
