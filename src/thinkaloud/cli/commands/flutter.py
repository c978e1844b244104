"""`thinkaloud flutter`: a chat in a Flutter app, with the gateway of this home or another one."""

import argparse
import asyncio
import signal
import sys
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from thinkaloud.cli import EXIT_STOPPED
from thinkaloud.cli.commands.chat import add_chat_options
from thinkaloud.cli.gateway_client import open_backend, server_choice
from thinkaloud.cli.gateway_client.find import LATEST, find_session
from thinkaloud.cli.output.console import EXIT_OK
from thinkaloud.cli.output.words import command_words
from thinkaloud.cli.settings import model_name
from thinkaloud.surfaces.chat.backend import INSIDE

if TYPE_CHECKING:
    import flet as ft


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `flutter`."""
    add_chat_options(parser)
    add_option = parser.add_argument
    add_option("--port", type=int, default=0, metavar="N", help="the port of the app (default: a free one)")
    add_option("--no-browser", action="store_true", help="print the address, and open no browser")
    add_option("--theme", choices=("light", "dark"), help="colours (default: those of the device)")
    add_option(
        "--font",
        action="append",
        default=[],
        metavar="FILE",
        help="a font for scripts that the app has none for, before those of the system; may be repeated",
    )
    parser.set_defaults(run=run_flutter)


def run_flutter(options: argparse.Namespace) -> int:
    """Serve the app until Ctrl-C. A second Ctrl-C stops the turns that are still waited for."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so a shell starts commands in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return asyncio.run(_serve(options))
    except asyncio.CancelledError:
        return EXIT_STOPPED


async def _serve(options: argparse.Namespace) -> int:
    from thinkaloud.surfaces.chat.chat_session import Answerer
    from thinkaloud.surfaces.flutter.chat_page import ChatSettings, open_chat
    from thinkaloud.surfaces.flutter.system_fonts import SystemFonts
    from thinkaloud.surfaces.flutter.web_server import AppServer

    fonts = SystemFonts(options.font)
    task = asyncio.current_task()
    assert task is not None
    actions: list[Callable[[], object]] = [task.cancel]
    with _stop_signals(actions):
        async with open_backend(
            server_choice(options), on_wait=lambda n: _print_line("app_wait", n=n)
        ) as backend:
            name = LATEST if options.continue_last else options.session
            settings = ChatSettings(
                answerer=Answerer(options.model, options.agent, options.thinking),
                session=(await find_session(backend, name)).id if name else "",
                language=options.language,
                theme=options.theme or "",
                default_model=model_name() if backend.address == INSIDE else "",
            )

            async def open_page(page: "ft.Page") -> None:
                await open_chat(page, backend, settings, fonts)

            server = AppServer(open_page, title="Thinkaloud", port=options.port, fonts=fonts)
            print(server.url, flush=True)
            _print_line("app_open")
            if not options.no_browser and not webbrowser.open(server.url):
                _print_line("app_no_browser")
            actions.append(server.stop)
            await server.run()
            actions.pop()  # the next signal cancels the wait for running turns
    return EXIT_OK


def _print_line(key: str, n: int = 0) -> None:
    print(f"thinkaloud: {command_words().text(key, n=n)}", file=sys.stderr)


@contextmanager
def _stop_signals(actions: list[Callable[[], object]]) -> Iterator[None]:
    """Call the action that is the last one by then on Ctrl-C and on SIGTERM, in the event loop."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        actions[-1]()

    before = {
        number: signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
