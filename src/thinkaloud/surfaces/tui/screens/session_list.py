"""The list of sessions. A mark before a title says what happens in a session that is not shown."""

import time
from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from thinkaloud.surfaces.chat.chat_session import ChatSession
from thinkaloud.surfaces.chat.screen_words import ScreenWords
from thinkaloud.surfaces.terminal import clean

RUNNING, WAITING, UNREAD = "●", "!", "○"


class SessionList(OptionList):
    """The sessions, the most recently used first."""

    DEFAULT_CSS = """
    SessionList, SessionList:focus { height: 1fr; border: none; padding: 0; scrollbar-size-vertical: 1;
                                     text-wrap: nowrap; text-overflow: ellipsis; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "act('new')", show=False),
        Binding("r,f2", "act('rename')", show=False),
        Binding("d,delete", "act('delete')", show=False),
        Binding("x", "act('export')", show=False),
    ]

    class Acted(Message):
        """The person pressed a key on a session: `new`, `rename`, `delete` or `export`."""

        def __init__(self, act: str, session: str) -> None:
            super().__init__()
            self.act = act
            self.session = session

    class EndReached(Message):
        """The last session is highlighted; there may be more."""

    _shown = ""
    """The session on the screen when the list was last drawn."""

    def show(self, sessions: Iterable[ChatSession], shown: str, words: ScreenWords) -> None:
        """Show the sessions. The one on the screen, `shown`, is highlighted until the person moves away."""
        rows = [(chat.info.id, session_line(chat, chat.info.id == shown, words)) for chat in sessions]
        ids = [id for id, _ in rows]
        highlighted = self.highlighted_session
        if shown != self._shown or highlighted not in ids:
            highlighted = shown
        if [option.id for option in self.options] == ids:
            for option, (id, line) in zip(self.options, rows, strict=True):
                # The list is read again every few seconds, and a new prompt draws the whole screen.
                if not (isinstance(option.prompt, Content) and option.prompt.is_same(line)):
                    self.replace_option_prompt(id, line)
        else:
            self.clear_options()
            self.add_options([Option(line, id=id) for id, line in rows])
        self._shown = shown if shown in ids else ""
        if ids:
            self.highlighted = ids.index(highlighted) if highlighted in ids else 0

    def highlight_shown(self) -> None:
        """Highlight the session on the screen, if there is one."""
        ids = [option.id for option in self.options]
        if self._shown in ids:
            self.highlighted = ids.index(self._shown)

    @property
    def highlighted_session(self) -> str:
        """The id of the highlighted session; empty if there is none."""
        if self.highlighted is None or self.highlighted >= self.option_count:
            return ""
        return self.get_option_at_index(self.highlighted).id or ""

    def action_act(self, act: str) -> None:
        """Tell the screen what to do with the highlighted session."""
        self.post_message(self.Acted(act, self.highlighted_session))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Ask for more sessions at the end of the list."""
        if event.option_index == self.option_count - 1:
            self.post_message(self.EndReached())


def session_line(chat: ChatSession, shown: bool, words: ScreenWords) -> Content:
    """Return the lines of a session: its mark and its title, then when it was used and who answers."""
    mark = " "
    if chat.waits_for_approval:
        mark = WAITING
    elif chat.running_turn is not None:
        mark = RUNNING
    elif chat.unread:
        mark = UNREAD
    title = clean(chat.info.title).replace("\n", " ") or words.text("untitled")
    style = "bold" if shown else ""
    used = _time_text(chat.info.updated_ms) if chat.info.updated_ms else ""
    who = clean(chat.info.agent or chat.info.model)
    facts = " · ".join(filter(None, (used, who)))
    second_line = f"\n  {facts}" if facts else ""
    return Content.assemble((f"{mark} ", "$text-accent"), (title, style), (second_line, "$text-muted"))


def _time_text(at_ms: int) -> str:
    """Return the time of today, or the date of another day, where the person is."""
    at = time.localtime(at_ms / 1000)
    today = at[:3] == time.localtime()[:3]
    return time.strftime("%H:%M" if today else "%Y-%m-%d", at)
