"""Draws a table: columns as wide as their text where there is room, else narrower with wrapped cells."""

from itertools import zip_longest

from thinkaloud.surfaces.tui.text.sections import Row, Span
from thinkaloud.surfaces.tui.text.styled_text import width_of, wrap_spans

Cell = list[Span]

SEPARATOR = " │ "
CROSSING = "─┼─"
RULE = "─"
_NARROWEST = 4


def table_rows(cells: list[list[Cell]], columns: int) -> list[Row]:
    """Return the rows of a table whose first row is the header."""
    count = max((len(row) for row in cells), default=0)
    if not count:
        return []
    widths = column_widths(
        [
            max((width_of(row[index]) for row in cells if index < len(row)), default=0)
            for index in range(count)
        ],
        columns - len(SEPARATOR) * (count - 1),
    )
    header = [
        [span._replace(role="strong") if span.role == "text" else span for span in cell] for cell in cells[0]
    ]
    rule = Row((Span(CROSSING.join(RULE * width for width in widths), "gutter"),))
    rows = [*_row(header, widths), rule]
    for row in cells[1:]:
        rows += _row(row, widths)
    return rows


def column_widths(natural: list[int], room: int) -> list[int]:
    """Return the widths of columns: natural if they fit, else the widest are made narrower."""
    widths = [max(1, width) for width in natural]
    limit = max(widths)
    while sum(widths) > room and limit > _NARROWEST:
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
            line = tuple(span._replace(text=span.text.removesuffix("\n")) for span in line)
            spans += [Span(SEPARATOR, "gutter")] if index else []
            spans += [*line, Span(" " * max(0, width - width_of(line)))]
        rows.append(Row(tuple(spans)))
    return rows or [Row(())]
