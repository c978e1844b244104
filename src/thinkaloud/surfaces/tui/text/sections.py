"""Sections: the parts of a line view, each laid out in rows of text with roles.

A row is a value: the same row is drawn once and then taken from a cache. Sections are laid out for a number
of columns. A section that is long is laid out for other columns in steps, and shows its old rows meanwhile.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from rich.cells import cell_len

from thinkaloud.core.view.text import first_columns, last_columns
from thinkaloud.surfaces.terminal import TerminalCleaner, clean
from thinkaloud.surfaces.tui.text.wrap import WrappedText, wrap_rows

MIN_TEXT_COLUMNS = 16
"""A header gives up its badge rather than show less of its text than this."""
_PIECE_SIZE = 16_384
"""Characters that are wrapped in one step."""


class Span(NamedTuple):
    """A piece of a row with the role that decides its look."""

    text: str
    role: str = "text"
    href: str = ""
    """The address of a link."""


class Row(NamedTuple):
    """One row of the screen. `gutter` is the number of leading characters that are not copied."""

    spans: tuple[Span, ...]
    gutter: int = 0
    continues: bool = False
    """Whether the next row belongs to the same line of text."""
    fill: str = ""
    """The role of the rest of the row."""

    @property
    def text(self) -> str:
        """The characters of the row."""
        return "".join(span.text for span in self.spans)


class Section(Protocol):
    """A part of a line view. A section has no rows before it is laid out."""

    key: int | None
    """What a click on the section toggles; None for text."""

    @property
    def height(self) -> int:
        """The number of rows."""

    def row(self, index: int) -> Row:
        """Return one row."""

    def lay_out(self, columns: int) -> Iterator[None]:
        """Lay the section out for so many columns, step by step; the rows change with the last step."""


def clean_line(text: str) -> str:
    """Return a text that is safe for a terminal, in one line."""
    return clean(text).replace("\n", " ").replace("\t", " ")


class HeaderLine:
    """A line that is never wrapped: text that is cut where there is no room for it, and what stays in sight.

    `badge` follows the text, `right` is at the right edge, and `hint` is left out if there is no room for it.
    """

    def __init__(
        self, *text: Span, badge: str = "", right: str = "", hint: str = "", key: int | None = None
    ) -> None:
        self.key = key
        self.current = False
        """Whether the line is the one that keys act on."""
        self._text = tuple(span._replace(text=clean_line(span.text)) for span in text)
        self._badge = badge
        self._right = right
        self._hint = hint
        self._columns = 0

    @property
    def height(self) -> int:
        """The number of rows: one."""
        return 1

    def row(self, index: int) -> Row:
        """Return the line, cut to the columns with an ellipsis."""
        right = Span(f" {self._right}" if self._right else "", "header")
        badge = Span(f"  {self._badge}" if self._badge else "", "header")
        hint = Span(f" {self._hint}" if self._hint else "", "quiet")
        room = self._columns - cell_len(right.text)
        if room - cell_len(badge.text) < MIN_TEXT_COLUMNS:
            badge = Span("")
        spans, width = _cut_spans(self._text, room - cell_len(badge.text))
        for part in (badge, hint):
            part_width = cell_len(part.text)
            if part.text and width + part_width <= room:
                spans = (*spans, part)
                width += part_width
        if right.text:
            gap = Span(" " * (room - width))  # so that it stands at the right edge
            spans = (*spans, gap, right)
        if self.current:
            spans = tuple(span._replace(role="header.current") for span in spans)
        return Row(spans)

    def lay_out(self, columns: int) -> Iterator[None]:
        """Take the number of columns."""
        self._columns = columns
        yield


class NewestLine:
    """The end of a line that grows, cut at its start."""

    def __init__(self, prefix: str, text: str) -> None:
        self.key: int | None = None
        self._prefix = prefix
        self._text = clean_line(text)
        self._columns = 0

    @property
    def height(self) -> int:
        """The number of rows: one."""
        return 1

    def replace(self, text: str) -> None:
        """Replace the line."""
        self._text = clean_line(text)

    def row(self, index: int) -> Row:
        """Return the end of the line."""
        text = last_columns(self._text, self._columns - cell_len(self._prefix))
        return Row((Span(self._prefix, "gutter"), Span(text, "quiet")), len(self._prefix))

    def lay_out(self, columns: int) -> Iterator[None]:
        """Take the number of columns."""
        self._columns = columns
        yield


class TextSection:
    """Text that grows, wrapped behind a prefix."""

    def __init__(self, prefix: str = "", role: str = "text", *, first_prefix: str | None = None) -> None:
        self.key: int | None = None
        self.source_length = 0
        """How many characters of the source are in this section."""
        self._prefix = prefix
        self._first_prefix = prefix if first_prefix is None else first_prefix
        self._role = role
        self._cleaner = TerminalCleaner()
        self._wrapped: WrappedText | None = None
        self._waiting: deque[str] = deque()  # text that is not wrapped yet

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(self._wrapped.rows) if self._wrapped else 0

    def append(self, text: str) -> int:
        """Append text from a model, and return the index of the first row that changed."""
        self.source_length += len(text)
        text = self._cleaner.feed(text)
        if self._wrapped and not self._waiting:
            return self._wrapped.append(text)
        self._waiting.extend(text[at : at + _PIECE_SIZE] for at in range(0, len(text), _PIECE_SIZE))
        return self.height

    def row(self, index: int) -> Row:
        """Return one row with its prefix."""
        assert self._wrapped is not None, "a section without layout has no rows"
        text = self._wrapped.rows[index]
        prefix = self._prefix if index else self._first_prefix
        spans = (Span(prefix, "gutter"), Span(text.removesuffix("\n"), self._role))
        return Row(spans, len(prefix), continues=not text.endswith("\n"))

    def lay_out(self, columns: int) -> Iterator[None]:
        """Wrap the text, a piece at a time."""
        columns -= cell_len(self._prefix)
        if self._wrapped is None:
            self._wrapped = WrappedText(columns)
        else:
            self._wrapped = yield from self._wrapped.rewrap(columns)
        while self._waiting:
            self._wrapped.append(self._waiting.popleft())
            yield


def _cut_spans(spans: tuple[Span, ...], columns: int) -> tuple[tuple[Span, ...], int]:
    """Return the spans that fit, the last of them cut with an ellipsis, and their width."""
    fitting: list[Span] = []
    width = 0
    for span in spans:
        room = columns - width
        span_width = cell_len(span.text)
        if span_width > room:
            cut = first_columns(span.text, room)
            return (*fitting, span._replace(text=cut)), width + cell_len(cut)
        fitting.append(span)
        width += span_width
    return tuple(fitting), width


def wrap_spans(spans: Iterable[Span], columns: int) -> list[tuple[Span, ...]]:
    """Return the spans in rows of at most `columns`; each row keeps its newline, if it has one."""
    pieces = [span for span in spans if span.text]
    rows: list[tuple[Span, ...]] = []
    index = offset = 0
    for text in wrap_rows("".join(span.text for span in pieces), max(1, columns)):
        row: list[Span] = []
        missing = len(text)
        while missing:
            span = pieces[index]
            part = span.text[offset : offset + missing]
            row.append(span._replace(text=part))
            missing -= len(part)
            offset += len(part)
            if offset == len(span.text):
                index, offset = index + 1, 0
        rows.append(tuple(row))
    return rows


def prefixed_rows(
    spans: Iterable[Span], columns: int, *, first: str = "", rest: str = "", fill: str = ""
) -> list[Row]:
    """Return text as rows, the first row behind one prefix and the others behind another."""
    rows: list[Row] = []
    for index, row in enumerate(wrap_spans(spans, columns - cell_len(rest))):
        prefix = rest if index else first
        continues = not row[-1].text.endswith("\n")
        content = (*row[:-1], row[-1]._replace(text=row[-1].text.removesuffix("\n")))
        rows.append(Row((Span(prefix), *content), len(prefix), continues, fill))
    if rows:
        rows[-1] = rows[-1]._replace(continues=False)
    return rows


def width_of(spans: Iterable[Span]) -> int:
    """Return the number of columns of spans in one line."""
    return sum(cell_len(span.text) for span in spans)
