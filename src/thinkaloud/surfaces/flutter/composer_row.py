"""The message box with its buttons, and the card that asks whether a call may run."""

import time
from collections.abc import Callable

import flet as ft

from thinkaloud.core.transcript import Block
from thinkaloud.surfaces.chat.chat_session import ChatTurn
from thinkaloud.surfaces.chat.display import TYPE_AHEAD_S, argument_lines
from thinkaloud.surfaces.chat.screen_words import ScreenWords
from thinkaloud.surfaces.flutter.controls import (
    IconAction,
    IsolatedControl,
    screen_line,
    screen_text,
    text_action,
)
from thinkaloud.surfaces.flutter.row_controls import MUTED

ARGUMENT_CHARACTERS = 4_000
LONG_ARGUMENTS = 300
"""Characters from which arguments scroll in a box."""
LONG_HEIGHT = 120
TITLE_LINES = 3
"""A name of a tool that is longer is cut, so that the buttons stay on the screen."""


class ComposerRow(IsolatedControl, ft.Column):
    """The message box: Enter sends, Shift+Enter starts a line. Below it stands who answers."""

    def __init__(self, on_act: Callable[[str], None]) -> None:
        super().__init__(spacing=2, tight=True)
        self.field = ft.TextField(
            multiline=True,
            shift_enter=True,
            min_lines=1,
            max_lines=6,
            autofocus=True,
            expand=True,
            border=ft.OutlineInputBorder(border_radius=14),
            on_submit=lambda _: on_act("send"),
        )
        self._send = IconAction("send", ft.Icons.SEND, lambda: on_act("send"))
        self._stop = IconAction("stop", ft.Icons.STOP_CIRCLE_OUTLINED, lambda: on_act("stop"))
        self._now = IconAction("now", ft.Icons.FAST_FORWARD_OUTLINED, lambda: on_act("now"))
        self._who = ft.TextButton(
            style=ft.ButtonStyle(color=MUTED, padding=ft.Padding(left=8, right=8)),
            on_click=lambda _: on_act("answerer"),
        )
        self.controls = [
            ft.Row([self.field, self._now, self._stop, self._send], spacing=4),
            ft.Row([text_action("answerer", self._who)], wrap=True),
        ]

    def show(self, words: ScreenWords, who: str, *, running: bool) -> None:
        """Show who answers, and whether a turn runs that can be stopped."""
        self.field.hint_text = words.text("prompt")
        self._send.name(words.text("send"))
        self._stop.name(words.text("key.stop"))
        self._now.name(words.text("key.now"))
        self._stop.visible = self._now.visible = running
        self._send.visible = not running
        self._who.content = screen_line(who) or words.text("answerer.default")
        self.send_changes()

    def fill(self, text: str) -> None:
        """Replace the text."""
        self.field.value = text
        self.send_changes()


class ApprovalCard(IsolatedControl, ft.Container):
    """One call that waits for approval."""

    def __init__(self, on_answer: Callable[[str, int, bool], None]) -> None:
        super().__init__(
            bgcolor=ft.Colors.SURFACE_CONTAINER_HIGH,
            border=ft.Border.all(2, ft.Colors.TERTIARY),
            border_radius=14,
            padding=14,
            visible=False,
        )
        self._on_answer = on_answer
        self._asked: tuple[str, int] | None = None
        self._answers_from_s = 0.0
        """Until then answers do not count: a press may be meant for the call before it."""
        self._title = ft.Text(
            size=15, weight=ft.FontWeight.W_600, max_lines=TITLE_LINES, overflow=ft.TextOverflow.ELLIPSIS
        )
        self._arguments = ft.Text(size=13)
        self._more = ft.Text(size=12, expand=True)
        self._deny = ft.OutlinedButton(on_click=lambda _: self._answer(False))
        self._run = ft.FilledButton(on_click=lambda _: self._answer(True))
        self._box = ft.Column([self._arguments], scroll=ft.ScrollMode.AUTO, tight=True)
        self.content = ft.Column(
            [self._title, self._box, ft.Row([self._more, self._deny, self._run], spacing=8)],
            spacing=8,
            tight=True,
        )

    def show(self, waiting: list[tuple[ChatTurn, Block]], words: ScreenWords) -> None:
        """Show the first of the calls that wait; none hides the card."""
        self.visible = bool(waiting)
        self._deny.content = words.text("approval.deny")
        self._run.content = words.text("approval.run")
        before = self._asked
        self._asked = None
        if waiting:
            (chat_turn, block), *others = waiting
            self._asked = (chat_turn.id, block.number)
            self._show_call(block, words)
            self._more.value = words.text("approval.more", n=len(others)) if others else ""
        if self._asked != before:
            self._answers_from_s = time.monotonic() + TYPE_AHEAD_S
        self.send_changes()

    def _show_call(self, block: Block, words: ScreenWords) -> None:
        self._title.value = words.text("approval.title", name=screen_line(block.name))
        lines = "\n".join(argument_lines(block.text))
        self._arguments.value = screen_text(lines[:ARGUMENT_CHARACTERS])
        scrolls = len(lines) > LONG_ARGUMENTS or lines.count("\n") > 5
        self._box.height = LONG_HEIGHT if scrolls else None

    def _answer(self, granted: bool) -> None:
        if self._asked is not None and time.monotonic() >= self._answers_from_s:
            self._on_answer(*self._asked, granted)
