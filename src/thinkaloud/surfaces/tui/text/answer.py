"""The answer of a turn as Markdown, drawn while it streams.

A block of Markdown, or an item of a list, is complete when another one follows it; it is drawn once and kept.
Only the last one is parsed again when text arrives, and a code block only grows. A very long last block is
drawn again only after it has grown by a share of its length, so that the cost of the whole stays linear.
"""

from collections.abc import Iterator

from textual import events
from textual.message import Message

from thinkaloud.surfaces.terminal import TerminalCleaner
from thinkaloud.surfaces.tui.text.code_block import CodeBlock
from thinkaloud.surfaces.tui.text.line_view import LineView
from thinkaloud.surfaces.tui.text.markdown_blocks import (
    PARSER,
    FenceEnded,
    FenceLines,
    FenceStarted,
    MarkdownBlocks,
    MarkdownPiece,
    Part,
)
from thinkaloud.surfaces.tui.text.markdown_rows import markdown_rows
from thinkaloud.surfaces.tui.text.sections import Row, Section

LONG_BLOCK = 2_000
"""Characters of a last block that is drawn with every frame."""
GROWTH_SHARE = 10
"""A longer one is drawn again after it has grown by this part of its length."""


class MarkdownSection:
    """A section with a piece of Markdown."""

    def __init__(self, piece: MarkdownPiece) -> None:
        self.key: int | None = None
        self._piece = piece
        self._rows: list[Row] = []

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(self._rows)

    def row(self, index: int) -> Row:
        """Return one row."""
        return self._rows[index]

    def lay_out(self, columns: int) -> Iterator[None]:
        """Draw the piece for so many columns."""
        source, gap, tokens = self._piece
        if tokens is None:
            tokens = PARSER.parse(source)
        self._piece = MarkdownPiece(source, gap)  # tokens need much memory, and another width is rare
        self._rows = markdown_rows(tokens, columns)
        if gap and self._rows:
            self._rows = [Row(()), *self._rows]
        yield


class AnswerView(LineView):
    """Draws the answer of a turn while it streams."""

    class LinkClicked(Message):
        """A link of the answer was clicked. Its scheme is http, https or mailto."""

        def __init__(self, view: "AnswerView", href: str) -> None:
            super().__init__()
            self.view = view
            self.href = href

        @property
        def control(self) -> "AnswerView":
            """The answer."""
            return self.view

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self._source: list[str] = []
        self.replace(text)

    @property
    def text(self) -> str:
        """The source of the answer."""
        self._source = ["".join(self._source)]
        return self._source[0]

    def replace(self, text: str) -> None:
        """Replace the whole answer."""
        self._source = []
        self._blocks = MarkdownBlocks()
        self._cleaner = TerminalCleaner()
        self._complete = 0  # the number of sections that are complete
        self._pending = ""  # text that is not drawn yet
        self.display = False
        self.replace_sections([])
        self.append(text)

    def append(self, text: str) -> None:
        """Append text to the answer."""
        if not text:
            return
        self._source.append(text)
        self._pending += self._cleaner.feed(text)
        last_block = len(self._blocks.rest)
        if last_block < LONG_BLOCK or len(self._pending) * GROWTH_SHARE >= last_block:
            self.draw_pending()

    def draw_pending(self) -> None:
        """Draw all text that has arrived."""
        if self._pending:
            pending, self._pending = self._pending, ""
            self._take(self._blocks.feed(pending))

    def finish(self) -> None:
        """Draw the end of an answer that is complete."""
        self.draw_pending()
        self._take(self._blocks.close())

    def on_click(self, event: events.Click) -> None:
        """Report a click on a link."""
        href = event.style.meta.get("href")
        if href:
            self.post_message(self.LinkClicked(self, href))

    def _take(self, parts: list[Part]) -> None:
        """Draw complete parts, and the last block as it is so far."""
        first = self._complete
        sections: list[Section] = []
        for part in parts:
            match part:
                case MarkdownPiece():
                    sections.append(MarkdownSection(part))
                case FenceStarted():
                    sections.append(CodeBlock(part.language, gap=part.gap))
                case FenceLines() | FenceEnded():
                    self._take_code(part, sections)
        self._complete += len(sections)
        if (last_piece := self._blocks.last_piece) is not None:
            sections.append(MarkdownSection(last_piece))
        if sections or first < len(self.sections):
            self.replace_sections(sections, first=first)
        self.display = bool(self.sections)

    def _take_code(self, part: FenceLines | FenceEnded, sections: list[Section]) -> None:
        """Append lines to the code block that is open, which is the last complete section."""
        block = sections[-1] if sections else self.sections[self._complete - 1]
        assert isinstance(block, CodeBlock)
        first_row = 0
        if isinstance(part, FenceLines):
            first_row = block.append(part.lines, part.partial_line)
        else:
            block.finish()
        if not sections:
            self.section_changed(self._complete - 1, first_row)
