"""The line view: bounded work for a delta and a resize, following the end, selection."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.surfaces.tui import TestClock, WidgetApp, feed, screen_rows, settle
from textual.geometry import Offset, Region
from textual.pilot import Pilot
from textual.selection import Selection

from thinkaloud.core.canon import BlockGrew, BlockStarted, Entry, Kind, TurnStarted
from thinkaloud.core.view import preset
from thinkaloud.surfaces.tui.text import line_view
from thinkaloud.surfaces.tui.text.line_view import LineView
from thinkaloud.surfaces.tui.text.sections import Row, TextSection
from thinkaloud.surfaces.tui.turn_view import TurnView

WORDS = "All that is needed is a word and then another one. "


class CountingView(LineView):
    """Counts the rows that it draws."""

    drawn = 0

    def _draw(self, row: Row, width: int) -> object:  # type: ignore[override]
        self.drawn += 1
        return super()._draw(row, width)


def run(test: Callable[[LineView, TextSection, Pilot[None]], Awaitable[None]], view: LineView) -> None:
    async def main() -> None:
        section = TextSection("│ ")
        async with WidgetApp(view).run_test(size=(42, 12)) as pilot:
            view.replace_sections([section])
            await pilot.pause()
            await test(view, section, pilot)

    asyncio.run(main())


async def append(view: LineView, section: TextSection, pilot: Pilot[None], text: str) -> None:
    view.section_changed(0, section.append(text))
    await settle(pilot, view)


def test_a_delta_draws_only_the_rows_that_it_changes() -> None:
    async def test(view: LineView, section: TextSection, pilot: Pilot[None]) -> None:
        assert isinstance(view, CountingView)
        view.styles.max_height = 10
        for size in (1, 20_000):
            await append(view, section, pilot, WORDS * size)
            view.drawn = 0
            for _ in range(5):
                await append(view, section, pilot, "ab")
            assert view.drawn <= 2 * 5

    run(test, CountingView())


def test_it_follows_the_end_until_the_person_scrolls_away() -> None:
    async def test(view: LineView, section: TextSection, pilot: Pilot[None]) -> None:
        view.styles.max_height = 8
        await append(view, section, pilot, WORDS * 40 + "\nEND")
        assert "│ END" in "\n".join(screen_rows(pilot.app))
        view.scroll_to(y=0, animate=False)
        await append(view, section, pilot, "\n" + WORDS * 5)
        assert view.scroll_offset.y == 0
        view.scroll_end(animate=False)
        await append(view, section, pilot, "\nTHE VERY END")
        assert "│ THE VERY END" in "\n".join(screen_rows(pilot.app))
        assert view.vertical_scrollbar.window_virtual_size == view.row_count

    run(test, LineView())


def test_resize_wraps_again_and_keeps_the_place() -> None:
    async def test(view: LineView, section: TextSection, pilot: Pilot[None]) -> None:
        view.styles.max_height = 10
        text = "".join(f"Line {n} has some words that are wrapped.\n" for n in range(3000))
        await append(view, section, pilot, text)
        view.scroll_to(y=view.row_count // 2, animate=False)
        await settle(pilot, view)
        middle = next(row for row in screen_rows(pilot.app) if "Line" in row)
        number = int(middle.split()[2])
        for width in (30, 90, 17, 64):
            await pilot.resize_terminal(width, 12)
        await settle(pilot, view)
        rows = view.screen_text().splitlines()
        assert all(len(row) <= 64 for row in rows)
        assert " ".join(row.removeprefix("│ ") for row in rows) == " ".join(text.splitlines())
        shown = [int(row.split()[2]) for row in screen_rows(pilot.app) if "Line" in row]
        assert any(abs(other - number) < 60 for other in shown)

    run(test, LineView())


def test_rows_are_drawn_again_where_only_the_breaks_between_words_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A section that is wrapped in a later frame is drawn, also if the view is as high as before."""
    monkeypatch.setattr(line_view, "LAYOUT_BUDGET_S", 0)  # one step for every frame

    async def test(view: LineView, section: TextSection, pilot: Pilot[None]) -> None:
        last = TextSection("│ ")
        last.append("word " * 7 + "first " + "word " * 4 + "last")
        view.replace_sections([section, last])
        await append(view, section, pilot, WORDS)
        row_count = view.row_count
        for width in (41, 42):
            await pilot.resize_terminal(width, 12)
            await settle(pilot, view)
            assert view.row_count == row_count
            assert screen_rows(pilot.app)[:row_count] == view.screen_text().splitlines()

    run(test, LineView())


def test_selected_text_has_no_gutter_and_no_soft_breaks() -> None:
    async def test(view: LineView, section: TextSection, pilot: Pilot[None]) -> None:
        text = "A first line that is so long that it is wrapped.\nA second line."
        await append(view, section, pilot, text)
        assert view.row_count == 3
        assert view.get_selection(Selection(None, None)) == (text, "\n")
        part = Selection(Offset(2 + 2, 0), Offset(2 + 8, 2))
        assert view.get_selection(part) == (text[2 : text.index("second") + 6], "\n")

    run(test, LineView())


def test_mouse_selects_and_the_selection_is_drawn() -> None:
    async def test(view: LineView, section: TextSection, pilot: Pilot[None]) -> None:
        await append(view, section, pilot, "some words to select")
        await pilot.mouse_down(view, offset=(7, 0))
        await pilot.hover(view, offset=(12, 0))
        await pilot.mouse_up(view, offset=(12, 0))
        assert pilot.app.screen.get_selected_text() == "words "

    run(test, LineView())


def test_wide_characters_stay_within_the_edge() -> None:
    async def test(view: LineView, section: TextSection, pilot: Pilot[None]) -> None:
        await append(view, section, pilot, "漢字" * 100 + "👨\u200d👩\u200d👧" * 30)
        strips = [view.render_line(y) for y in range(view.row_count)]
        assert {strip.cell_length for strip in strips} == {view.size.width}

    run(test, LineView())


def test_work_of_a_delta_does_not_grow_with_the_thought() -> None:
    """A delta changes the last row, and a row that is added leaves the strips of the others as they are."""

    async def main() -> None:
        view = TurnView(policy=preset("preview"), clock=TestClock())
        async with WidgetApp(view).run_test(size=(80, 24)) as pilot:
            feed(view, [TurnStarted(), BlockStarted(0, Kind.REASONING), BlockGrew(0, WORDS * 20_000)], 0)
            await settle(pilot, view.thinking)
            [section] = [section for section in view.thinking.sections if isinstance(section, TextSection)]
            height = section.height
            before = [section.row(index) for index in range(height - 1)]
            view.feed(Entry(view.turn.seq + 1, BlockGrew(0, "word"), 10))
            view.flush()
            assert [section.row(index) for index in range(height - 1)] == before
            assert view.thinking.screen_text().endswith("one. word")
            await settle(pilot, view.thinking)
            last_rows = Region(0, view.thinking.row_count - 10, 80, 9)
            strips = view.thinking.render_lines(last_rows)
            view.feed(Entry(view.turn.seq + 1, BlockGrew(0, WORDS * 2), 10))
            view.flush()
            await settle(pilot, view.thinking)
            assert section.height > height
            again = view.thinking.render_lines(last_rows)
            assert all(strip is before for strip, before in zip(again, strips, strict=True))

    asyncio.run(main())
