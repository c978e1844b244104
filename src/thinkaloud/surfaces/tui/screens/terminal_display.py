"""How the chat is drawn in a terminal: with the words of its keys, and a line at the bottom."""

from typing import ClassVar

from thinkaloud.surfaces.chat.chat_session import ChatSession
from thinkaloud.surfaces.chat.display import Display
from thinkaloud.surfaces.chat.screen_words import Texts
from thinkaloud.surfaces.tui.screens.words import TEXTS


class TerminalDisplay(Display):
    """The policy and the words of the chat in a terminal."""

    texts: ClassVar[Texts] = TEXTS

    def status(self, chat: ChatSession | None, gateway_lost: str, place: str) -> str:
        """Return the line at the bottom: what is wrong, what runs, or the keys of a place."""
        running = None if chat is None else chat.running_turn
        if gateway_lost:
            text = self.words.text("gateway.lost", reason=self.error_text(gateway_lost))
        elif place != "status.idle":
            text = self.words.text(place)
        elif running is None:
            cost = chat.turns[-1].cost if chat is not None and chat.turns else None
            keys = self.words.text(place)
            text = keys if cost is None else f"{self.cost(cost)} · {keys}"
        else:
            text = self.stream_state(running) or self.words.text("status.running")
        return text.replace("\n", " ")
