"""The chat in a terminal. `ChatApp` holds the gateway, the preferences and the theme."""

import os
import sys
from collections.abc import Awaitable, Callable, Iterable
from enum import StrEnum
from typing import ClassVar

import msgspec
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import CommandPalette
from textual.driver import Driver
from textual.screen import Screen

from thinkaloud.core.canon import Refused
from thinkaloud.core.view import Policy
from thinkaloud.surfaces.chat.backend import Backend, BackendUnreachable, DisplayPreferences
from thinkaloud.surfaces.chat.chat_session import Answerer
from thinkaloud.surfaces.chat.display import GATEWAY_CHECK_S
from thinkaloud.surfaces.chat.question_queue import WaitingStore
from thinkaloud.surfaces.tui.screens.chat_screen import ChatScreen
from thinkaloud.surfaces.tui.screens.commands import COMMANDS, KEYLESS_COMMANDS
from thinkaloud.surfaces.tui.screens.dialogs import WINDOW_CSS, Palette
from thinkaloud.surfaces.tui.screens.exchange import transcript_text
from thinkaloud.surfaces.tui.screens.keys import CHAT_KEYS, shown_keys
from thinkaloud.surfaces.tui.screens.words import TerminalDisplay
from thinkaloud.surfaces.tui.text.palette import readable_variables

_WIDTHS = [(0, "-narrow"), (70, "-normal"), (110, "-wide")]
_HEIGHTS = [(0, "-short"), (20, "-tall")]


class Colours(StrEnum):
    """The colours that the terminal can show, or that the person wants."""

    ALL = "all"
    OF_TERMINAL = "terminal"
    """The 16 colours of the terminal. The theme is that of the terminal too."""
    NONE = "none"
    """Only bold, dim, underlined and reversed text."""


class ChatOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the person chose on the command line. Empty is what the preferences say."""

    answerer: Answerer = Answerer()
    session: str = ""
    language: str = ""
    theme: str = "dark"
    colours: Colours = Colours.ALL
    save_theme: Callable[[str], None] | None = None
    """Saves the theme that the person chooses; None does not save it."""
    default_model: str = ""
    """The model of the gateway, if it is known here."""
    waiting_store: WaitingStore | None = None
    """Keeps the questions that wait; None keeps them until the chat ends."""
    gateway_check_s: float = GATEWAY_CHECK_S


class ChatApp(App[None]):
    """The application. After its end, `transcript` has the session that was shown last."""

    CSS = f"""{WINDOW_CSS}
    ChatApp:nocolor OptionList > .option-list--option-highlighted {{ text-style: reverse; }}
    ChatApp:nocolor QuestionView:focus {{ text-style: bold; }}
    """
    TITLE = "Thinkaloud"
    ENABLE_COMMAND_PALETTE = True
    HORIZONTAL_BREAKPOINTS = _WIDTHS
    VERTICAL_BREAKPOINTS = _HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q", "quit", show=False, priority=True)]

    def __init__(self, backend: Backend, options: ChatOptions | None = None) -> None:
        self.chat_options = options or ChatOptions()
        # Textual reads the variable once. Without its own colours it would draw shades of grey.
        os.environ.pop("NO_COLOR", None)
        if self.chat_options.colours is Colours.NONE:
            os.environ["NO_COLOR"] = "1"
        super().__init__(ansi_color=None if self.chat_options.colours is Colours.ALL else True)
        self.backend = backend
        self.display_settings = TerminalDisplay(Policy(), self.chat_options.language or "en-US")
        self._show_theme(self.chat_options.theme)
        self.chat_screen = ChatScreen(
            backend, self.display_settings, self.chat_options.answerer, self.chat_options.waiting_store
        )

    def get_driver_class(self) -> type[Driver]:
        """Return what reads the terminal; on Windows that of Textual."""
        if sys.platform == "win32":
            return super().get_driver_class()
        from thinkaloud.surfaces.tui.screens.terminal_input import TerminalDriver

        return TerminalDriver

    async def on_mount(self) -> None:
        """Read the preferences, then show the chat."""
        problem: Exception | None = None
        try:
            preferences = await self.backend.preferences()
            self.display_settings = TerminalDisplay.from_preferences(preferences, self.chat_options.language)
        except (Refused, BackendUnreachable) as error:
            problem = error
        self.display_settings.default_model = (
            self.display_settings.default_model or self.chat_options.default_model
        )
        self.chat_screen.display_settings = self.display_settings
        await self.push_screen(self.chat_screen)
        self.chat_screen.start(self.chat_options.session, self.chat_options.gateway_check_s)
        if problem is not None:
            self.show_error(problem)

    @property
    def shown_session(self) -> str:
        """The id of the session that is shown; empty for one without a question."""
        return self.chat_screen.chat.info.id if self.chat_screen.chat else ""

    def transcript(self, columns: int) -> str:
        """Return the session that is shown as it looks; empty for one without a question."""
        chat = self.chat_screen.chat
        return "" if chat is None else transcript_text(chat, self.display_settings, columns)

    @property
    def _turns_run(self) -> bool:
        return any(chat.running_turn is not None for chat in self.chat_screen.state.sessions.values())

    async def finish_turns(self) -> None:
        """Say that turns still run, and read them to their end. To be called after the screen has closed."""
        if self._turns_run:
            print(self.display_settings.words.text("quit.waits"), file=sys.stderr, flush=True)
            await self.chat_screen.state.finish()

    def closing_lines(self, *, turns_go_on: bool) -> list[str]:
        """Return what to say after the transcript: what still runs, and how to go on."""
        words = self.display_settings.words
        lines = []
        if turns_go_on and self._turns_run:
            lines.append(words.text("quit.runs"))
        if session := self.shown_session:
            lines.append(words.text("quit.go_on", name=f"thinkaloud chat -s {session}"))
        return lines

    def show_notice(self, text: str) -> None:
        """Show a short notice."""
        self.chat_screen.status_line.show_notice(text)

    def show_error(self, error: Exception) -> None:
        """Show an error until the person has had time to read it."""
        self.chat_screen.status_line.show_notice(self.display_settings.error_text(error), error=True)

    async def save_display(self, display: TerminalDisplay) -> None:
        """Draw with other settings, and save them as the user's preferences."""
        self.display_settings = display
        self.chat_screen.apply_display(display)
        preferences: DisplayPreferences = display.preferences()
        try:
            await self.backend.save_preferences(preferences)
        except (Refused, BackendUnreachable) as error:
            self.show_error(error)

    def use_theme(self, name: str) -> None:
        """Use the light or the dark theme, and save the choice."""
        self._show_theme(name)
        if self.chat_options.save_theme is not None:
            self.chat_options.save_theme(name)

    def _show_theme(self, name: str) -> None:
        self.theme = f"ansi-{name}" if self._of_terminal else f"textual-{name}"

    @property
    def _of_terminal(self) -> bool:
        """Whether the terminal decides what its 16 colours look like."""
        return self.chat_options.colours is Colours.OF_TERMINAL

    def get_css_variables(self) -> dict[str, str]:
        """Return the variables of the theme, changed where its text would be too faint."""
        variables = super().get_css_variables()
        return variables if self._of_terminal else {**variables, **readable_variables(variables)}

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Return what the command palette offers, in the person's language."""
        words = self.display_settings.words
        for key in CHAT_KEYS:
            if key.in_palette:
                yield SystemCommand(words.text(key.words), shown_keys(key.keys), self._run_key(key.action))
        yield SystemCommand(words.text("key.quit"), "Ctrl+Q", self.action_quit)
        for name in KEYLESS_COMMANDS:
            usage = f"/{name} {words.arguments(COMMANDS[name])}".strip()
            yield SystemCommand(words.text(f"command.{name}"), usage, self._begin_command(name))

    def _begin_command(self, name: str) -> Callable[[], None]:
        """Return what puts a command into the prompt, where its argument is typed and Enter runs it."""

        def begin() -> None:
            self.chat_screen.composer.fill(f"/{name} ")
            self.chat_screen.composer.area.focus()

        return begin

    def _run_key(self, action: str) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            await self.chat_screen.run_action(action)

        return run

    def action_command_palette(self) -> None:
        """Show the command palette with words of the person's language."""
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(Palette(self.display_settings.words))

    def action_help_quit(self) -> None:
        """Leave a window by Ctrl+C. On the chat itself the screen takes this key."""
        if self.screen is not self.chat_screen:
            self.screen.dismiss()

    async def action_quit(self) -> None:
        """Leave the chat. Running turns go on in the gateway."""
        self.exit()
