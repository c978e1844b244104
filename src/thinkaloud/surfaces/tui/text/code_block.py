"""A fenced code block that grows line by line, with syntax highlighting.

Only the lines since the last checkpoint are highlighted again when a line arrives, so the cost does not grow
with the block. A construct that crosses a checkpoint, such as a long string, may have wrong colours until the
block is complete; then a block of ordinary size is highlighted once as a whole.
"""

from collections.abc import Iterator

from textual.highlight import HighlightTheme, highlight

from thinkaloud.surfaces.tui.text.sections import Row, Span, prefixed_rows
from thinkaloud.surfaces.tui.text.wrap import TAB

CHECKPOINT_LINES = 40
WHOLE_BLOCK_SIZE = 50_000
"""Characters of a block that is highlighted as a whole once it is complete."""
MARGIN = " "

_ROLES_BY_TOKEN = {
    ("Comment",): "fence.comment",
    ("Keyword",): "fence.keyword",
    ("Operator", "Word"): "fence.keyword",
    ("Literal", "String"): "fence.string",
    ("Literal", "Number"): "fence.number",
    ("Name", "Function"): "fence.name",
    ("Name", "Class"): "fence.name",
    ("Name", "Builtin"): "fence.name",
    ("Name", "Decorator"): "fence.name",
    ("Name", "Tag"): "fence.name",
    ("Name", "Attribute"): "fence.name",
    ("Generic", "Deleted"): "fence.string",
}


def _token_roles() -> dict[tuple[str, ...], str]:
    """Return the role of every token that has one; a token has the role of the kind that it belongs to."""
    roles: dict[tuple[str, ...], str] = {}
    for token in HighlightTheme.STYLES:
        for kind, role in _ROLES_BY_TOKEN.items():
            if tuple(token)[: len(kind)] == kind:
                roles[token] = role
    return roles


class _RoleTheme(HighlightTheme):
    """Names the role of each token instead of a style."""

    STYLES = _token_roles()


class CodeBlock:
    """A section with the lines of a code block."""

    def __init__(self, language: str, *, gap: bool) -> None:
        self.key: int | None = None
        self._language = language
        self._gap = [Row(())] if gap else []
        self._lines: list[str] = []
        self._partial_line = ""
        self._complete = False
        self._columns = 0
        self._rows: list[Row] = []
        self._checkpoint = 0  # lines before it are not highlighted again
        self._checkpoint_rows = 0

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(self._rows)

    def row(self, index: int) -> Row:
        """Return one row."""
        return self._rows[index]

    def append(self, lines: list[str], partial_line: str = "") -> int:
        """Append complete lines and replace the line that is not complete; return the first changed row."""
        first_row = self._checkpoint_rows
        self._lines += lines
        self._partial_line = partial_line
        self._draw_end()
        return first_row

    def finish(self) -> None:
        """Highlight the complete block as a whole, unless it is very long."""
        self._complete = sum(map(len, self._lines)) <= WHOLE_BLOCK_SIZE
        if self._complete and self._columns:
            self._rows = self._gap + self._line_rows(self._lines, self._columns)

    def lay_out(self, columns: int) -> Iterator[None]:
        """Wrap the lines again, some at a time."""
        rows, checkpoint = list(self._gap), 0
        while not self._complete and len(self._lines) - checkpoint >= CHECKPOINT_LINES:
            end = checkpoint + CHECKPOINT_LINES
            rows += self._line_rows(self._lines[checkpoint:end], columns)
            checkpoint = end
            yield
        self._columns = columns
        self._rows = rows
        self._checkpoint, self._checkpoint_rows = checkpoint, len(rows)
        self._draw_end()

    def _draw_end(self) -> None:
        """Draw the lines behind the checkpoint, and move it when there are many."""
        if not self._columns:
            return
        del self._rows[self._checkpoint_rows :]
        while not self._complete and len(self._lines) - self._checkpoint >= CHECKPOINT_LINES:
            end = self._checkpoint + CHECKPOINT_LINES
            self._rows += self._line_rows(self._lines[self._checkpoint : end], self._columns)
            self._checkpoint, self._checkpoint_rows = end, len(self._rows)
        partial = [self._partial_line] if self._partial_line else []
        self._rows += self._line_rows(self._lines[self._checkpoint :] + partial, self._columns)

    def _line_rows(self, lines: list[str], columns: int) -> list[Row]:
        rows: list[Row] = []
        for spans in highlighted_lines(lines, self._language):
            line_rows = prefixed_rows(spans, columns, first=MARGIN, rest=MARGIN, fill="fence")
            rows += [_in_code(row) for row in line_rows] or [Row((Span(MARGIN, "fence"),), 1, fill="fence")]
        return rows


def highlighted_lines(lines: list[str], language: str) -> list[list[Span]]:
    """Return lines of code in spans with the roles of their tokens."""
    code = "\n".join(line.replace("\t", TAB) for line in lines)
    content = highlight(code, language=language or "text", theme=_RoleTheme)
    result: list[list[Span]] = [[]]
    position = 0

    def add(end: int, role: str) -> None:
        nonlocal position
        for index, part in enumerate(code[position:end].split("\n")):
            if index:
                result.append([])
            if part:
                result[-1].append(Span(part, role))
        position = max(position, end)

    for start, end, role in content.spans:
        if isinstance(role, str) and role.startswith("fence."):
            add(start, "fence")
            add(min(end, len(code)), role)
    add(len(code), "fence")
    return result if lines else []


def _in_code(row: Row) -> Row:
    """Return a row whose margin has the background of code."""
    margin, *spans = row.spans
    return row._replace(spans=(margin._replace(role="fence"), *spans))
