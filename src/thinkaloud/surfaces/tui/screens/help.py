"""Lists every key and every command."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from thinkaloud.surfaces.chat.screen_words import ScreenWords
from thinkaloud.surfaces.tui.screens.commands import COMMANDS
from thinkaloud.surfaces.tui.screens.keys import CHAT_KEYS, PLACE_KEYS, shown_keys
from thinkaloud.surfaces.tui.screens.session_list import RUNNING, UNREAD, WAITING

_KEY_COLUMNS = 15
_LEAST_COLUMNS = 60
"""In narrower windows the texts are not put below each other."""


class HelpScreen(ModalScreen[None]):
    """The keys, the commands and the marks of the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1", "dismiss", show=False, priority=True)
    ]

    def __init__(self, words: ScreenWords) -> None:
        super().__init__()
        self._words = words

    def compose(self) -> ComposeResult:
        with Vertical(classes="window"):
            with VerticalScroll(classes="window-list"):
                yield Static(
                    help_text(self._words, aligned=self.app.size.width >= _LEAST_COLUMNS), markup=False
                )
            yield Static(Content(self._words.text("help.keys")), classes="window-keys", markup=False)


def help_text(words: ScreenWords, *, aligned: bool = True) -> Content:
    """Return the whole help; `aligned` puts the texts below each other."""
    keys = [(shown_keys(key.keys), words.text(key.words)) for key in CHAT_KEYS]
    places = [(shown_keys(name), words.text(text)) for name, text in PLACE_KEYS]
    # The names of these keys depend on the language.
    places.append((words.text("keys.open_block"), words.text("key.open_block")))
    places.append((words.text("keys.approval"), words.text("key.on_approval")))
    commands = [
        (f"/{name} {words.arguments(arguments)}".strip(), words.text(f"command.{name}"))
        for name, arguments in COMMANDS.items()
    ]
    marks = [(mark, words.text(f"mark.{name}")) for mark, name in _MARKS]
    sections = (
        ("help.places", places),
        ("help.everywhere", keys),
        ("help.commands", commands),
        ("help.marks", marks),
    )
    parts: list[tuple[str, str]] = []
    for title, rows in sections:
        parts.append((f"{words.text(title)}\n", "bold"))
        for name, text in rows:
            parts += _row(name, text, _KEY_COLUMNS if aligned else 0)
        parts.append(("\n", ""))
    return Content.assemble(*parts).rstrip()


_MARKS = ((RUNNING, "running"), (WAITING, "waiting"), (UNREAD, "unread"))


def _row(name: str, text: str, columns: int) -> list[tuple[str, str]]:
    gap = " " * max(2, columns - len(name))
    return [(f"  {name}", "$text-accent"), (f"{gap}{text}\n", "")]
