"""The transcript of a session as plain text, for the scroll-back of the terminal after the chat.

It shows each turn as the screen did: what was closed is one line, and what was open is there with its text.
"""

from thinkaloud.surfaces.chat.chat_session import ChatSession, ChatTurn
from thinkaloud.surfaces.chat.display import Display
from thinkaloud.surfaces.terminal import clean
from thinkaloud.surfaces.tui.screens.exchange import question_text
from thinkaloud.surfaces.tui.text.line_view import LineView
from thinkaloud.surfaces.tui.turn_view import TurnView


def transcript_text(chat: ChatSession, display: Display, columns: int) -> str:
    """Return the questions with their turns, wrapped to so many columns."""
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
    return clean("\n\n".join(part for part in parts if part)) + "\n"


def _text_of(view: LineView, columns: int) -> str:
    lines: list[str] = []
    for section in view.sections:
        for _ in section.lay_out(columns):
            pass
        lines += [section.row(index).text.rstrip() for index in range(section.height)]
    return "\n".join(lines)
