"""Answers as Markdown: the same rows however the text arrives, drawn once, and safe."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it.token import Token
from tests.chunks import SPLIT_POINTS, split_at
from tests.surfaces.tui import WidgetApp, screen_rows, settle
from textual.pilot import Pilot

from thinkaloud.surfaces.tui.text import answer as answer_module
from thinkaloud.surfaces.tui.text import line_view, markdown_blocks
from thinkaloud.surfaces.tui.text.answer import AnswerView, MarkdownSection
from thinkaloud.surfaces.tui.text.code_block import CHECKPOINT_LINES, highlighted_lines
from thinkaloud.surfaces.tui.text.markdown_blocks import (
    FenceEnded,
    FenceLines,
    FenceStarted,
    MarkdownBlocks,
    MarkdownPiece,
    Part,
)
from thinkaloud.surfaces.tui.text.markdown_rows import column_widths

SAMPLE = """# A heading

A paragraph with **bold**, `code` and a [link](https://example.org).
Its second line.

- one
- two
  - nested

1. first

2. second

> A quote

```python
def f(x):
    return "…"  # done
```

| Name | Note |
|---|---|
| a | long enough to be wrapped in a cell |

---
The end
"""

Test = Callable[[AnswerView, Pilot[None]], Awaitable[None]]


def run(test: Test, text: str = "", size: tuple[int, int] = (40, 40)) -> None:
    async def main() -> None:
        view = AnswerView()
        async with WidgetApp(view).run_test(size=size) as pilot:
            await pilot.pause()
            view.append(text)
            await settle(pilot, view)
            await test(view, pilot)

    asyncio.run(main())


def rows_of(view: AnswerView) -> list[str]:
    return view.screen_text().splitlines()


def test_markdown_is_drawn() -> None:
    async def test(view: AnswerView, pilot: Pilot[None]) -> None:
        view.finish()
        await settle(pilot, view)
        assert rows_of(view) == [
            "A heading",
            "",
            "A paragraph with bold, code and a link",
            "(https://example.org). Its second line.",
            "",
            "• one",
            "• two",
            "  ◦ nested",
            "",
            "1. first",
            "",
            "2. second",
            "",
            "▌ A quote",
            "",
            " def f(x):",
            '     return "…"  # done',
            "",
            "Name │ Note",
            "─────┼──────────────────────────────────",
            "a    │ long enough to be wrapped in a",
            "     │ cell",
            "",
            "────────────────────────────────────────",
            "",
            "The end",
        ]
        assert screen_rows(pilot.app)[: len(rows_of(view))] == rows_of(view)

    run(test, SAMPLE)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_streamed_answer_has_the_rows_of_the_whole(size: int) -> None:
    async def test(view: AnswerView, pilot: Pilot[None]) -> None:
        view.finish()
        await settle(pilot, view)
        expected = rows_of(view)
        view.replace("")
        for start in range(0, len(SAMPLE), size):
            view.append(SAMPLE[start : start + size])
        view.finish()
        await settle(pilot, view)
        assert rows_of(view) == expected
        assert view.text == SAMPLE

    run(test, SAMPLE)


PIECES = [
    "a",
    " b",
    "\n",
    "\n\n",
    "- x",
    "  - y",
    "1. z",
    "```",
    "```py\n",
    "> q",
    "|a|b|\n",
    "|-|-|\n",
    "# h",
    "**",
    "~~~",
]


def parts_of(pieces: list[str]) -> list[object]:
    """Return all parts of a stream, with the lines of a code block together."""
    blocks = MarkdownBlocks()
    parts: list[Part] = [part for piece in pieces for part in blocks.feed(piece)]
    last = blocks.last_piece
    parts += blocks.close()
    joined: list[object] = []
    for part in parts:
        if isinstance(part, FenceLines):
            joined += part.lines
        else:
            joined.append(part)
    return [*joined, "" if last is None else last.source]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), SPLIT_POINTS)
def test_no_text_of_an_answer_is_lost_however_it_is_cut(text: str, points: list[int]) -> None:
    letters = "".join(part for part in text if part.isalpha())
    for pieces in ([text], split_at(text, points)):
        drawn = "".join(map(_source_of, parts_of(pieces)))
        found = sorted(letter for letter in drawn if letter.isalpha())
        infos = "".join(part.info for part in parts_of(pieces) if isinstance(part, FenceStarted))
        assert sorted([*found, *(letter for letter in infos if letter.isalpha())]) == sorted(letters)


def _source_of(part: object) -> str:
    if isinstance(part, MarkdownPiece):
        return part.source
    return part if isinstance(part, str) else ""


@pytest.fixture
def parsed_sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by the size of every text that is parsed."""
    sizes: list[int] = []
    parser = markdown_blocks.PARSER

    class CountingParser:
        def parse(self, source: str) -> list[Token]:
            sizes.append(len(source))
            return parser.parse(source)

    monkeypatch.setattr(markdown_blocks, "PARSER", CountingParser())
    monkeypatch.setattr(answer_module, "PARSER", CountingParser())
    return sizes


def test_a_finished_block_is_not_parsed_again(parsed_sizes: list[int]) -> None:
    async def test(view: AnswerView, pilot: Pilot[None]) -> None:
        parsed_sizes.clear()
        for word in ("And", " so", " on."):
            view.append(word)
        await settle(pilot, view)
        assert max(parsed_sizes) < 100

    run(test, "A paragraph of some words.\n\n" * 500 + "- an item\n" * 500 + "\n")


def test_a_long_table_is_not_parsed_for_every_row(parsed_sizes: list[int]) -> None:
    """A table is one block, so it is drawn again only after it has grown by a share of its length."""

    async def test(view: AnswerView, pilot: Pilot[None]) -> None:
        totals: list[int] = []
        for _ in range(2):
            for _ in range(300):
                view.append("| some words | of a row |\n")
            totals.append(sum(parsed_sizes))
        view.draw_pending()
        await settle(pilot, view)
        assert view.row_count == 1 + 1 + 600
        assert totals[1] - totals[0] < 3 * totals[0]  # twice the rows cost a little more than twice as much

    run(test, "| a | b |\n|---|---|\n")


def test_a_long_code_block_is_highlighted_from_a_checkpoint() -> None:
    blocks = MarkdownBlocks()
    assert blocks.feed("```python\n")[0] == FenceStarted("python", gap=False)
    assert blocks.feed("x = 1\ny") == [FenceLines(["x = 1"], "y")]
    assert blocks.feed("\n``") == [FenceLines(["y"], "")]
    assert blocks.feed("`\n") == [FenceLines([], ""), FenceEnded()]

    async def test(view: AnswerView, pilot: Pilot[None]) -> None:
        lines = [f"x{n} = {n}  # line" for n in range(3 * CHECKPOINT_LINES)]
        view.append("```python\n" + "\n".join(lines) + "\nlast")
        await settle(pilot, view)
        assert [row.strip() for row in rows_of(view)] == [*lines, "last"]
        view.append(" = 1\n```\nDone")
        await settle(pilot, view)
        assert [row.strip() for row in rows_of(view)] == [*lines, "last = 1", "", "Done"]

    run(test)


def test_code_has_the_roles_of_its_tokens() -> None:
    [line] = highlighted_lines(['return "a"  # why'], "python")
    assert [(span.text, span.role) for span in line if span.role != "fence"] == [
        ("return", "fence.keyword"),
        ('"', "fence.string"),
        ("a", "fence.string"),
        ('"', "fence.string"),
        ("# why", "fence.comment"),
    ]
    assert highlighted_lines(["whatever"], "no such language")[0][0].text == "whatever"


def test_links_are_shown_with_their_address_and_clicks_are_reported() -> None:
    clicked: list[str] = []

    class ListeningApp(WidgetApp):
        def on_answer_view_link_clicked(self, event: AnswerView.LinkClicked) -> None:
            clicked.append(event.href)

    async def main() -> None:
        view = AnswerView()
        async with ListeningApp(view).run_test(size=(60, 10)) as pilot:
            await pilot.pause()
            view.append("[docs](https://example.org/x) and [no](javascript:alert(1))")
            await settle(pilot, view)
            assert rows_of(view) == ["docs (https://example.org/x) and [no](javascript:alert(1))"]
            await pilot.click(view, offset=(1, 0))
            await pilot.click(view, offset=(40, 0))
            await pilot.pause()

    asyncio.run(main())
    assert clicked == ["https://example.org/x"]


def test_entities_cannot_bring_control_characters_back() -> None:
    async def test(view: AnswerView, pilot: Pilot[None]) -> None:
        screen = "\n".join(screen_rows(pilot.app))
        assert "\x1b" not in screen
        assert "\u202e" not in screen
        assert "evil" in screen

    run(test, "&#27;[31m &#x9b;2J &#x202e;evil &#10; &#x2028;")


def test_columns_of_a_table_share_the_room() -> None:
    assert column_widths([5, 5], 20) == [5, 5]
    assert column_widths([5, 50], 20) == [5, 15]
    assert column_widths([30, 50], 20) == [10, 10]
    assert column_widths([9, 9, 9], 5) == [4, 4, 4]


def test_sections_of_an_answer_are_kept() -> None:
    async def test(view: AnswerView, pilot: Pilot[None]) -> None:
        sections = list(view.sections)
        view.append("more words")
        assert [one is other for one, other in zip(sections[:-1], view.sections, strict=False)] == [True] * 2
        assert all(isinstance(section, MarkdownSection) for section in view.sections)

    run(test, "one\n\ntwo\n\nthree")


def test_text_may_arrive_while_an_answer_is_wrapped_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_view, "LAYOUT_BUDGET_S", 0)  # one step for every frame

    async def test(view: AnswerView, pilot: Pilot[None]) -> None:
        await pilot.resize_terminal(60, 40)
        for _ in range(10):
            view.append("\n\nMore words arrive.")
            view.screen_text()  # every row can be drawn, though some sections have fewer now
        await settle(pilot, view)
        assert view.screen_text().count("More words arrive.") == 10
        assert rows_of(view)[0] == "Some words that need several rows if they are narrow."

    run(test, "Some words that need several rows if they are narrow.\n\n" * 40, (20, 40))
