"""Small windows over the chat: commands, a question with yes and no, a line of text, a list to choose."""

from collections.abc import Iterable
from typing import ClassVar

import msgspec
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.command import CommandList, CommandPalette
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from thinkaloud.surfaces.chat.screen_words import ScreenWords
from thinkaloud.surfaces.terminal import clean
from thinkaloud.surfaces.tui.screens.keys import run_own_binding

WINDOW_CSS = """
    ConfirmScreen, TextScreen, PickerScreen, SearchScreen, HelpScreen { align: center middle; }
    .window { width: 72; max-width: 96%; height: auto; max-height: 90%; padding: 1 2; background: $surface;
              border: round $primary; }
    .window .window-title { text-style: bold; height: auto; margin-bottom: 1; }
    .window .window-keys { color: $text-muted; height: auto; margin-top: 1; }
    /* With a fixed height, Textual would measure the window without the limit of the list. */
    .window Input { height: auto; background: $boost; margin-bottom: 1; }
    .window Input > .input--placeholder { color: $text-muted; }
    .window OptionList { height: auto; max-height: 100%; border: none; padding: 0; background: $surface; }
    .window OptionList > .option-list--option-disabled { color: $text-muted; }
    .window .window-list { height: auto; max-height: 40vh; }
    HelpScreen .window .window-list { max-height: 60vh; }
    .-narrow .window { padding: 0 1; max-width: 100%; }
    .-short .window { padding: 0 1; }
    .-short .window .window-title, .-short .window .window-keys, .-short .window Input { margin: 0; }
"""


class ConfirmScreen(ModalScreen[bool]):
    """Asks a question. The letter of yes in this language is yes, that of no and Escape are no."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(False)", show=False)]

    def __init__(self, question: str, words: ScreenWords) -> None:
        super().__init__()
        self._question = question
        self._words = words

    def compose(self) -> ComposeResult:
        with Vertical(classes="window"):
            yield Static(Content(clean(self._question)), classes="window-title", markup=False)
            yield Static(Content(self._words.text("confirm.keys")), classes="window-keys", markup=False)

    def on_key(self, event: events.Key) -> None:
        """Answer the question."""
        if event.character in (self._words.yes_key, self._words.no_key):
            event.stop()
            self.dismiss(event.character == self._words.yes_key)


class Palette(CommandPalette):
    """The command palette in the person's language."""

    def __init__(self, words: ScreenWords) -> None:
        super().__init__(placeholder=words.text("palette"))
        self._words = words

    def _start_no_matches_countdown(self, search_value: str) -> None:
        """Say after a moment that nothing was found. Textual has no other place for these words."""
        self._stop_no_matches_countdown()
        if search_value:
            self._no_matches_timer = self.set_timer(self._NO_MATCHES_COUNTDOWN, self._show_no_matches)

    def _show_no_matches(self) -> None:
        option = Option(Content(self._words.text("search.none")), disabled=True, id=self._NO_MATCHES)
        self.query_one(CommandList).add_option(option)
        self._list_visible = True


class LineInput(Input):
    """A line of text whose keys take effect in the order in which they are pressed."""

    async def _on_key(self, event: events.Key) -> None:
        await run_own_binding(self, event)


class TextScreen(ModalScreen[str]):
    """Asks for a line of text; empty means that the person changed their mind."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss('')", show=False)]

    def __init__(self, title: str, text: str, words: ScreenWords) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._words = words

    def compose(self) -> ComposeResult:
        with Vertical(classes="window"):
            yield Static(Content(self._title), classes="window-title", markup=False)
            yield LineInput(clean(self._text), compact=True)
            yield Static(Content(self._words.text("text.keys")), classes="window-keys", markup=False)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())


class PickerRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row to choose. `reason` says why it cannot be used now."""

    value: str
    title: str
    note: str = ""
    ready: bool = True
    reason: str = ""


class PickerScreen(ModalScreen[str | None]):
    """A list with a filter. Rows that cannot be used are shown with the reason, and cannot be chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", show=False),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]

    def __init__(self, title: str, rows: Iterable[PickerRow], chosen: str, words: ScreenWords) -> None:
        super().__init__()
        self._title = title
        self._words = words
        self._chosen = chosen
        self._rows = sorted(rows, key=lambda row: not row.ready)

    def compose(self) -> ComposeResult:
        with Vertical(classes="window"):
            yield Static(Content(self._title), classes="window-title", markup=False)
            yield LineInput(placeholder=self._words.text("picker.filter"), compact=True)
            with Vertical(classes="window-list"):
                yield OptionList()
            yield Static(Content(self._words.text("picker.keys")), classes="window-keys", markup=False)

    def on_mount(self) -> None:
        """Show all rows."""
        self._show_rows("")

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self._show_rows(event.value)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        options = self.query_one(OptionList)
        if options.highlighted is None and options.option_count:
            row = self._rows[int(options.get_option_at_index(0).id or 0)]
            reason = Content.styled(f"{clean(row.title)}: {self._reason(row)}", "$text-warning")
            self.query_one(".window-keys", Static).update(reason)
        options.action_select()

    def _reason(self, row: PickerRow) -> str:
        return clean(row.reason) or self._words.text("picker.not_ready")

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._rows[int(event.option_id or 0)].value)

    def action_move(self, step: int) -> None:
        """Move the highlight while the filter has the focus."""
        options = self.query_one(OptionList)
        if step > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    def _show_rows(self, text: str) -> None:
        wanted = text.casefold().split()
        options = self.query_one(OptionList)
        options.clear_options()
        highlighted = None
        for number, row in enumerate(self._rows):
            searched = f"{row.value} {row.title} {row.note}".casefold()
            if all(word in searched for word in wanted):
                if row.value == self._chosen:
                    highlighted = options.option_count
                options.add_option(Option(self._line(row), id=str(number), disabled=not row.ready))
        if options.option_count and highlighted is None:
            options.action_first()
        else:
            options.highlighted = highlighted

    def _line(self, row: PickerRow) -> Content:
        mark = "✓ " if row.value == self._chosen else "  "
        parts: list[tuple[str, str]] = [(mark, "$text-success"), (clean(row.title), "bold")]
        if row.note:
            parts.append((f"  {clean(row.note)}", "$text-muted"))
        if not row.ready:
            parts.append((f"\n    {self._reason(row)}", "$text-warning"))
        return Content.assemble(*parts)
