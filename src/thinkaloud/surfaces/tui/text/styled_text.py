"""Text with roles, wrapped into rows behind prefixes."""

from collections.abc import Iterable

from rich.cells import cell_len

from thinkaloud.surfaces.tui.text.sections import Row, Span
from thinkaloud.surfaces.tui.text.wrap import wrap_rows


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
