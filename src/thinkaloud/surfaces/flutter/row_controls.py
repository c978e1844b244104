"""The rows of a thinking panel as Flet controls. Each control shows a row, and changes when the row does.

A header is one button for assistive technology: its label and value are read as one, with its state. What is
drawn inside of it is not read a second time. Icons come from the icon font, since the client has no emoji.
That font has no thought bubble, so it is drawn (`ThoughtBubble`).
"""

import time
from collections.abc import Callable

import flet as ft

from thinkaloud.core.canon import Kind
from thinkaloud.core.view import PANEL, LiveRegion, OpenState, Policy, ThinkingState, ThinkingView
from thinkaloud.core.view.labels import TOOL_ICON
from thinkaloud.surfaces.chat.panel_rows import (
    SEPARATOR,
    FooterRow,
    HeaderRow,
    MarkerRow,
    NewestLineRow,
    PassageRow,
)
from thinkaloud.surfaces.flutter.controls import readable, screen_line, screen_text

INDENT = 14
MAX_DEPTH = 4
LABEL_LINES = 3
"""A label with the long name of a tool is cut here; assistive technology has all of it."""
READ_EVERY_S = 4.0
"""Where thinking itself is read out, the newest line or the call at work is, no more often than this."""
MUTED = ft.Colors.ON_SURFACE_VARIANT
_KIND_ICONS = {
    Kind.TOOL_CALL: ft.Icons.BUILD_OUTLINED,
    Kind.ASSISTANT_CALL: ft.Icons.SMART_TOY_OUTLINED,
}
_STATUS_ICONS = {
    ThinkingState.THINKING: ft.Icons.MORE_HORIZ,
    ThinkingState.DONE: ft.Icons.CHECK,
    ThinkingState.ERROR: ft.Icons.WARNING_AMBER_ROUNDED,
    ThinkingState.INTERRUPTED: ft.Icons.STOP_CIRCLE_OUTLINED,
}


class ThoughtBubble(ft.Stack):
    """The icon of a thought: a round outline, and two dots that become smaller to its lower left."""

    def __init__(self) -> None:
        outline = ft.Border.all(1.6, MUTED)
        bubble = ft.Container(left=1, top=2, width=18, height=12, border=outline, border_radius=6)
        dots = [
            ft.Container(left=4, top=15, width=3, height=3, border_radius=1.5, bgcolor=MUTED),
            ft.Container(left=1, top=18, width=2, height=2, border_radius=1, bgcolor=MUTED),
        ]
        super().__init__([bubble, *dots], width=20, height=20)


class RowStyle:
    """What all rows of a block share: the reading direction, motion, and what a press does."""

    def __init__(self, identifier: str, on_press: Callable[[int], None]) -> None:
        self.identifier = identifier
        self.on_press = on_press
        self.rtl = False
        self.reduced_motion = False
        self.bar = False
        """Whether the panel is a bar with a summary; a closed header then points to the side."""

    def inset(self, depth: int) -> ft.Padding:
        """Return the space before a row of this depth."""
        left, right = self._sides(INDENT * min(depth, MAX_DEPTH))
        return ft.Padding(left=left, right=right, top=0, bottom=0)

    def gutter(self, depth: int, content: ft.Control) -> ft.Container:
        """Return text behind a line that joins it with its header."""
        line = ft.BorderSide(2, ft.Colors.OUTLINE_VARIANT)
        padding_left, padding_right = self._sides(12)
        inset = INDENT * min(depth, MAX_DEPTH) + 15
        margin_left, margin_right = (0, inset) if self.rtl else (inset, 8)
        return ft.Container(
            content=content,
            border=ft.Border(right=line) if self.rtl else ft.Border(left=line),
            padding=ft.Padding(left=padding_left, right=padding_right, top=2, bottom=2),
            margin=ft.Margin(left=margin_left, right=margin_right, top=0, bottom=6),
        )

    def _sides(self, start: int) -> tuple[int, int]:
        """Return the space at the left and at the right, for space where a line starts."""
        return (0, start) if self.rtl else (start, 0)


class BreathingDot(ft.Container):
    """A dot that grows pale and dark again while something runs; it rests if motion is reduced."""

    def __init__(self, style: RowStyle) -> None:
        super().__init__(width=10, height=10, border_radius=5, bgcolor=ft.Colors.PRIMARY, margin=5)
        self._style = style
        self.opacity = 1.0

    def breathe(self) -> None:
        """Change from dark to pale, or back."""
        if self._style.reduced_motion:
            self.animate_opacity = None
            self.opacity = 1.0
        else:
            self.animate_opacity = ft.Animation(900)
            self.opacity = 1.0 if self.opacity < 1 else 0.35


class HeaderIcon(ft.Container):
    """What stands first in a header: the kind of the step, a dot while a thought runs, or what went wrong."""

    def __init__(self, style: RowStyle) -> None:
        super().__init__(width=20)
        self._dot = BreathingDot(style)
        self._icon = ft.Icon(ft.Icons.CHECK, size=20, color=MUTED)
        self._bubble = ThoughtBubble()

    def show(self, row: HeaderRow) -> None:
        """Show the kind and the state of a step."""
        running = row.status is ThinkingState.THINKING
        if row.status in (ThinkingState.ERROR, ThinkingState.INTERRUPTED):
            color = ft.Colors.ERROR if row.status is ThinkingState.ERROR else MUTED
            self._show_icon(_STATUS_ICONS[row.status], color)
        elif row.kind in _KIND_ICONS:
            self._show_icon(_KIND_ICONS[row.kind], ft.Colors.PRIMARY if running else MUTED)
        else:
            self.content = self._dot if running else self._bubble

    def _show_icon(self, icon: ft.IconData, color: ft.Colors) -> None:
        self._icon.icon = icon
        self._icon.color = color
        self.content = self._icon

    def breathe(self) -> None:
        """Move the dot of a thought that runs."""
        self._dot.breathe()


class HeaderTexts(ft.Column):
    """The label of a header with its facts and its badge, and below them the first words."""

    def __init__(self) -> None:
        self._label = ft.Text(
            size=14,
            weight=ft.FontWeight.W_500,
            max_lines=LABEL_LINES,
            overflow=ft.TextOverflow.ELLIPSIS,
        )
        self._facts = ft.Text(size=14, color=MUTED)
        self._check = ft.Icon(_STATUS_ICONS[ThinkingState.DONE], size=16, color=MUTED)
        self._text = ft.Text(size=13, color=MUTED, max_lines=1, overflow=ft.TextOverflow.ELLIPSIS)
        self._badge_text = ft.Text(size=12, color=MUTED)
        self._badge = ft.Container(
            ft.Row(
                [ft.Icon(ft.Icons.BUILD_OUTLINED, size=12, color=MUTED), self._badge_text],
                spacing=4,
                tight=True,
            ),
            padding=ft.Padding(left=8, right=8, top=1, bottom=1),
            border_radius=10,
            bgcolor=ft.Colors.SURFACE_CONTAINER_HIGH,
        )
        first_line: list[ft.Control] = [self._label, self._check, self._facts, self._badge]
        super().__init__(
            [ft.Row(first_line, spacing=6, run_spacing=2, wrap=True), self._text],
            spacing=0,
            tight=True,
            expand=True,
        )

    def show(self, row: HeaderRow, *, checked: bool) -> tuple[str, str]:
        """Show another state; return what assistive technology reads of it: the label, and the rest.

        `checked`: a check stands before the facts of a header that is done.
        """
        label = screen_line(f"“{row.label}”" if row.quoted else row.label)
        facts = [screen_line(fact) for fact in row.facts]
        text = screen_line(row.text)
        badge = screen_line(row.badge.removeprefix(TOOL_ICON))  # drawn with an icon of its own
        drawn_facts = [*facts, row.duration] if row.duration else facts
        # The dot belongs to the label, so that no line starts with it.
        self._label.value = f"{label} ·" if drawn_facts else label
        self._label.color = ft.Colors.ERROR if row.status is ThinkingState.ERROR else None
        self._facts.value = SEPARATOR.join(drawn_facts)
        self._facts.visible = bool(drawn_facts)
        self._check.visible = checked and bool(facts) and row.status is ThinkingState.DONE
        self._text.value = text
        self._text.visible = bool(text)
        self._badge_text.value = badge
        self._badge.visible = bool(badge)
        return label, SEPARATOR.join(filter(None, (*facts, badge, text, row.duration)))


class HeaderButton(ft.Container):
    """A header: one button that opens and closes."""

    def __init__(self, row: HeaderRow, style: RowStyle) -> None:
        super().__init__()
        self._style = style
        self._icon = HeaderIcon(style)
        self._texts = HeaderTexts()
        self._chevron = ft.Icon(_chevron(row, style), size=20, color=MUTED)
        drawn = ft.Row([self._icon, self._texts, self._chevron], spacing=10)
        button = ft.TextButton(
            content=ft.Semantics(exclude_semantics=True, content=drawn),
            style=ft.ButtonStyle(
                padding=ft.Padding(left=10, right=8, top=12, bottom=12),
                shape=ft.RoundedRectangleBorder(radius=10),
                color=ft.Colors.ON_SURFACE,
            ),
            on_click=lambda _: style.on_press(row.key),
        )
        name = "panel" if row.key == PANEL else str(row.key)
        self._semantics = ft.Semantics(identifier=f"{style.identifier}-{name}", content=button)
        self.content = ft.MergeSemantics(content=self._semantics)
        self.show(row)

    def show(self, row: HeaderRow) -> None:
        """Show another state of the same header."""
        checked = self._style.bar and row.key == PANEL
        self._semantics.label, self._semantics.value = self._texts.show(row, checked=checked)
        self._semantics.expanded = row.expanded
        self._icon.show(row)
        self._chevron.icon = _chevron(row, self._style)
        self.padding = self._style.inset(row.depth)

    def breathe(self) -> None:
        """Move the dot of a header that runs."""
        self._icon.breathe()


def _chevron(row: HeaderRow, style: RowStyle) -> ft.IconData:
    if not style.bar:
        return ft.Icons.EXPAND_MORE if row.open is OpenState.COLLAPSED else ft.Icons.EXPAND_LESS
    if row.expanded:
        return ft.Icons.EXPAND_MORE
    return ft.Icons.CHEVRON_LEFT if style.rtl else ft.Icons.CHEVRON_RIGHT


class NewestLineText(ft.Container):
    """The newest line of a thought that streams, in one line."""

    def __init__(self, row: NewestLineRow, style: RowStyle) -> None:
        self.line = ft.Text(size=13, color=MUTED, italic=True, max_lines=1, overflow=ft.TextOverflow.ELLIPSIS)
        super().__init__(content=style.gutter(row.depth, ft.Semantics(container=True, content=self.line)))
        self.show(row)

    def show(self, row: NewestLineRow) -> None:
        """Show another line."""
        self.line.value = screen_line(row.text)


class PassageText(ft.Container):
    """What a call is for, what it was given, or its result."""

    def __init__(self, row: PassageRow, style: RowStyle) -> None:
        self._text = ft.Text(size=13, color=MUTED, expand=True)
        mark = ft.Icon(
            ft.Icons.SUBDIRECTORY_ARROW_LEFT if style.rtl else ft.Icons.SUBDIRECTORY_ARROW_RIGHT,
            size=14,
            color=MUTED,
            visible=row.result,
        )
        passage = ft.Row([mark, self._text], spacing=6, vertical_alignment=ft.CrossAxisAlignment.START)
        super().__init__(content=style.gutter(row.depth, readable(passage)))
        self.show(row)

    def show(self, row: PassageRow) -> None:
        """Show another text."""
        self._text.value = screen_text(row.text)


class FooterLine(ft.Container):
    """The facts below an open panel."""

    def __init__(self, row: FooterRow, style: RowStyle) -> None:
        self._icon = ft.Icon(_STATUS_ICONS[row.status], size=16, color=MUTED)
        self._text = ft.Text(size=12, color=MUTED, expand=True)
        super().__init__(
            content=ft.Semantics(container=True, content=ft.Row([self._icon, self._text], spacing=8)),
            padding=ft.Padding(left=12, right=12, top=2, bottom=10),
        )
        self.show(row)

    def show(self, row: FooterRow) -> None:
        """Show other facts."""
        error = row.status is ThinkingState.ERROR and bool(row.status_text)
        self._icon.icon = _STATUS_ICONS[row.status]
        self._icon.visible = bool(row.status_text)
        self._icon.color = self._text.color = ft.Colors.ERROR if error else MUTED
        facts = [fact for fact in (row.status_text, *row.facts) if fact]
        self._text.value = screen_line(SEPARATOR.join(facts))


class MarkerButton(ft.Container):
    """The line in place of hidden thinking: a button that opens the panel."""

    def __init__(self, row: MarkerRow, style: RowStyle) -> None:
        self._text = ft.Text(size=13, color=MUTED)
        button = ft.TextButton(
            content=ft.Row(
                [ft.Icon(ft.Icons.VISIBILITY_OFF_OUTLINED, size=16, color=MUTED), self._text],
                spacing=8,
                tight=True,
            ),
            on_click=lambda _: style.on_press(PANEL),
        )
        semantics = ft.Semantics(identifier=f"{style.identifier}-panel", expanded=False, content=button)
        super().__init__(content=ft.MergeSemantics(content=semantics))
        self.show(row)

    def show(self, row: MarkerRow) -> None:
        """Show another text."""
        self._text.value = screen_line(row.text)


class StatusAnnouncement(ft.Semantics):
    """Tells a screen reader that thinking started and that it ended, each once. Nobody sees it.

    Thinking that had ended before it was drawn is not announced.
    """

    def __init__(self) -> None:
        super().__init__(
            identifier="thinking-announcement",
            live_region=True,
            label="",
            content=ft.Container(width=1, height=1),
        )
        self._status: ThinkingState | None = None
        self._read_s = 0.0

    def show(self, view: ThinkingView | None, policy: Policy) -> None:
        """Announce what has changed since the last view."""
        before = self._status
        self._status = None if view is None else view.status
        if view is None or policy.live_region is LiveRegion.OFF:
            self.label = ""
        elif view.status is not ThinkingState.THINKING:
            if before is ThinkingState.THINKING:
                self._say(". ".join(filter(None, (view.label, view.notice))))
        elif before is not ThinkingState.THINKING:
            self._say(view.label)
        elif policy.live_region is LiveRegion.CONTENT and self._may_read():
            # Not the line of the panel: it stays while a call works, and was read when it was new.
            new_lines = [block.peek for block in view.blocks if block.peek]
            self._say(new_lines[-1] if new_lines else view.label)

    def _may_read(self) -> bool:
        return time.monotonic() - self._read_s >= READ_EVERY_S

    def _say(self, text: str) -> None:
        self.label = screen_line(text)
        self._read_s = time.monotonic()
