"""The thinking panel: the presets to the letter, clicks, keys, focus, and what a frame draws."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.surfaces.tui import TestClock, WidgetApp, feed, screen_rows
from textual.pilot import Pilot

from thinkaloud.core.canon import (
    ApprovalAsked,
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    SummaryWritten,
    ToolFinished,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.view import PANEL, BlockView, OpenState, preset, toggle_all, toggle_thinking
from thinkaloud.surfaces.tui.thinking_panel import ThinkingPanel
from thinkaloud.surfaces.tui.turn_view import TurnView

TEXT = "Let me analyze this step by step. First, I need to understand what the user is asking for."
THOUGHT: list[Event] = [TurnStarted(), BlockStarted(0, Kind.REASONING), BlockGrew(0, TEXT)]
ANSWER: list[Event] = [
    BlockStarted(1, Kind.TEXT),
    BlockGrew(1, "It works."),
    BlockEnded(1),
    TurnEnded(finish=Finish.STOP),
]
TWO_THOUGHTS: list[Event] = [
    *THOUGHT,
    BlockEnded(0),
    BlockStarted(1, Kind.REASONING),
    BlockGrew(1, "Second."),
    BlockEnded(1),
    BlockStarted(2, Kind.TEXT),
    BlockGrew(2, "Done."),
]
Test = Callable[[TurnView, Pilot[None], TestClock], Awaitable[None]]


def run(test: Test, name: str = "preview", *, locale: str = "en-US") -> None:
    """Run a test on a turn in a conversation."""

    async def main() -> None:
        clock = TestClock()
        view = TurnView(policy=preset(name), locale=locale, clock=clock)
        async with WidgetApp(view).run_test(size=(64, 20)) as pilot:
            await test(view, pilot, clock)

    asyncio.run(main())


def rows_of(view: TurnView) -> list[str]:
    return view.thinking.screen_text().splitlines()


def test_first_words_of_a_live_thought_are_never_cut_off() -> None:
    """The header shows the words that have arrived, not those of the last second."""

    async def test(view: TurnView, pilot: Pilot[None], clock: TestClock) -> None:
        feed(view, [TurnStarted(), BlockStarted(0, Kind.REASONING), BlockGrew(0, "I")], 0)
        await pilot.pause()
        feed(view, [BlockGrew(0, " compared")], 10)
        await pilot.pause()
        assert rows_of(view) == ["▶ ⚙ Thinking... — I compared"]
        feed(view, [BlockGrew(0, " this with every kind of question.")], 20)
        await pilot.pause()
        assert rows_of(view)[0] == "▶ ⚙ Thinking... — I compared this with every kind of…"

    run(test, "agent")


def test_preview_preset_is_the_reasoning_block_to_the_letter() -> None:
    """R090, R091, R092: streamed in full, closed to first words in quotes, open behind a gutter."""

    async def test(view: TurnView, pilot: Pilot[None], clock: TestClock) -> None:
        feed(view, THOUGHT, 0)
        await pilot.pause()
        assert rows_of(view)[1:] == [
            "│ Let me analyze this step by step. First, I need to understand",
            "│ what the user is asking for.",
        ]
        feed(view, [BlockEnded(0), *ANSWER], 2000)
        await pilot.pause()
        closed = ['▶ "Let me analyze this step by step…" (click to expand)']
        assert rows_of(view) == closed
        assert screen_rows(pilot.app)[:2] == [*closed, "It works."]
        await pilot.click(view.thinking, offset=(10, 0))
        assert rows_of(view) == [
            '▼ "Let me analyze this step by step…"',
            "│ Let me analyze this step by step. First, I need to understand",
            "│ what the user is asking for.",
        ]
        await pilot.click(view.thinking, offset=(1, 0))
        assert rows_of(view) == closed

    run(test)


def test_preview_preset_in_portuguese_and_on_a_narrow_screen() -> None:
    async def test(view: TurnView, pilot: Pilot[None], clock: TestClock) -> None:
        feed(view, [*THOUGHT, BlockEnded(0), *ANSWER], 0)
        await pilot.pause()
        assert rows_of(view) == ['▶ "Let me analyze this step by step…" (clique para expandir)']
        await pilot.resize_terminal(30, 20)
        await pilot.pause()
        assert rows_of(view) == ['▶ "Let me analyze this step…']

    run(test, locale="pt-BR")


def test_several_thoughts_of_the_preview_preset_open_with_the_panel() -> None:
    """R089: each keeps its place, and is closed and opened alone."""

    async def test(view: TurnView, pilot: Pilot[None], clock: TestClock) -> None:
        events = [
            *THOUGHT,
            BlockEnded(0),
            BlockStarted(1, Kind.REASONING),
            BlockGrew(1, "Second."),
            BlockEnded(1),
        ]
        feed(view, [*events, BlockStarted(2, Kind.TEXT), BlockGrew(2, "Done.")], 0)
        await pilot.pause()
        assert rows_of(view) == ['▶ "Let me analyze this step by step…" (click to expand)']
        await pilot.click(view.thinking, offset=(4, 0))
        assert rows_of(view)[-2:] == ["  ▼ [Step 2] Thought · 1 word", "  │ Second."]
        await pilot.click(view.thinking, offset=(4, 1))
        assert rows_of(view)[1:] == [
            "  ▶ [Step 1] Thought · 18 words — Let me analyze this step by…",
            "  ▼ [Step 2] Thought · 1 word",
            "  │ Second.",
        ]

    run(test)


def test_trace_preset_is_a_bar_a_tree_and_a_status() -> None:
    """R096, R097, R098, R099: a chevron at the right edge, a click anywhere on the bar, steps, status."""

    async def test(view: TurnView, pilot: Pilot[None], clock: TestClock) -> None:
        feed(view, [*THOUGHT, BlockEnded(0)], 0)
        feed(view, [BlockStarted(1, Kind.TOOL_CALL, name="web_search"), BlockGrew(1, '{"q": 1}')], 0)
        feed(view, [BlockEnded(1), ToolFinished(1, "Three flights")], 0)
        feed(view, [SummaryWritten("Compared flights"), BlockStarted(2, Kind.TEXT), BlockGrew(2, "Go.")], 0)
        await pilot.pause()
        width = view.thinking.size.width
        bar = "💭 Compared flights · ✓ Done  🔧 1 tool used"
        assert rows_of(view) == [f"{bar}{'›':>{width - len(bar) - 2}}"]
        open_bar = "💭 Compared flights  🔧 1 tool used"
        await pilot.click(view.thinking, offset=(40, 0))
        assert rows_of(view) == [
            f"{open_bar}{'⌄':>{width - len(open_bar) - 2}}",
            "  ▼ Thought · 18 words",
            "  │ Let me analyze this step by step. First, I need to",
            "  │ understand what the user is asking for.",
            "  ▼ 🔧 web_search  q: 1  0 ms",
            "  │ → Three flights",
            "✓ Done",
        ]

    run(test, "trace")


def test_toggle_preset_shows_a_live_thought_and_hides_it_when_it_is_done() -> None:
    """R117, R118, R119: hidden at rest, shown while it streams, shown again by the command."""

    async def test(view: TurnView, pilot: Pilot[None], clock: TestClock) -> None:
        view.apply_policy(toggle_thinking(toggle_thinking(view.policy)))
        feed(view, THOUGHT, 0)
        await pilot.pause()
        assert rows_of(view)[1].startswith("│ Let me analyze")
        feed(view, [BlockEnded(0), *ANSWER], 2000)
        await pilot.pause()
        assert rows_of(view) == ["Thinking hidden"]
        view.apply_policy(toggle_thinking(view.policy))
        await pilot.pause()
        assert rows_of(view)[1].startswith("│ Let me analyze")

    run(test, "toggle")


def test_default_preset_shows_the_newest_line_of_a_live_thought() -> None:
    async def test(view: TurnView, pilot: Pilot[None], clock: TestClock) -> None:
        feed(view, THOUGHT, 0)
        await pilot.pause()
        assert rows_of(view)[0].startswith("▼ ⚙ Thinking...")
        assert rows_of(view)[1].startswith("│ …")
        assert rows_of(view)[1].endswith("what the user is asking for.")
        feed(view, [BlockGrew(0, "\nA new line.")], 10)
        assert rows_of(view)[1] == "│ A new line."

    run(test, "default")


@pytest.mark.parametrize("preset", ["default", "koder", "trace"])
def test_r077_icon_at_rest_is_a_thought_bubble(preset: str) -> None:
    """R069 R077: the header of a completed thought begins with a thought bubble."""

    async def test(view: TurnView, pilot: Pilot[None], clock: TestClock) -> None:
        feed(view, [*THOUGHT, BlockEnded(0), BlockStarted(1, Kind.TEXT), BlockGrew(1, "Go.")], 0)
        await pilot.pause()
        assert rows_of(view)[0].lstrip("▶▼ ").startswith("💭 ")

    run(test, preset)


def test_a_tool_that_waits_for_approval_says_so() -> None:
    async def test(view: TurnView, pilot: Pilot[None], clock: TestClock) -> None:
        feed(view, [TurnStarted(), BlockStarted(0, Kind.TOOL_CALL, name="delete"), BlockGrew(0, "{}")], 0)
        feed(view, [BlockEnded(0), ApprovalAsked(0)], 0)
        await pilot.pause()
        assert any("delete waits for approval" in row for row in rows_of(view))

    run(test, "trace")


def test_keys_open_and_close_the_current_header() -> None:
    """R092: Enter and Space act on the header that the arrow keys chose; Tab reaches the panel."""

    async def test(view: TurnView, pilot: Pilot[None], clock: TestClock) -> None:
        events = [
            *THOUGHT,
            BlockEnded(0),
            BlockStarted(1, Kind.REASONING),
            BlockGrew(1, "Second."),
            BlockEnded(1),
        ]
        feed(view, [*events, BlockStarted(2, Kind.TEXT), BlockGrew(2, "Done.")], 0)
        view.thinking.focus()
        await pilot.pause()
        await pilot.press("enter")
        assert [block.open for block in _blocks(view)] == [OpenState.COLLAPSED, OpenState.EXPANDED]
        await pilot.press("down", "down", "space")
        assert [block.open for block in _blocks(view)] == [OpenState.COLLAPSED, OpenState.COLLAPSED]
        await pilot.press("up", "enter")
        assert [block.open for block in _blocks(view)] == [OpenState.EXPANDED, OpenState.COLLAPSED]
        await pilot.press("enter")
        assert [block.open for block in _blocks(view)] == [OpenState.COLLAPSED, OpenState.COLLAPSED]

    run(test, "default")


def test_a_click_on_the_text_of_a_thought_toggles_nothing() -> None:
    async def test(view: TurnView, pilot: Pilot[None], clock: TestClock) -> None:
        feed(view, THOUGHT, 0)
        await pilot.pause()
        await pilot.click(view.thinking, offset=(10, 1))
        assert view.thinking.choices == {}

    run(test)


def test_a_choice_is_reported_to_the_application() -> None:
    toggled: list[tuple[int, bool]] = []

    class ListeningApp(WidgetApp):
        def on_thinking_panel_toggled(self, event: ThinkingPanel.Toggled) -> None:
            toggled.append((event.number, event.open))

    async def main() -> None:
        view = TurnView(policy=preset("preview"), clock=TestClock())
        async with ListeningApp(view).run_test() as pilot:
            feed(view, THOUGHT, 0)
            await pilot.pause()
            await pilot.click(view.thinking, offset=(3, 0))
            await pilot.pause()

    asyncio.run(main())
    assert toggled == [(PANEL, False)]


def test_open_all_works_on_past_blocks() -> None:
    async def test(view: TurnView, pilot: Pilot[None], clock: TestClock) -> None:
        feed(view, [*THOUGHT, BlockEnded(0), *ANSWER], 0)
        await pilot.pause()
        view.thinking.replace_choices(
            toggle_all(view.thinking.open_states(), range(len(view.thinking.turn.blocks)))
        )
        assert len(rows_of(view)) == 3
        view.thinking.replace_choices(
            toggle_all(view.thinking.open_states(), range(len(view.thinking.turn.blocks)))
        )
        assert len(rows_of(view)) == 1

    run(test)


def test_assistants_are_drawn_to_any_depth() -> None:
    async def test(view: TurnView, pilot: Pilot[None], clock: TestClock) -> None:
        depth = 1500  # more than Python's limit of recursion
        events: list[Event] = [TurnStarted()]
        for number in range(depth):
            parent = number - 1 if number else None
            events.append(BlockStarted(number, Kind.ASSISTANT_CALL, name=f"A{number}", parent=parent))
        feed(view, events, 0)
        await pilot.pause()
        rows = rows_of(view)
        assert len(rows) == depth + 2
        assert rows[depth].endswith(f"🤖 A{depth - 1} is working…")

    run(test, "trace")


def test_the_header_clock_is_drawn_while_nothing_arrives() -> None:
    async def test(view: TurnView, pilot: Pilot[None], clock: TestClock) -> None:
        feed(view, THOUGHT, 0)
        await pilot.pause()
        clock.now_ms = 7000
        while "7s" not in rows_of(view)[0]:
            await pilot.pause(0.1)

    run(test)


def test_deltas_of_one_frame_are_drawn_together() -> None:
    async def test(view: TurnView, pilot: Pilot[None], clock: TestClock) -> None:
        feed(view, THOUGHT, 0)
        await pilot.pause()
        rows = rows_of(view)
        for _ in range(2000):
            view.feed(Entry(view.turn.seq + 1, BlockGrew(0, " word"), 10))
        assert rows_of(view) == rows  # nothing is drawn before the next frame
        while rows_of(view) == rows:
            await pilot.pause(0.05)
        assert " ".join(rows_of(view)).count("word") == 2000  # and then all of it is

    run(test)


def _blocks(view: TurnView) -> list[BlockView]:
    assert view.thinking.view is not None
    return list(view.thinking.view.blocks)


def test_open_tool_step_tells_what_its_tool_is_for_and_a_closed_one_if_it_was_given_nothing() -> None:
    async def test(view: TurnView, pilot: Pilot[None], clock: TestClock) -> None:
        purpose = "Return the weather of a city."
        feed(
            view,
            [
                TurnStarted(),
                BlockStarted(0, Kind.TOOL_CALL, "weather", "c1", description=purpose),
                BlockGrew(0, '{"city": "Lisbon"}'),
                BlockEnded(0),
                BlockStarted(1, Kind.TOOL_CALL, "clock", "c2", description="Return the time."),
                BlockEnded(1),
            ],
        )
        view.thinking.replace_choices({PANEL: True, 0: False, 1: False})
        await pilot.pause()
        closed = "\n".join(rows_of(view))
        assert "Lisbon" in closed
        assert purpose not in closed
        assert "Return the time." in closed
        view.thinking.replace_choices({PANEL: True, 0: True, 1: False})
        await pilot.pause()
        rows = rows_of(view)
        described = next(index for index, row in enumerate(rows) if purpose in row)
        assert "weather" in rows[described - 1]
        assert "Lisbon" in rows[described - 1] + rows[described + 1]

    run(test, "default")
