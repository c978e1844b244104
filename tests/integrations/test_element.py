"""What programs in Python feed the element with: script, lines of entries, batches, a turn as HTML."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.client.test_follow import LINES
from tests.dialects.test_pieces import WHOLE

from thinkaloud import follow, read
from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockSealed,
    BlockStarted,
    Entry,
    Event,
    Kind,
    Refused,
    Seal,
    SealForm,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.transcript import Turn, fold
from thinkaloud.integrations import element
from thinkaloud.integrations.element import BATCH_S, BATCH_SIZE, EntryBatches, EntryLines, entry_lines

HOSTILE = "</script><img src=x onerror=alert(1)><!--<script>"
built = pytest.mark.skipif(not (element.SCRIPTS / "thinking-block.js").is_file(), reason="make element")


def thought(text: str) -> Turn:
    events: list[Event] = [
        TurnStarted(),
        BlockStarted(0, Kind.REASONING),
        BlockGrew(0, text),
        BlockEnded(0),
        TurnEnded(),
    ]
    return fold(events)


def parsed(lines: str) -> list[dict[str, Any]]:
    assert lines.endswith("\n") or not lines
    return [json.loads(line) for line in lines.splitlines()]


def test_lines_are_the_entries_of_the_stream() -> None:
    lines = EntryLines(iter(LINES))
    entries = [entry for part in lines for entry in parsed(part)]
    assert [entry["seq"] for entry in entries] == list(range(len(entries)))
    assert entries[0]["event"]["type"] == "turn.started"
    grown = [entry["event"] for entry in entries if entry["event"]["type"] == "block.grew"]
    assert "".join(event["text"] for event in grown).startswith(WHOLE.reasoning + WHOLE.answer)
    assert lines.turn.answer == WHOLE.answer


def test_lines_of_an_asynchronous_stream_are_the_same() -> None:
    async def source() -> AsyncIterator[str]:
        for line in LINES:
            yield line

    async def events() -> list[dict[str, Any]]:
        return [entry["event"] async for part in EntryLines(source()) for entry in parsed(part)]

    assert asyncio.run(events()) == [
        entry["event"] for part in EntryLines(iter(LINES)) for entry in parsed(part)
    ]


def test_the_end_of_a_stream_that_fails_comes_before_its_error() -> None:
    def source() -> Iterator[str]:
        yield from LINES[:12]
        raise ConnectionResetError("gone")

    lines = iter(EntryLines(source()))
    parts: list[str] = []
    with pytest.raises(ConnectionResetError):
        parts.extend(lines)
    assert parsed(parts[-1])[-1]["event"]["type"] == "turn.failed"


def test_no_line_can_end_the_script_that_it_stands_in() -> None:
    lines = entry_lines([Entry(0, BlockGrew(0, HOSTILE))])
    assert "<" not in lines
    assert parsed(lines)[0]["event"]["text"] == HOSTILE


def test_seals_and_raw_messages_stay_in_the_program() -> None:
    seal = Seal("anthropic_messages", SealForm.SIGNATURE, "SECRET")
    lines = entry_lines([Entry(0, BlockSealed(0, seal), 5), Entry(1, TurnEnded(message=seal), 6)])
    assert "SECRET" not in lines
    sealed, ended = parsed(lines)
    assert sealed["event"]["seal"]["form"] == "signature"
    assert (ended["event"]["type"], ended["at_ms"]) == ("turn.ended", 6)


def test_entries_that_came_before_are_passed_over_when_a_stream_resumes() -> None:
    first = [Entry(0, TurnStarted()), Entry(1, BlockStarted(0, Kind.REASONING)), Entry(2, BlockGrew(0, "a"))]
    rest = [Entry(3, BlockGrew(0, "b")), Entry(4, BlockEnded(0)), Entry(5, TurnEnded())]
    lines = EntryLines([*first, *first[1:], *rest])
    assert [entry["seq"] for part in lines for entry in parsed(part)] == [0, 1, 2, 3, 4, 5]
    assert lines.turn.reasoning == "ab"


def test_a_stream_of_events_is_followed() -> None:
    events: list[Event] = [TurnStarted(), BlockStarted(0, Kind.TEXT), BlockGrew(0, "a")]
    stream = follow(iter(events))
    assert [delta.text for delta in stream] == ["a"]
    assert stream.turn.outcome
    assert stream.turn.outcome.cause == "cut_off"
    assert [entry.at_ms is None for batch in follow(iter(events)).entries() for entry in batch] == [False] * 5


def test_leaving_the_entries_keeps_those_that_end_the_turn() -> None:
    stream = follow(iter(LINES))
    for _ in stream.entries():
        break
    assert [type(entry.event) for entry in stream.unread][-1] is TurnEnded
    assert not stream.turn.live


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def delta(text: str) -> list[Entry]:
    return [Entry(1, BlockGrew(0, text))]


def test_text_waits_for_more_and_nothing_else_does() -> None:
    clock = Clock()
    batches = EntryBatches(clock)
    assert len(parsed(batches.add(delta("first")))) == 1
    assert batches.add(delta("second")) == ""
    clock.now += BATCH_S
    (joined,) = parsed(batches.add(delta("third")))
    assert joined["event"]["text"] == "secondthird"
    assert batches.add(delta("fourth")) == ""
    assert [entry["event"]["type"] for entry in parsed(batches.add([Entry(2, BlockEnded(0))]))] == [
        "block.grew",
        "block.ended",
    ]
    assert batches.add(delta("fifth")) == ""
    assert len(parsed(batches.flush())) == 1
    assert batches.flush() == ""


def test_a_batch_has_a_size_at_most() -> None:
    batches = EntryBatches(Clock())
    batches.flush()
    sizes = [len(batches.add(delta("x" * 1000))) for _ in range(200)]
    assert 2 <= sum(map(bool, sizes)) <= 4
    assert max(sizes) < BATCH_SIZE + 2000


def test_a_script_that_is_not_built_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(element, "SCRIPTS", tmp_path)
    with pytest.raises(Refused, match="run `make element`"):
        element.script()


@built
def test_the_script_can_stand_in_a_page() -> None:
    script = element.script().lower()
    assert "</script" not in script
    assert "<!--" not in script


@built
def test_html_of_a_turn_has_its_text_only_escaped() -> None:
    page = element.turn_html(thought(HOSTILE), {"preset": "koder"})
    assert HOSTILE not in page
    assert "<img" not in page
    assert page.count("</script>") == page.count("<script") == 3
    assert element.turn_html(thought("a"), with_script=False).count("<script") == 2
    assert "&lt;/script&gt;" in page


@built
def test_html_of_a_turn_takes_only_attributes() -> None:
    with pytest.raises(Refused, match="is no attribute of <thinking-block>"):
        element.turn_html(read("<think>a</think>b", "text"), {'x" onload="': "y"})
