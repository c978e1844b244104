"""The sections of a thinking panel on a terminal, made from its rows.

A header stands behind `▶` or `▼`; a bar with a summary has its chevron at the right edge. Below a header,
text stands behind a gutter. A header in quotes has no icon.
"""

from typing import Protocol

from thinkaloud.core.canon import Kind
from thinkaloud.core.view import PANEL, HeaderStyle, OpenState, Policy, ThinkingState
from thinkaloud.core.view.labels import ICONS, TOOL_ICON
from thinkaloud.core.view.plain import ASSISTANT_ICON, INDENT, MAX_INDENT_LEVELS, RESULT_ARROW
from thinkaloud.surfaces.chat.panel_rows import (
    SEPARATOR,
    FooterRow,
    HeaderRow,
    MarkerRow,
    NewestLineRow,
    PanelRow,
    PassageRow,
    ThoughtRow,
)
from thinkaloud.surfaces.tui.text.sections import HeaderLine, Section, Span

CLOSED, OPEN = "▶", "▼"
BAR_CLOSED, BAR_OPEN = "›", "⌄"
GUTTER = "│ "
STATUS_ICONS = {
    ThinkingState.THINKING: ICONS[ThinkingState.THINKING],
    ThinkingState.DONE: "✓",
    ThinkingState.ERROR: ICONS[ThinkingState.ERROR],
    ThinkingState.INTERRUPTED: "■",
}
_KIND_ICONS = {Kind.TOOL_CALL: f"{TOOL_ICON} ", Kind.ASSISTANT_CALL: f"{ASSISTANT_ICON} "}


class TextSource(Protocol):
    """Where the sections with text come from; a section is kept while its text only grows."""

    def thought(self, row: ThoughtRow, prefix: str) -> Section:
        """Return the section with the whole text of a thought, or the line for one that cannot be read."""

    def newest_line(self, number: int | None, text: str, prefix: str) -> Section:
        """Return the newest line of a thought that streams, or another line if no thought does."""

    def passage(self, text: str, prefix: str, first_prefix: str) -> Section:
        """Return a section with a text that does not grow."""


def panel_sections(rows: list[PanelRow], policy: Policy, source: TextSource) -> list[Section]:
    """Return the sections of a panel."""
    bar = policy.header is HeaderStyle.SUMMARY
    return [_section(row, bar, source) for row in rows]


def _section(row: PanelRow, bar: bool, source: TextSource) -> Section:
    match row:
        case HeaderRow(key=key) if key == PANEL:
            return _panel_header(row, bar)
        case HeaderRow():
            return _step_header(row)
        case ThoughtRow():
            return source.thought(row, _prefix(row.depth))
        case NewestLineRow():
            return source.newest_line(row.block, row.text, _prefix(row.depth))
        case PassageRow():
            prefix = _prefix(row.depth)
            return source.passage(row.text, prefix, f"{prefix}{RESULT_ARROW} " if row.result else prefix)
        case FooterRow():
            status = f"{STATUS_ICONS[row.status]} {row.status_text}" if row.status_text else ""
            facts = SEPARATOR.join(fact for fact in (status, *row.facts) if fact)
            return HeaderLine(Span(facts, _role(row.status) if bar else "header"))
        case MarkerRow():
            return HeaderLine(Span(row.text, "header"), key=PANEL)


def _panel_header(row: HeaderRow, bar: bool) -> Section:
    text = Span(f"{ICONS[row.status]} {row.line}", _role(row.status))
    if bar:
        if row.facts and row.status is ThinkingState.DONE:
            done = f"{STATUS_ICONS[row.status]} {SEPARATOR.join(row.facts)}"
            text = Span(f"{ICONS[row.status]} {row.label}{SEPARATOR}{done}", "header")
        right = BAR_OPEN if row.expanded else BAR_CLOSED
        return HeaderLine(text, badge=row.badge, right=right, key=PANEL)
    chevron = Span(f"{_chevron(row.open)} ", "header")
    if row.quoted:
        return HeaderLine(chevron, Span(f'"{row.label}"', "header"), hint=row.hint, key=PANEL)
    return HeaderLine(chevron, text, badge=row.badge, key=PANEL)


def _step_header(row: HeaderRow) -> Section:
    chevron = Span(f"{_indent(row.depth)}{_chevron(row.open)} ", "header")
    if row.quoted:
        return HeaderLine(chevron, Span(f'"{row.label}"', "header"), hint=row.hint, key=row.key)
    if row.kind is None or row.kind is Kind.REASONING:
        return HeaderLine(chevron, Span(row.line, _role(row.status)), key=row.key)
    mark = "" if row.status is ThinkingState.DONE else f"{STATUS_ICONS[row.status]} "
    name = Span(f"{mark}{_KIND_ICONS[row.kind]}{row.label}", _role(row.status))
    given = Span(f"  {row.text}" if row.text else "", "quiet")
    return HeaderLine(chevron, name, given, badge=row.duration, key=row.key)


def _indent(depth: int) -> str:
    return INDENT * min(depth, MAX_INDENT_LEVELS)


def _prefix(depth: int) -> str:
    return f"{_indent(depth)}{GUTTER}"


def _chevron(state: OpenState) -> str:
    return CLOSED if state is OpenState.COLLAPSED else OPEN


def _role(status: ThinkingState) -> str:
    return "error" if status is ThinkingState.ERROR else "header"
