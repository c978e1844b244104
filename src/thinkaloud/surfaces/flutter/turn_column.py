"""One turn on the screen: its thinking, its answer, and the notices about it.

It takes entries at any rate and draws a few times a second. Text that streams is appended to what is drawn.
"""

import flet as ft

from thinkaloud.core.canon import Entry
from thinkaloud.core.transcript import Turn, apply
from thinkaloud.core.view import Policy, notice
from thinkaloud.core.view.labels import notice_text
from thinkaloud.surfaces.chat.turn_changes import TurnChanges
from thinkaloud.surfaces.flutter.answer_column import AnswerColumn
from thinkaloud.surfaces.flutter.frame_timer import FrameTimer
from thinkaloud.surfaces.flutter.screen_text import screen_text
from thinkaloud.surfaces.flutter.thinking_block import Clock, KoderThinkingBlock


class TurnColumn(ft.Column):
    """Draws one turn, live or complete."""

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
