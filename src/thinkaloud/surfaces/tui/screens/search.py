"""Searches all sessions for words: in questions, answers, tools, and on request in thoughts."""

import time
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content, Span
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from thinkaloud.core.canon import Refused
from thinkaloud.core.view.translate import translate
from thinkaloud.surfaces.chat.backend import Backend, BackendUnreachable, FoundText
from thinkaloud.surfaces.chat.screen_words import ScreenWords
from thinkaloud.surfaces.terminal import clean
from thinkaloud.surfaces.tui.screens.dialogs import LineInput


class SearchScreen(ModalScreen[FoundText | None]):
    """A line for the words, and the places where they were found."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", show=False),
        Binding("ctrl+t", "toggle_thoughts", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]

    def __init__(self, backend: Backend, words: ScreenWords, text: str = "") -> None:
        super().__init__()
        self._backend = backend
        self._words = words
        self._text = text
        self._thoughts = False
        self._places: list[FoundText] = []
        self._searched: tuple[str, bool] | None = None

    def compose(self) -> ComposeResult:
        with Vertical(classes="window"):
            yield Static(Content(self._words.text("search.title")), classes="window-title", markup=False)
            yield LineInput(self._text, placeholder=self._words.text("search.words"), compact=True)
            yield Static("", id="search-state", markup=False)
            with Vertical(classes="window-list"):
                yield OptionList()
            yield Static(Content(self._words.text("search.keys")), classes="window-keys", markup=False)

    def on_mount(self) -> None:
        """Search at once if words were given."""
        self._show_state("")
        if self._text:
            self._search(self._text)

    def action_toggle_thoughts(self) -> None:
        """Search in thoughts too, or no longer."""
        self._thoughts = not self._thoughts
        self._show_state("")
        if text := self.query_one(Input).value.strip():
            self._search(text)

    def action_move(self, step: int) -> None:
        """Move the highlight while the words have the focus."""
        options = self.query_one(OptionList)
        if step > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        text = event.value.strip()
        if text and (text, self._thoughts) != self._searched:
            self._search(text)
        elif self._places:
            self.query_one(OptionList).action_select()

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._places[event.option_index])

    @work(exclusive=True)
    async def _search(self, text: str) -> None:
        thoughts = self._thoughts
        try:
            places = await self._backend.search(text, thoughts=thoughts)
        except (Refused, BackendUnreachable) as error:
            self._show_state(clean(translate(error.wording, self._words.locale)))
            return
        self._places = places
        self._searched = (text, thoughts)
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([Option(self._line(place)) for place in places])
        if places:
            options.highlighted = 0
        self._show_state(self._words.text("search.found" if places else "search.none", n=len(places)))

    def _show_state(self, text: str) -> None:
        scope = self._words.text("search.with_thoughts" if self._thoughts else "search.without_thoughts")
        self.query_one("#search-state", Static).update(Content(f"{scope}  {text}".rstrip()))

    def _line(self, place: FoundText) -> Content:
        kind = self._words.text(f"kind.{place.kind}")
        title = clean(place.session_title).replace("\n", " ") or self._words.text("untitled")
        date = ""
        if place.created_ms:
            date = time.strftime("%Y-%m-%d", time.localtime(place.created_ms / 1000))
        place_text = " · ".join(filter(None, (title, date, kind)))
        return Content.assemble((f"{place_text}\n", "$text-muted"), "  ", marked_snippet(place))


def marked_snippet(place: FoundText) -> Content:
    """Return a snippet with the words marked. A snippet that has to be cleaned loses its marks."""
    snippet = place.snippet.replace("\n", " ")
    safe = clean(snippet)
    if safe != snippet:
        return Content(safe)
    return Content(safe, spans=[Span(start, end, "bold $text-accent") for start, end in place.marks])
