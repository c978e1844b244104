"""The line at the bottom of the chat: the keys of a place or what runs, and for some seconds a notice.

A notice takes the place of the line and grows with its text, so that it covers neither the prompt nor a
window.
"""

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from thinkaloud.core.canon import Wording
from thinkaloud.surfaces.chat.chat_session import ChatSession
from thinkaloud.surfaces.chat.display import Display
from thinkaloud.surfaces.terminal import clean

NOTICE_S = 5.0
ERROR_S = 12.0
"""How long an error stays: long enough to read it."""


class StatusLine(Static):
    """Shows the status, or a notice until its time is over."""

    DEFAULT_CSS = """
    StatusLine { height: 1; padding: 0 1; background: $panel; color: $text-muted; text-wrap: nowrap;
                 text-overflow: ellipsis; }
    StatusLine.-lost { background: $error; color: $text; }
    StatusLine.-notice, StatusLine.-error { height: auto; max-height: 50vh; text-wrap: wrap; color: $text; }
    StatusLine.-notice { background: $primary-muted; }
    StatusLine.-error { background: $error-muted; }
    """

    def __init__(self) -> None:
        super().__init__("", id="status", markup=False)
        self._status = ""
        self._lost = False
        self._notice = ""
        self._timer: Timer | None = None

    def show_status(self, text: str, *, lost: bool) -> None:
        """Show a status, after the notice if there is one. `lost`: the gateway is not there."""
        self._status = text
        self._lost = lost
        if not self._notice:
            self._draw()

    def show_notice(self, text: str, *, error: bool = False) -> None:
        """Show a notice instead of the one before."""
        self._notice = clean(text)
        self._draw(error=error)
        self._forget_after(ERROR_S if error else NOTICE_S)

    def _forget_after(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(seconds, lambda: self._forget(seconds))

    def _forget(self, seconds: float) -> None:
        if not self.screen.is_current:  # a window is open, and the notice is for afterwards
            self._forget_after(seconds)
            return
        self._notice = ""
        self._draw()

    def _draw(self, *, error: bool = False) -> None:
        self.set_class(self._lost and not self._notice, "-lost")
        self.set_class(bool(self._notice) and not error, "-notice")
        self.set_class(error, "-error")
        text = Content(self._notice or self._status)
        if self.content != text:
            self.update(text)


def status_text(display: Display, chat: ChatSession | None, gateway_lost: Wording | None, place: str) -> str:
    """Return the status: what is wrong, what runs, or the keys of a place."""
    running = None if chat is None else chat.running_turn
    if gateway_lost:
        text = display.words.text("gateway.lost", reason=display.error_text(gateway_lost))
    elif place != "status.idle":
        text = display.words.text(place)
    elif running is not None:
        text = display.stream_state(running) or display.words.text("status.running")
    else:
        text = display.words.text(place)
        cost = chat.turns[-1].cost if chat is not None and chat.turns else None
        if cost is not None:
            text = f"{display.cost(cost)} · {text}"
    return text.replace("\n", " ")
