"""The conversation: exchanges of a question, the turn that answers it, and the state of its stream.

A turn takes entries at any rate and is drawn a few times a second. Text that streams is appended to what is
drawn.
"""

from collections.abc import Callable, Sequence

import flet as ft

from thinkaloud.core.canon import Entry
from thinkaloud.core.transcript import Turn, apply
from thinkaloud.core.view import Policy, notice
from thinkaloud.core.view.labels import notice_text
from thinkaloud.surfaces.chat.chat_session import ChatTurn
from thinkaloud.surfaces.chat.live_turn import TurnChanges
from thinkaloud.surfaces.flutter.controls import FollowedList, IconAction, IsolatedControl, screen_text
from thinkaloud.surfaces.flutter.page_tasks import FrameTimer
from thinkaloud.surfaces.flutter.row_controls import MUTED
from thinkaloud.surfaces.flutter.streamed_text import AnswerColumn
from thinkaloud.surfaces.flutter.thinking_block import Clock, KoderThinkingBlock
from thinkaloud.surfaces.flutter.words import FlutterDisplay

EXCHANGES_SHOWN = 30
"""How many exchanges are drawn at first, and how many more at each press of the button above them."""


class TurnColumn(ft.Column):
    """One turn, live or complete: its thinking, its answer, and the notices about it."""

    def __init__(
        self,
        turn: Turn | None = None,
        *,
        policy: Policy | None = None,
        locale: str = "en-US",
        clock: Clock | None = None,
    ) -> None:
        super().__init__(spacing=8, tight=True)
        self.turn = Turn() if turn is None else turn
        self.thinking = KoderThinkingBlock(self.turn, policy=policy, locale=locale, clock=clock)
        self.answer = AnswerColumn(self.turn.answer)
        self.notices = ft.Column(spacing=4, tight=True)
        self.controls = [self.thinking, self.answer, self.notices]
        self._frames = FrameTimer(self, self.flush)
        self._changes = TurnChanges(self.turn)
        self._draw_notices()

    def did_mount(self) -> None:
        """Note that changes are to be sent from now on."""
        self._frames.mount()

    def will_unmount(self) -> None:
        """Note that there is no client any more."""
        self._frames.unmount()

    def feed(self, entry: Entry) -> None:
        """Apply an entry to the turn and draw it with the next frame."""
        apply(self.turn, entry)
        self.thinking.note(entry)
        self._changes.note(entry.event)
        self._frames.draw_soon()

    def show(self, turn: Turn) -> None:
        """Draw another turn, or this one after its text was changed and not only appended to."""
        self.turn = turn
        self.thinking.show_turn(turn)
        self.answer.replace(turn.answer)
        self._changes = TurnChanges(turn)
        self._draw_notices()

    def apply_policy(self, policy: Policy, locale: str | None = None) -> None:
        """Draw the turn with other settings, or in another language."""
        self.thinking.apply_policy(policy, locale)
        self._draw_notices()

    def flush(self) -> None:
        """Draw what has changed, without waiting for the next frame."""
        if self._changes.text_changed:
            self.show(self.turn)
        else:
            self.thinking.flush()
            if self._changes.turn_changed:
                self._draw_answer()
                self._draw_notices()
            else:
                self.answer.append("".join(self._changes.new_answer))
        self._changes.drawn(self.turn)

    def _draw_answer(self) -> None:
        answer, drawn = self.turn.answer, self.answer.text
        if answer.startswith(drawn):
            self.answer.append(answer[len(drawn) :])
        else:
            self.answer.replace(answer)

    def _draw_notices(self) -> None:
        locale = self.thinking.locale
        texts = [notice_text(event, locale) or event.code for event in self.turn.notices]
        self.notices.controls = [
            _notice_row(screen_text(text)) for text in [*texts, notice(self.turn, locale)] if text
        ]
        self.notices.visible = bool(self.notices.controls)
        if self._frames.mounted:
            self.notices.update()


def _notice_row(text: str) -> ft.Control:
    icon = ft.Icon(ft.Icons.INFO_OUTLINE, size=18, color=ft.Colors.TERTIARY)
    words = ft.Text(text, size=14, expand=True)
    row = ft.Row([icon, words], spacing=8, vertical_alignment=ft.CrossAxisAlignment.START)
    return ft.Semantics(container=True, content=row)


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
        self._question = ft.Text(display.cut_question(screen_text(chat_turn.prompt)), size=15)
        self._state = ft.Text(size=13, color=ft.Colors.TERTIARY)
        self._copy = IconAction("copy", ft.Icons.COPY_OUTLINED, lambda: on_copy(chat_turn))
        self._copy.button.icon_size = 18
        self._copy.button.icon_color = MUTED
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
        self._state.value = text
        self._state.visible = bool(text)
        self._copy.name(self._display.words.text("key.copy"))
        self._copy.visible = not self.chat_turn.running and bool(self.chat_turn.turn.answer)
        self.send_changes()

    def apply_display(self, display: FlutterDisplay) -> None:
        """Draw with another policy or in another language."""
        self._display = display
        self._question.value = display.cut_question(screen_text(self.chat_turn.prompt))
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


class ConversationList(FollowedList):
    """The exchanges of the shown session, the last ones at first. It follows its end while a turn grows."""

    def __init__(self, display: FlutterDisplay, on_copy: Callable[[ChatTurn], None]) -> None:
        super().__init__([], follow=True, spacing=22)
        self.expand = True
        self._display = display
        self._on_copy = on_copy
        self._turns: Sequence[ChatTurn] = ()
        self._first_shown = 0
        self._exchanges: dict[int, ExchangeColumn] = {}

    def show(self, turns: Sequence[ChatTurn]) -> None:
        """Show the turns of another session, from the end."""
        self._turns = turns
        self._exchanges.clear()
        self._first_shown = max(0, len(turns) - EXCHANGES_SHOWN)
        self.follow = True
        self.draw()

    def draw(self) -> None:
        """Draw the turns that there are now. An exchange that was drawn stays the same control."""
        words = self._display.words
        controls: list[ft.Control] = []
        if self._first_shown:
            controls.append(ft.TextButton(words.text("earlier"), on_click=lambda _: self._show_earlier()))
        for chat_turn in self._turns[self._first_shown :]:
            exchange = self.exchange(chat_turn)
            if exchange is None:
                exchange = ExchangeColumn(chat_turn, self._display, self._on_copy)
                self._exchanges[id(chat_turn)] = exchange
            controls.append(exchange)
        if not controls:
            controls.append(ft.Text(words.text("welcome"), size=15, color=MUTED))
        self.controls = controls
        if self._mounted:
            self.update()
        self.follow_end()

    def exchange(self, chat_turn: ChatTurn) -> ExchangeColumn | None:
        """Return the control of a turn, if it is drawn."""
        return self._exchanges.get(id(chat_turn))

    def apply_display(self, display: FlutterDisplay) -> None:
        """Draw with another policy or in another language."""
        self._display = display
        for exchange in self._exchanges.values():
            exchange.apply_display(display)
        self.draw()

    def replace_choices(self) -> None:
        """Draw with the choices that the turns have now."""
        for exchange in self._exchanges.values():
            exchange.replace_choices()

    def _show_earlier(self) -> None:
        self._first_shown = max(0, self._first_shown - EXCHANGES_SHOWN)
        self.follow = False
        self.draw()
