"""One exchange in the conversation: the question, the turn that answers it, and the state of its stream.

`transcript_text` returns the exchanges of a session as text, for when the chat has closed.
"""

import re
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from thinkaloud.core.canon import Entry
from thinkaloud.surfaces.chat.backend import FoundText
from thinkaloud.surfaces.chat.chat_session import ChatSession, ChatTurn
from thinkaloud.surfaces.chat.display import Display
from thinkaloud.surfaces.terminal import clean
from thinkaloud.surfaces.tui.text.line_view import LineView, TallStylesCache
from thinkaloud.surfaces.tui.thinking_panel import ThinkingPanel
from thinkaloud.surfaces.tui.turn_view import TurnView

_ROWS_ABOVE_FOUND = 3
"""Rows that stay above words that were found, so that they are read in their context."""


class QuestionView(Static, can_focus=True):
    """The question. Its keys edit it, copy the answer, replay the turn and show its other versions."""

    DEFAULT_CSS = """
    QuestionView { height: auto; padding: 0 1; margin: 1 0 0 0; background: $boost;
                   border-left: thick $primary; }
    QuestionView:focus { border-left: thick $accent; background: $surface-lighten-1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "act('edit')", show=False),
        Binding("c", "act('copy')", show=False),
        Binding("r", "act('replay')", show=False),
        Binding("left", "act('previous_version')", show=False),
        Binding("right", "act('next_version')", show=False),
    ]

    class Acted(Message):
        """The person pressed a key on a question: one of `flows.TURN_FLOWS`."""

        def __init__(self, chat_turn: ChatTurn, act: str) -> None:
            super().__init__()
            self.chat_turn = chat_turn
            self.act = act

    def __init__(self, chat_turn: ChatTurn, display: Display) -> None:
        self._chat_turn = chat_turn
        super().__init__(Content(question_text(chat_turn, display)), markup=False)

    def action_act(self, act: str) -> None:
        """Tell the screen what to do with this question."""
        self.post_message(self.Acted(self._chat_turn, act))


class ExchangeView(Vertical):
    """A question with its turn. It is there only while it is near the visible part of the conversation."""

    BLANK = True  # there is nothing behind its parts
    DEFAULT_CSS = """
    ExchangeView { height: auto; }
    ExchangeView .stream-state { height: auto; color: $text-warning; padding: 0 1; display: none; }
    ExchangeView .stream-state.-filled { display: block; }
    """

    class HeightChanged(Message):
        """The exchange became higher or lower."""

    def __init__(self, chat_turn: ChatTurn, display: Display) -> None:
        super().__init__()
        self._styles_cache = TallStylesCache()
        self.chat_turn = chat_turn
        self._display_settings = display
        self.turn_view = TurnView(
            chat_turn.turn,
            policy=display.policy,
            locale=display.locale,
            clock=chat_turn.now_ms,
            choices=chat_turn.choices.current(display.policy),
        )

    def compose(self) -> ComposeResult:
        yield QuestionView(self.chat_turn, self._display_settings)
        yield self.turn_view
        yield Static("", classes="stream-state", markup=False)

    def on_mount(self) -> None:
        """Show the state of the stream."""
        self.show_state()

    def on_resize(self) -> None:
        """Tell the conversation."""
        self.post_message(self.HeightChanged())

    def feed(self, entry: Entry) -> None:
        """Apply an entry and draw it, also before this is on the screen."""
        self.turn_view.feed(entry)
        self.chat_turn.turn = self.turn_view.turn
        self.chat_turn.arrived(entry)

    def mark_found(self, place: FoundText | None) -> None:
        """Mark the words of a place that was found, if it is in this turn."""
        words = None
        if place is not None and place.turn == self.chat_turn.id:
            words = found_words(place)
        self.turn_view.thinking.mark_found(words)
        self.turn_view.answer.mark_found(words)

    @property
    def laid_out(self) -> bool:
        """Whether all text is wrapped to the width of the screen."""
        return self.turn_view.thinking.laid_out and self.turn_view.answer.laid_out

    def row_of_found(self, place: FoundText | None) -> int:
        """Return the row to show at the top: some rows above the words that were found, or the first one."""
        if place is None or place.turn != self.chat_turn.id or place.kind == "prompt":
            return 0
        part = self.turn_view.answer if place.kind == "answer" else self.turn_view.thinking
        row = part.row_of_found(place.block)
        if row is None:
            return 0
        return max(0, self.turn_view.virtual_region.y + part.virtual_region.y + row - _ROWS_ABOVE_FOUND)

    def show_state(self) -> None:
        """Show that the stream is being resumed, or why it ended."""
        text = self._display_settings.stream_state(self.chat_turn)
        for state in self.query(".stream-state").results(Static):  # none if removed while mounted
            state.update(Content(text))
            state.set_class(bool(text), "-filled")

    def apply_display(self, display: Display) -> None:
        """Draw with another policy or in another language."""
        self._display_settings = display
        self.query_one(QuestionView).update(Content(question_text(self.chat_turn, display)))
        self.turn_view.apply_policy(display.policy, display.locale)
        self.replace_choices()
        self.show_state()

    def replace_choices(self) -> None:
        """Draw with the choices that the turn has now."""
        choices = self.chat_turn.choices.current(self._display_settings.policy)
        self.turn_view.thinking.replace_choices(choices)

    def on_thinking_panel_toggled(self, event: ThinkingPanel.Toggled) -> None:
        """Remember what the person opened and closed, for when this exchange is drawn again."""
        choices = self.chat_turn.choices.current(self._display_settings.policy)
        choices.clear()
        choices.update(event.panel.choices)


def found_words(place: FoundText) -> re.Pattern[str] | None:
    """Return a pattern of the words that are marked in the snippet of a place."""
    marked = " ".join(place.snippet[start:end] for start, end in place.marks)
    words = sorted(set(clean(marked).split()), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)), re.IGNORECASE) if words else None


def question_text(chat_turn: ChatTurn, display: Display) -> str:
    """Return the question as it is drawn, with a line for each image and one that tells its version."""
    prompt = display.cut_question(clean(chat_turn.prompt))
    lines = [prompt]
    lines += [f"📎 {clean(image.media_type)}" for image in chat_turn.images]
    if chat_turn.version_text:
        lines.append(f"‹ {chat_turn.version_text} ›")
    return "\n".join(lines)


def transcript_text(chat: ChatSession, display: Display, columns: int) -> str:
    """Return the questions with their turns as plain text, for the scroll-back of the terminal.

    It shows each turn as the screen did: what was closed is one line, and what was open has its text.
    """
    return "\n".join(_exchange_text(chat_turn, display, columns) for chat_turn in chat.turns)


def _exchange_text(chat_turn: ChatTurn, display: Display, columns: int) -> str:
    view = TurnView(
        chat_turn.turn,
        policy=display.policy,
        locale=display.locale,
        clock=chat_turn.now_ms,
        choices=chat_turn.choices.current(display.policy),
    )
    parts = [f"❯ {question_text(chat_turn, display)}"]
    parts += [_text_of(part, columns) for part in (view.thinking, view.answer, view.notices)]
    return clean("\n\n".join(filter(None, parts))) + "\n"


def _text_of(view: LineView, columns: int) -> str:
    lines: list[str] = []
    for section in view.sections:
        for _ in section.lay_out(columns):
            pass
        lines += [section.row(index).text.rstrip() for index in range(section.height)]
    return "\n".join(lines)
