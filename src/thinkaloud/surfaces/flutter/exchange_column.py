"""One exchange in the conversation: the question, the turn that answers it, and the state of its stream."""

from collections.abc import Callable

import flet as ft

from thinkaloud.core.canon import Entry
from thinkaloud.surfaces.chat.chat_session import ChatTurn
from thinkaloud.surfaces.chat.display import QUESTION_LIMIT
from thinkaloud.surfaces.flutter.icon_action import IconAction
from thinkaloud.surfaces.flutter.isolated_control import IsolatedControl
from thinkaloud.surfaces.flutter.row_controls import MUTED
from thinkaloud.surfaces.flutter.screen_text import screen_text
from thinkaloud.surfaces.flutter.turn_column import TurnColumn
from thinkaloud.surfaces.flutter.words import FlutterDisplay


class ExchangeColumn(IsolatedControl, ft.Column):
    """A question with its turn."""

    def __init__(
        self, chat_turn: ChatTurn, display: FlutterDisplay, on_copy: Callable[[ChatTurn], None]
    ) -> None:
        super().__init__(spacing=10, tight=True, horizontal_alignment=ft.CrossAxisAlignment.STRETCH)
        self.chat_turn = chat_turn
        self._display = display
        self.turn_column = TurnColumn(
            chat_turn.turn, policy=display.policy, locale=display.locale, clock=chat_turn.now_ms
        )
        self.turn_column.thinking.on_toggle = self._remember
        self.turn_column.thinking.replace_choices(chat_turn.choices.current(display.policy))
        self._question = ft.Text(question_text(chat_turn, display), size=15)
        self._state = ft.Text(size=13, color=ft.Colors.TERTIARY)
        self._copy = IconAction("copy", ft.Icons.COPY_OUTLINED, lambda: on_copy(chat_turn))
        self._copy.button.icon_size, self._copy.button.icon_color = 18, MUTED
        bubble = ft.Container(
            self._question,
            bgcolor=ft.Colors.SECONDARY_CONTAINER,
            border_radius=14,
            padding=ft.Padding(left=14, right=14, top=10, bottom=10),
            margin=ft.Margin(left=32),
        )
        self.controls = [
            ft.Row(
                [ft.Semantics(container=True, content=bubble)], alignment=ft.MainAxisAlignment.END, wrap=True
            ),
            self.turn_column,
            self._state,
            ft.Row([self._copy]),
        ]
        self.show_state()

    def feed(self, entry: Entry) -> None:
        """Apply an entry and draw it."""
        self.turn_column.feed(entry)
        self.chat_turn.turn = self.turn_column.turn
        self.chat_turn.arrived(entry)

    def restart(self) -> None:
        """Draw the turn from its first entry."""
        self.turn_column.show(self.chat_turn.turn)

    def show_state(self) -> None:
        """Show that the stream is being resumed, or why it ended; and what can be done with the answer."""
        text = screen_text(self._display.stream_state(self.chat_turn))
        self._state.value, self._state.visible = text, bool(text)
        self._copy.name(self._display.words.text("key.copy"))
        self._copy.visible = not self.chat_turn.running and bool(self.chat_turn.turn.answer)
        self.send_changes()

    def apply_display(self, display: FlutterDisplay) -> None:
        """Draw with another policy or in another language."""
        self._display = display
        self._question.value = question_text(self.chat_turn, display)
        self.turn_column.apply_policy(display.policy, display.locale)
        self.replace_choices()
        self.show_state()

    def replace_choices(self) -> None:
        """Draw with the choices that the turn has now."""
        self.turn_column.thinking.replace_choices(self.chat_turn.choices.current(self._display.policy))

    def _remember(self, number: int, open: bool) -> None:
        """Remember what the person opened and closed, for when this exchange is drawn again."""
        choices = self.chat_turn.choices.current(self._display.policy)
        choices.clear()
        choices.update(self.turn_column.thinking.choices)


def question_text(chat_turn: ChatTurn, display: FlutterDisplay) -> str:
    """Return the question as it is drawn."""
    prompt = screen_text(chat_turn.prompt)
    if len(prompt) <= QUESTION_LIMIT:
        return prompt
    rest = display.words.text("question.rest", n=len(prompt) - QUESTION_LIMIT)
    return f"{prompt[:QUESTION_LIMIT]}… {rest}"
