"""The thinking of one turn: a header line, and below it as much of the thoughts and steps as is open.

The panel draws a turn and changes nothing in it. The view decides words and states; a person's choices are
kept here. Text that streams is appended to what is drawn; everything else is drawn from a new view.
A header stands behind `▶` or `▼`; a bar with a summary has its chevron at the right edge. Below a header,
text stands behind a gutter. A header in quotes has no icon.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget

from thinkaloud.core.canon import Kind
from thinkaloud.core.transcript import Turn
from thinkaloud.core.view import (
    PANEL,
    HeaderStyle,
    OpenState,
    Policy,
    ThinkingState,
    ThinkingView,
    UserChoices,
    Words,
    tail,
    view,
)
from thinkaloud.core.view.labels import ICONS, TOOL_ICON
from thinkaloud.core.view.plain import ASSISTANT_ICON, INDENT, MAX_INDENT_LEVELS, RESULT_ARROW
from thinkaloud.core.view.state import hidden_reason
from thinkaloud.surfaces.chat.panel_rows import (
    SEPARATOR,
    FooterRow,
    HeaderRow,
    MarkerRow,
    NewestLineRow,
    PanelRow,
    PassageRow,
    ThoughtRow,
    panel_rows,
    text_after,
    toggled_choices,
)
from thinkaloud.surfaces.tui.text.line_view import LineView
from thinkaloud.surfaces.tui.text.sections import HeaderLine, NewestLine, Section, Span, TextSection

Clock = Callable[[], int | None]
"""Returns the present time in milliseconds, on the clock of the entries; None if it is unknown."""

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


class ThinkingPanel(LineView, can_focus=True):
    """Draws the thinking of a turn. Headers are opened and closed by a click, Enter or Space."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "toggle_current", "Open or close"),
        Binding("up", "move(-1)", "Previous step", show=False),
        Binding("down", "move(1)", "Next step", show=False),
    ]

    class Toggled(Message):
        """A person opened or closed a block. `number` is a block, or `PANEL` for all of the panel."""

        def __init__(self, panel: "ThinkingPanel", number: int, open: bool) -> None:
            super().__init__()
            self.panel = panel
            self.number = number
            self.open = open

        @property
        def control(self) -> "ThinkingPanel":
            """The panel."""
            return self.panel

    def __init__(
        self,
        turn: Turn,
        *,
        policy: Policy,
        locale: str,
        clock: Clock,
        choices: Mapping[int, bool] | None = None,
    ) -> None:
        super().__init__()
        self.turn = turn
        self.policy = policy
        self.locale = locale
        self.view: ThinkingView | None = None
        """What is drawn; None if the turn has no thinking."""
        self._user_choices = UserChoices()
        self.choices.update(choices or {})
        self._clock = clock
        self._current_key = PANEL
        self._rows: list[PanelRow] = []
        self._source = _TurnText(turn)
        self.redraw()

    @property
    def choices(self) -> dict[int, bool]:
        """What a person opened (True) or closed (False) under this policy, by block number or `PANEL`."""
        return self._user_choices.current(self.policy)

    def redraw(self) -> None:
        """Draw the turn as it is now."""
        self.view = view(self.turn, self.policy, self.locale, now_ms=self._clock(), choices=self.choices)
        self._rows = []
        if self.view is not None:
            self._rows = panel_rows(self.view, self.policy, Words(self.locale))
        sections = self._source.sections(self._rows, bar=self.policy.header is HeaderStyle.SUMMARY)
        self.display = bool(sections)
        self.replace_sections(sections)
        self._mark_current()

    def grow(self) -> None:
        """Draw the text that was appended to thoughts; nothing else has changed."""
        for index, first_row in self._source.grow(self.sections):
            self.section_changed(index, first_row)

    def show_turn(self, turn: Turn) -> None:
        """Draw another turn, or the same one after its text was changed and not only appended to."""
        self.turn = turn
        self._source = _TurnText(turn)
        self.redraw()

    def choose(self, number: int, open: bool | None) -> None:
        """Open or close a block, or the panel; None lets the policy decide again."""
        if open is None:
            self.choices.pop(number, None)
        else:
            self.choices[number] = open
        self.redraw()

    def replace_choices(self, choices: Mapping[int, bool]) -> None:
        """Replace all choices."""
        self.choices.clear()
        self.choices.update(choices)
        self.redraw()

    def open_states(self) -> list[OpenState]:
        """Return how much is shown of the panel and of each thought; empty without thinking."""
        return [] if self.view is None else self.view.open_states

    # Acts of a person

    def action_toggle_current(self) -> None:
        """Open or close what the current header belongs to."""
        self._toggle(self._current_key)

    def action_move(self, step: int) -> None:
        """Make the next or previous header the current one; at the ends the parent scrolls."""
        keys = self._keys()
        index = 0
        if self._current_key in keys:
            index = keys.index(self._current_key) + step
        if not 0 <= index < len(keys):
            raise SkipAction
        self._current_key = keys[index]
        self._mark_current()

    def on_click(self, event: events.Click) -> None:
        """Open or close a header that was clicked; a click on text selects."""
        offset = event.get_content_offset(self)
        selection = self.text_selection
        dragged = selection is not None and selection.start != selection.end
        if offset is None or dragged:
            return
        place = self.section_at(offset.y + self.scroll_offset.y)
        if place is not None and place[0].key is not None:
            self._current_key = place[0].key
            self._toggle(place[0].key)

    def on_focus(self) -> None:
        """Show which header the keys act on."""
        self._mark_current()

    def on_blur(self) -> None:
        """Show no current header."""
        self._mark_current()

    def _toggle(self, key: int) -> None:
        if key not in self._keys():
            return
        choices = toggled_choices(self.view, self._rows, self.choices, key)
        for node in self.ancestors:  # a view that follows its end would scroll the header away
            if isinstance(node, Widget) and node.is_anchored:
                node.release_anchor()
        self.replace_choices(choices)
        self.post_message(self.Toggled(self, key, choices[key]))

    def _keys(self) -> list[int]:
        return [section.key for section in self.sections if section.key is not None]

    def _mark_current(self) -> None:
        keys = self._keys()
        if self._current_key not in keys and keys:
            self._current_key = keys[0]
        for section in self.sections:
            if isinstance(section, HeaderLine):
                section.current = self.has_focus and section.key == self._current_key
        self.refresh()


class _TurnText:
    """The sections with text of one turn, kept so that text is not wrapped twice."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._sections: dict[tuple[object, ...], Section] = {}
        self._thoughts: dict[int, int] = {}  # the block of each section that grows, by the id of the section

    def sections(self, rows: list[PanelRow], *, bar: bool) -> list[Section]:
        """Return the sections of a panel. A section with text is the same one while its text only grows."""
        sections = [self._section(row, bar) for row in rows]
        drawn = {id(section) for section in sections}
        # What is drawn no more is forgotten, so that its memory is free.
        for key, section in list(self._sections.items()):
            if id(section) not in drawn:
                del self._sections[key]
        for thought in self._thoughts.keys() - drawn:
            del self._thoughts[thought]
        return sections

    def _section(self, row: PanelRow, bar: bool) -> Section:
        match row:
            case HeaderRow(key=key) if key == PANEL:
                return _panel_header(row, bar)
            case HeaderRow():
                return _step_header(row)
            case ThoughtRow():
                return self._thought(row, _prefix(row.depth))
            case NewestLineRow():
                section = NewestLine(_prefix(row.depth), row.text)
                if row.block is not None:  # else no thought streams, and the line stays
                    self._thoughts[id(section)] = row.block
                return section
            case PassageRow():
                prefix = _prefix(row.depth)
                return self._passage(row.text, prefix, f"{prefix}{RESULT_ARROW} " if row.result else prefix)
            case FooterRow():
                return _footer(row, bar)
            case MarkerRow():
                return HeaderLine(Span(row.text, "header"), key=PANEL)

    def _thought(self, row: ThoughtRow, prefix: str) -> Section:
        if hidden_reason(self._turn.blocks[row.block]):
            return self._passage(row.text, prefix, prefix)
        key = (row.block, prefix)
        section = self._sections.get(key)
        if not isinstance(section, TextSection):
            section = self._sections[key] = TextSection(prefix, "quiet")
            self._thoughts[id(section)] = row.block
        self._append(section, row.block)
        return section

    def _passage(self, text: str, prefix: str, first_prefix: str) -> Section:
        """Return a section with a text that does not grow."""
        key = (text, prefix, first_prefix)
        section = self._sections.get(key)
        if section is None:
            passage = TextSection(prefix, "quiet", first_prefix=first_prefix)
            passage.append(text)
            section = self._sections[key] = passage
        return section

    def grow(self, sections: Sequence[Section]) -> list[tuple[int, int]]:
        """Append the new text of thoughts, and return the sections that changed and their first new rows."""
        changes: list[tuple[int, int]] = []
        for index, section in enumerate(sections):
            number = self._thoughts.get(id(section))
            if number is None:
                continue
            if isinstance(section, TextSection):
                if (first_row := self._append(section, number)) is not None:
                    changes.append((index, first_row))
            elif isinstance(section, NewestLine):
                section.replace(tail(self._turn.blocks[number].text))
                changes.append((index, 0))
        return changes

    def _append(self, section: TextSection, number: int) -> int | None:
        text = text_after(self._turn.blocks[number], section.source_length)
        return section.append(text) if text else None


def _footer(row: FooterRow, bar: bool) -> Section:
    status = f"{STATUS_ICONS[row.status]} {row.status_text}" if row.status_text else ""
    facts = SEPARATOR.join(filter(None, (status, *row.facts)))
    role = _role(row.status) if bar else "header"
    return HeaderLine(Span(facts, role))


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
