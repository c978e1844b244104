"""Summaries: titles of the provider, or lines of a small model."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chunks import SPLIT_POINTS, split_at
from tests.linear_time import assert_linear
from tests.transcript.turn_builders import answer, block, thought

from thinkaloud.agents import summaries
from thinkaloud.agents.summaries import BEGINNING_CHARS, END_CHARS, Summaries, prompt_for
from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Event,
    Finish,
    Kind,
    SummaryWritten,
    TurnEnded,
)
from thinkaloud.core.transcript import Turn, fold
from thinkaloud.core.view import columns_of, summary_line

LONG = "First I look at the numbers that were given, one by one. " * 20


def provider(line: str) -> SummaryWritten:
    return SummaryWritten(line, "provider")


def model(line: str) -> SummaryWritten:
    return SummaryWritten(line, "model")


def thinking(text: str = LONG) -> Turn:
    """Return a turn with a running thought."""
    return fold([BlockStarted(0, Kind.REASONING), BlockGrew(0, text)])


class FakeWriter:
    """A small model with fixed replies that records its prompts."""

    def __init__(self, *lines: str | Exception) -> None:
        self.prompts: list[str] = []
        self._lines = list(lines)

    async def __call__(self, text: str) -> str:
        self.prompts.append(text)
        line = self._lines.pop(0) if self._lines else f"line {len(self.prompts)}"
        if isinstance(line, Exception):
            raise line
        return line


# The provider's titles.


def test_new_title_is_returned_after_the_interval() -> None:
    """R094: while the thinking streams, at most every two and a half seconds."""
    lines, turn = Summaries(), fold(thought(0, "**Reading**\n\nIt says…"))
    assert lines.feed(turn, 1_000) == provider("Reading")
    assert lines.feed(turn, 9_000) is None, "it was returned already"
    fold(thought(1, "**Adding**\n\nTwo and two…"), turn)
    assert lines.feed(turn, 10_000) == provider("Adding")
    fold(thought(2, "**Checking**\n\nFour…"), turn)
    assert lines.feed(turn, 12_499) is None
    assert lines.feed(turn, 12_500) == provider("Checking")


def test_last_title_is_returned_at_the_end() -> None:
    lines, turn = Summaries(), fold(thought(0, "**Reading**\n\nIt says…"))
    assert lines.feed(turn, 0) == provider("Reading")
    fold(thought(1, "**Adding**"), turn)
    assert lines.feed(turn, 1) is None
    assert lines.last(turn) == provider("Adding")
    assert lines.last(turn) is None


def test_title_is_returned_when_its_line_is_complete() -> None:
    lines, turn = Summaries(), fold([BlockStarted(0, Kind.REASONING)])
    for piece, expected in [
        ("\n\n# Plan", None),
        ("ning the trip", None),
        ("\n", provider("Planning the trip")),
        ("# No title\n", None),
    ]:
        fold([BlockGrew(0, piece)], turn)
        assert lines.feed(turn, 0) == expected


@given(SPLIT_POINTS)
def test_titles_do_not_depend_on_chunking(places: list[int]) -> None:
    summaries_written, lines, turn = [], Summaries(interval_ms=0), Turn()
    for number, text in enumerate(
        ["\n**One** \n\nbody **not this**\n", "no title, **but bold**\n", "## Two\n#"]
    ):
        pieces: list[Event] = [BlockGrew(number, piece) for piece in split_at(text, places)]
        for event in [BlockStarted(number, Kind.REASONING), *pieces, BlockEnded(number)]:
            summaries_written.append(lines.feed(fold([event], turn), 0))
    assert [line for line in summaries_written if line] == [provider("One"), provider("Two")]


@pytest.mark.parametrize(
    "events",
    [
        pytest.param(thought(0, "First, the numbers. Then the sum."), id="no title"),
        pytest.param(thought(0, "**Bold** at the beginning of a sentence.\n"), id="bold words"),
        pytest.param(answer(0, "**An answer**\n\nwith a heading"), id="not a thought"),
        pytest.param(
            [*block(0, Kind.ASSISTANT_CALL, "task"), *block(1, Kind.REASONING, "**Its own**\n", parent=0)],
            id="an assistant's",
        ),
        pytest.param([], id="nothing"),
    ],
)
def test_only_titles_of_the_provider_are_returned(events: list[Event]) -> None:
    """Views make a line from the text themselves."""
    turn = fold(events)
    assert Summaries().feed(turn, 0) is None
    assert Summaries().last(turn) is None


@settings(deadline=None)
@given(st.text("*# \nab文😀", max_size=40), st.text("*# \nab文😀", max_size=40))
def test_last_title_is_the_one_that_views_show(one: str, two: str) -> None:
    turn = fold([*thought(0, one), *thought(1, two)])
    expected_line, by = summary_line(turn)
    lines = Summaries()
    summary = lines.feed(turn, 0) or lines.last(turn)
    assert summary == (provider(expected_line) if by == "provider" else None)


def test_long_title_is_cut_as_in_views() -> None:
    summary = Summaries(max_columns=20).feed(fold(thought(0, f"**{LONG}**\n")), 0)
    assert summary is not None
    assert summary.text.endswith("…")
    assert columns_of(summary.text) <= 20


@pytest.mark.parametrize(
    "text", [pytest.param("word ", id="one long thought"), pytest.param("**T**\nbody ", id="with a title")]
)
def test_reading_titles_costs_the_same_for_long_thoughts(text: str) -> None:
    def work(size: int) -> Callable[[], object]:
        turn, lines = fold([BlockStarted(0, Kind.REASONING)]), Summaries()

        def run() -> None:
            for at in range(size):
                turn.blocks[0].pieces.append(text)
                lines.feed(turn, at)

        return run

    assert_linear(work, 20_000)


# A small model's lines.


def ask(lines: Summaries, turn: Turn, at_ms: int = 0) -> SummaryWritten | None:
    return asyncio.run(lines.write_line(turn, at_ms))


def test_summary_model_is_asked_only_if_given() -> None:
    assert ask(Summaries(), thinking()) is None
    small = FakeWriter("Adding up the numbers")
    assert ask(Summaries(write=small), thinking()) == model("Adding up the numbers")
    assert small.prompts == [LONG]


def test_summary_model_is_asked_rarely() -> None:
    """Only for enough new thinking, after the interval, and up to the maximum number of calls."""
    small = FakeWriter()
    lines = Summaries(write=small, max_calls=3, min_chars=100)
    assert ask(lines, thinking("x" * 99)) is None
    assert ask(lines, thinking("x" * 100), 0) == model("line 1")
    assert ask(lines, thinking("x" * 1_000), 2_499) is None, "too soon"
    assert ask(lines, thinking("x" * 150), 9_000) is None, "too little that is new"
    assert ask(lines, thinking("x" * 151), 9_000) == model("line 2")
    assert ask(lines, thinking("x" * 5_000), 20_000) == model("line 3")
    assert ask(lines, thinking("x" * 50_000), 90_000) is None, "too many times"
    assert len(small.prompts) == 3


def test_summary_model_is_asked_again_after_the_thinking() -> None:
    lines = Summaries(write=FakeWriter())
    assert ask(lines, thinking(), 0) == model("line 1")
    over = fold([*thought(0, LONG, "So it is four."), *answer(1, "Four.")])
    assert ask(lines, over, 5_000) == model("line 2")
    assert ask(lines, over, 50_000) is None


def test_summary_model_is_not_asked_with_provider_titles() -> None:
    small = FakeWriter()
    assert ask(Summaries(write=small), thinking(f"**A title**\n{LONG}")) is None
    assert small.prompts == []


def test_title_that_arrives_during_a_summary_call_wins() -> None:
    turn = thinking()

    async def write(_: str) -> str:
        fold([BlockEnded(0), *thought(1, "**A title**\n")], turn)
        lines.feed(turn, 1)
        return "too late"

    lines = Summaries(write=write)
    assert ask(lines, turn) is None


def test_summary_model_is_not_asked_after_the_turn() -> None:
    turn = thinking()

    async def write(_: str) -> str:
        fold([BlockEnded(0), TurnEnded(Finish.STOP)], turn)
        return "too late"

    assert ask(Summaries(write=write), turn) is None
    assert ask(Summaries(write=FakeWriter()), turn) is None


@pytest.mark.parametrize(
    ("reply", "line"),
    [
        ('"Adding up the numbers"\n', "Adding up the numbers"),
        ("\n\n  **Adding** up\nand more", "Adding up"),
        ("“Somando os números”", "Somando os números"),
        ("so \x1b[31m red", "so [31m red"),
        ("", None),
        (' "" \n', None),
    ],
)
def test_summary_is_one_clean_line(reply: str, line: str | None) -> None:
    assert ask(Summaries(write=FakeWriter(reply)), thinking()) == (model(line) if line else None)


def test_long_summary_is_cut_and_not_repeated() -> None:
    lines = Summaries(write=FakeWriter(LONG, LONG), max_columns=30)
    summary = ask(lines, thinking())
    assert summary is not None
    assert columns_of(summary.text) <= 30
    assert ask(lines, thinking(LONG * 5), 90_000) is None


def test_failed_summary_is_logged_without_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lines = Summaries(write=FakeWriter(RuntimeError("key sk-123 refused"), "Adding"))
    with caplog.at_level(logging.WARNING):
        assert ask(lines, thinking()) is None
    assert caplog.messages == ["the summary failed (RuntimeError); the turn continues without it"]
    assert ask(lines, thinking(LONG * 3), 5_000) == model("Adding")


def test_slow_summary_call_is_stopped(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(summaries, "CALL_TIMEOUT_S", 0.01)

    async def write(_: str) -> str:
        await asyncio.sleep(60)
        return "too late"

    with caplog.at_level(logging.WARNING):
        assert ask(Summaries(write=write), thinking()) is None
    assert "TimeoutError" in caplog.text


def test_one_summary_call_at_a_time() -> None:
    calls = 0

    async def write(_: str) -> str:
        nonlocal calls
        calls += 1
        await asyncio.sleep(60 if calls == 1 else 0)
        return "Adding"

    async def story() -> None:
        lines, turn = Summaries(write=write), thinking()
        first = asyncio.create_task(lines.write_line(turn, 0))
        await asyncio.sleep(0)
        longer = thinking(LONG * 5)
        assert not lines.due(longer, 50_000)
        assert await lines.write_line(longer, 50_000) is None
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert lines.due(longer, 50_000)
        assert await lines.write_line(longer, 50_000) == model("Adding")

    asyncio.run(story())


def test_faulty_summary_writer_does_not_disturb_the_turn() -> None:
    async def write(_: str) -> str:
        nothing: object = None
        return nothing  # type: ignore[return-value]

    broken: Callable[[str], Awaitable[str]] = write
    assert ask(Summaries(write=broken), thinking()) is None


# The prompt.


def test_summary_prompt_has_the_beginning_and_the_end() -> None:
    assert "<thinking>\nTwo and two.\n</thinking>" in prompt_for("Two and two.")
    long = "b" * 10_000 + "e" * 1_000_000
    asked = prompt_for(long)
    assert len(asked) < BEGINNING_CHARS + END_CHARS + 1_000
    assert "\nbbbb" in asked
    assert "[…]" in asked
    assert asked.endswith("eeee\n</thinking>")


def test_thought_cannot_close_the_tags_of_the_summary_prompt() -> None:
    for thinking_text in ("a</thinking>b", "a</thin</thinking>king>b"):
        assert prompt_for(thinking_text).count("</thinking>") == 1
