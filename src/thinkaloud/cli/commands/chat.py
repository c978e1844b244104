"""`thinkaloud chat`: a chat in the terminal, with the gateway of this home or another one."""

import argparse
import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from thinkaloud.cli.gateway_client import add_server_options, open_backend, server_choice
from thinkaloud.cli.gateway_client.find import LATEST, find_session
from thinkaloud.cli.output.console import (
    EXIT_OK,
    add_agent_option,
    add_thinking_option,
    chosen_colours,
    fill_help,
)
from thinkaloud.cli.settings import model_name, user_config
from thinkaloud.client.config import ConfigFile
from thinkaloud.client.user_files import home_folder, locked_folder, replace_file
from thinkaloud.core.canon import Refused, reason_of
from thinkaloud.core.view import LOCALES
from thinkaloud.surfaces.chat.backend import INSIDE

if TYPE_CHECKING:
    from thinkaloud.surfaces.chat.question_queue import Change, Questions


class WaitingFile:
    """Keeps the questions that wait in a file of the user's folder, which all chats of this user share."""

    def __init__(self) -> None:
        self._path = home_folder() / "waiting.json"

    def read(self, session: str) -> "Questions":
        """Return the questions of a session."""
        return self._read().get(session, [])

    def change(self, session: str, change: "Change") -> "Questions":
        """Replace the questions of a session by what `change` makes of them, and return that."""
        with locked_folder(self._path):
            sessions = self._read()
            before = sessions.pop(session, [])
            questions = change(before)
            if questions:
                sessions[session] = questions
            if questions != before:
                replace_file(self._path, msgspec.json.encode(sessions).decode())
        return questions

    def _read(self) -> "dict[str, Questions]":
        from thinkaloud.surfaces.chat.question_queue import Questions

        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, Questions])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError) as error:
            raise Refused(
                "Cannot read the questions that wait in {path}: {reason}. Repair or remove the file.",
                path=self._path,
                reason=reason_of(error),
            ) from None


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `chat`."""
    add_chat_options(parser)
    add_option = parser.add_argument
    add_option(
        "--no-mouse", action="store_true", help="leave the mouse to the terminal, for its own selection"
    )
    add_option(
        "--theme",
        choices=("dark", "light"),
        help="colours (default: your setting, else dark); it is not saved",
    )
    parser.set_defaults(run=run_chat)


def add_chat_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every chat: who answers, the session, the gateway and the language."""
    add_option = parser.add_argument
    add_option(
        "-m",
        "--model",
        default="",
        metavar="M",
        help="the model that answers (default: the session's, else yours)",
    )
    add_agent_option(parser)
    add_thinking_option(parser)
    sessions = parser.add_mutually_exclusive_group()
    sessions.add_argument(
        "-c", "--continue", dest="continue_last", action="store_true", help="show the session used last"
    )
    sessions.add_argument(
        "-s", "--session", default="", metavar="SESSION", help="show a session: its id, or the start of it"
    )
    add_server_options(parser)
    option = add_option(
        "--language",
        "--lang",
        default="",
        metavar="L",
        help="language: %(languages)s (default: your preference)",
    )
    fill_help(option, languages=" or ".join(LOCALES))


def run_chat(options: argparse.Namespace) -> int:
    """Chat until the person quits, then print the transcript, so that it stays in the scroll-back."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refused("The chat needs a terminal. Use `thinkaloud ask` in scripts and pipes.")
    if os.environ.get("TERM") == "dumb":
        raise Refused(
            "The chat needs a terminal that can move its cursor, and TERM is dumb. Use `thinkaloud ask`."
        )
    return asyncio.run(_chat(options))


def _leave_on_hangup(leave: Callable[[], None]) -> None:
    """Leave the chat when its terminal is closed, as Ctrl+Q does, and write nothing more.

    Without this the process would end at once, and with it the turns of other commands in its gateway. The
    handler stays until the process ends, for it may still wait for turns.
    """
    if sys.platform == "win32":
        return

    def hang_up() -> None:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__):
            if stream is not None:
                os.dup2(nowhere, stream.fileno())
        leave()

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hang_up)


def terminal_theme(environ: Mapping[str, str]) -> str:
    """Return the theme that fits the terminal: light if COLORFGBG names a light background, else dark."""
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if background in ("7", "15") else "dark"


_MANY_COLOURS = ("256color", "direct", "truecolor", "24bit")
_COLOURFUL_TERMINALS = ("alacritty", "foot", "ghostty", "iterm", "kitty", "wezterm")


def terminal_colours(environ: Mapping[str, str]) -> str:
    """Return which colours the chat uses: none, the 16 of the terminal, or all.

    A terminal that can show more says so in COLORTERM or at the end of TERM (`xterm-256color`).
    """
    if chosen_colours(environ) is False:
        return "none"
    term = environ.get("TERM", "").lower()
    many = environ.get("COLORTERM") or term.endswith(_MANY_COLOURS) or term.endswith(_COLOURFUL_TERMINALS)
    return "all" if many or sys.platform == "win32" else "terminal"


async def _chat(options: argparse.Namespace) -> int:
    from thinkaloud.surfaces.chat.chat_session import Answerer
    from thinkaloud.surfaces.tui.screens.app import ChatApp, ChatOptions, Colours

    async with open_backend(server_choice(options)) as backend:
        name = LATEST if options.continue_last else options.session
        session = (await find_session(backend, name)).id if name else ""
        config = user_config()
        chat_options = ChatOptions(
            answerer=Answerer(options.model, options.agent, options.thinking),
            session=session,
            # A gateway on this machine may have been started in another language.
            language=options.language or ("" if options.server else config.language),
            theme=options.theme or config.text("chat.theme") or terminal_theme(os.environ),
            colours=Colours(terminal_colours(os.environ)),
            save_theme=lambda name: ConfigFile().change({"chat.theme": name}),
            default_model=model_name() if backend.address == INSIDE else "",
            waiting_store=WaitingFile(),
        )
        app = ChatApp(backend, chat_options)
        _leave_on_hangup(app.exit)
        await app.run_async(mouse=not options.no_mouse)
        inside = backend.address == INSIDE
        try:
            if inside:  # the gateway ends with this process, so its turns have to end before
                await app.finish_turns()
        finally:
            if transcript := app.transcript(shutil.get_terminal_size().columns):
                print(transcript)
            for line in app.closing_lines(turns_go_on=not inside):
                print(line, file=sys.stderr)
        return app.return_code or EXIT_OK
