"""Draws blocks of Markdown as rows: paragraphs, headings, lists, quotes, tables, code and rules.

Raw HTML is text, and images are their description: nothing is loaded.
"""

from collections.abc import Callable, Mapping
from typing import ClassVar

from markdown_it.token import Token

from thinkaloud.surfaces.tui.text.code_block import highlighted_lines
from thinkaloud.surfaces.tui.text.inline_text import inline_spans
from thinkaloud.surfaces.tui.text.sections import Row, Span
from thinkaloud.surfaces.tui.text.styled_text import prefixed_rows
from thinkaloud.surfaces.tui.text.table_rows import table_rows

BULLETS = ("•", "◦", "▪")
QUOTE = "▌ "
RULE = "─"


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
            mark, self._lists[-1] = f"{number}. ", number + 1
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
        if self.rows and not (self._lists and self._tight):
            prefix = "".join(
                first if first == rest else " " * len(first)
                for first, rest in zip(self._first, self._rest, strict=True)
            )
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
