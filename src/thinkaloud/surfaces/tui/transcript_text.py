"""The transcript of a session as plain text, for the scroll-back of the terminal after the chat."""

from thinkaloud.surfaces.chat_session import ChatSession
from thinkaloud.surfaces.display import Display
from thinkaloud.surfaces.terminal import clean
from thinkaloud.transcript import Turn
from thinkaloud.view import Channel, plain_lines


def transcript_text(chat: ChatSession, display: Display) -> str:
    """Return the questions and answers; thoughts as `[think] ` lines unless thinking is hidden."""
    exchanges = [
        f"❯ {clean(chat_turn.prompt)}\n\n{turn_text(chat_turn.turn, display)}\n" for chat_turn in chat.turns
    ]
    return "\n".join(exchanges)


def turn_text(turn: Turn, display: Display) -> str:
    """Return one turn as plain text."""
    lines = [
        text.strip("\n")
        for channel, text in plain_lines(turn, display.locale)
        if display.policy.show_thinking or channel is not Channel.REASONING
    ]
    return clean("\n".join(lines))
