"""Draws blocks of Markdown as rows: paragraphs, headings, lists, quotes, tables, code and rules.

Raw HTML is text, and images are their description: nothing is loaded. The address of a link is shown behind
its text unless they are the same, because a terminal has no other place to show where a link leads.
"""

from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import ClassVar

from markdown_it.token import Token

from thinkaloud.surfaces.chat.display import link_allowed
from thinkaloud.surfaces.tui.text.code_block import highlighted_lines
from thinkaloud.surfaces.tui.text.sections import Row, Span, prefixed_rows, width_of, wrap_spans

BULLETS = ("•", "◦", "▪")
QUOTE = "▌ "
RULE = "─"
SEPARATOR = " │ "
CROSSING = "─┼─"

_NARROWEST_COLUMN = 4
_LITERALS = {"softbreak": " ", "hardbreak": "\n"}

Cell = list[Span]
"""The text of a cell of a table."""


def markdown_rows(tokens: list[Token], columns: int) -> list[Row]:
    """Return the rows of a piece of Markdown."""
    drawing = _Drawing(columns)
    for token in tokens:
        drawing.take(token)
    return drawing.rows


class _Drawing:
    """The rows so far, and the lists and quotes that are open."""

    def __init__(self, columns: int) -> None:
        self.rows: list[Row] = []
        self._columns = columns
        self._first: list[str] = []  # the prefix of the next row, by open list item or quote
        self._rest: list[str] = []  # the prefix of the rows after it
        self._lists: list[int | None] = []  # the next number of each open list; None for bullets
        self._tight = False
        self._heading = False
        self._table: list[list[list[Span]]] | None = None

    def take(self, token: Token) -> None:
        """Draw one token; tokens that are not drawn are the insides of others."""
        if draw := self._DRAW.get(token.type):
            draw(self, token)

    def _paragraph(self, token: Token) -> None:
        self._tight = token.hidden

    def _heading_edge(self, token: Token) -> None:
        self._heading = token.nesting > 0

    def _quote(self, token: Token) -> None:
        self._open(QUOTE, QUOTE)

    def _rule(self, token: Token) -> None:
        self._gap()
        self._text([Span(RULE * max(1, self._columns - len("".join(self._rest))), "gutter")])

    def _list(self, token: Token) -> None:
        if token.type == "bullet_list_open":
            self._lists.append(None)
        elif token.type == "ordered_list_open":
            self._lists.append(int(token.attrs.get("start", 1)))
        else:
            self._lists.pop()

    def _open_item(self, token: Token) -> None:
        number = self._lists[-1]
        if number is None:
            mark = BULLETS[(len(self._lists) - 1) % len(BULLETS)] + " "
        else:
            mark = f"{number}. "
            self._lists[-1] = number + 1
        self._open(mark, " " * len(mark))

    def _open(self, first: str, rest: str) -> None:
        self._first.append(first)
        self._rest.append(rest)

    def _close(self, token: Token) -> None:
        if self._first[-1] != self._rest[-1]:
            self._text([Span("\n")])  # an empty list item still has its mark
        self._first.pop()
        self._rest.pop()

    def _gap(self) -> None:
        """Add an empty row between blocks; the items of a tight list have none between them."""
        if not self.rows or (self._lists and self._tight):
            return
        prefix = ""
        for first, rest in zip(self._first, self._rest, strict=True):
            # The mark of a list item, which only the first row has, belongs to the row after the gap.
            prefix += first if first == rest else " " * len(first)
        self.rows.append(Row((Span(prefix, "gutter"),), len(prefix)))

    def _text(self, spans: list[Span], fill: str = "") -> None:
        first, rest = "".join(self._first), "".join(self._rest)
        self.rows += prefixed_rows(spans, self._columns, first=first, rest=rest, fill=fill)
        self._first = list(self._rest)

    def _inline(self, token: Token) -> None:
        spans = inline_spans(token.children or [], "heading" if self._heading else "text")
        if self._table is not None:
            self._table[-1].append(spans)
            return
        self._gap()
        self._text(spans)

    def _code(self, token: Token) -> None:
        self._gap()
        lines = token.content.removesuffix("\n").split("\n")
        language = token.info.split()[0] if token.info.split() else ""
        for spans in highlighted_lines(lines, language):
            self._text([Span(" ", "fence"), *spans, Span("\n", "fence")], "fence")

    def _table_part(self, token: Token) -> None:
        if token.type == "table_open":
            self._table = []
        elif token.type == "tr_open" and self._table is not None:
            self._table.append([])
        elif self._table is not None:
            cells, self._table = self._table, None
            self._gap()
            prefix = "".join(self._rest)
            for row in table_rows(cells, self._columns - len(prefix)):
                self.rows.append(row._replace(spans=(Span(prefix, "gutter"), *row.spans), gutter=len(prefix)))

    _DRAW: ClassVar[Mapping[str, Callable[["_Drawing", Token], None]]] = {
        "inline": _inline,
        "paragraph_open": _paragraph,
        "heading_open": _heading_edge,
        "heading_close": _heading_edge,
        "bullet_list_open": _list,
        "bullet_list_close": _list,
        "ordered_list_open": _list,
        "ordered_list_close": _list,
        "list_item_open": _open_item,
        "list_item_close": _close,
        "blockquote_open": _quote,
        "blockquote_close": _close,
        "fence": _code,
        "code_block": _code,
        "hr": _rule,
        "table_open": _table_part,
        "tr_open": _table_part,
        "table_close": _table_part,
    }


def inline_spans(children: list[Token], role: str = "text") -> list[Span]:
    """Return inline tokens as spans; `role` is the role of plain text."""
    text = _InlineText(role)
    for child in children:
        text.take(child)
    return text.spans


class _InlineText:
    """The spans of a paragraph, a heading or a cell."""

    def __init__(self, role: str) -> None:
        self.spans: list[Span] = []
        self._role = role
        self._marks: list[str] = []
        self._link = ""
        self._link_start = 0

    def take(self, token: Token) -> None:
        match token.type:
            case "link_open":
                self._open_link(str(token.attrs.get("href", "")))
            case "link_close":
                self._close_link()
            case "code_inline":
                self._add(token.content, "code")
            case "image":
                self._add(f"🖼 {token.content}", self._role)
                self._add(f" ({token.attrs.get('src', '')})", "quiet")
            case _ if token.nesting > 0:
                self._marks.append(token.tag)
            case _ if token.nesting < 0:
                self._marks.pop()
            case _:
                self._add(_LITERALS.get(token.type, token.content), self._text_role())

    def _add(self, text: str, role: str) -> None:
        if text:
            self.spans.append(Span(text, role, self._link))

    def _open_link(self, address: str) -> None:
        self._link = address if link_allowed(address) else ""
        self._link_start = len(self.spans)

    def _close_link(self) -> None:
        text = "".join(span.text for span in self.spans[self._link_start :])
        if self._link and text not in (self._link, self._link.removeprefix("mailto:")):
            self._add(f" ({self._link})", "quiet")
        self._link = ""

    def _text_role(self) -> str:
        if self._link:
            return "link"
        if "s" in self._marks:
            return "strike"
        if self._role != "text" or not self._marks:
            return self._role
        if len(set(self._marks)) > 1:
            return "strong.emphasis"
        return "strong" if self._marks[0] == "strong" else "emphasis"


def table_rows(cells: list[list[Cell]], columns: int) -> list[Row]:
    """Return the rows of a table whose first row is the header.

    Columns are as wide as their text where there is room, else narrower with wrapped cells.
    """
    count = max((len(row) for row in cells), default=0)
    if not count:
        return []
    natural = [0] * count
    for row in cells:
        for index, cell in enumerate(row):
            natural[index] = max(natural[index], width_of(cell))
    widths = column_widths(natural, columns - len(SEPARATOR) * (count - 1))
    header = [_header_cell(cell) for cell in cells[0]]
    rule = Row((Span(CROSSING.join(RULE * width for width in widths), "gutter"),))
    rows = [*_row(header, widths), rule]
    for row in cells[1:]:
        rows += _row(row, widths)
    return rows


def _header_cell(cell: Cell) -> Cell:
    """Return a cell whose plain text is bold; text with a look of its own keeps it."""
    return [span._replace(role="strong") if span.role == "text" else span for span in cell]


def column_widths(natural: list[int], room: int) -> list[int]:
    """Return the widths of columns: natural if they fit, else the widest are made narrower."""
    widths = [max(1, width) for width in natural]
    limit = max(widths)
    while sum(widths) > room and limit > _NARROWEST_COLUMN:
        limit -= 1
        widths = [min(width, limit) for width in widths]
    return widths


def _row(cells: list[Cell], widths: list[int]) -> list[Row]:
    """Return the rows of one row of cells; its height is that of its highest cell."""
    padded = [*cells, *([] for _ in range(len(widths) - len(cells)))]
    wrapped = [wrap_spans(cell, width) for cell, width in zip(padded, widths, strict=True)]
    rows: list[Row] = []
    for lines in zip_longest(*wrapped, fillvalue=()):
        spans: list[Span] = []
        for index, (line, width) in enumerate(zip(lines, widths, strict=True)):
            if index:
                spans.append(Span(SEPARATOR, "gutter"))
            line = tuple(span._replace(text=span.text.removesuffix("\n")) for span in line)
            padding = max(0, width - width_of(line))
            spans += [*line, Span(" " * padding)]
        rows.append(Row(tuple(spans)))
    return rows or [Row(())]
