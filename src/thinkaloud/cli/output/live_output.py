"""A running turn on a terminal: one key shows and hides thoughts, and silence is told."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from thinkaloud.cli.output.console import SHOW_KEY
from thinkaloud.cli.output.keyboard import Keyboard, listening
from thinkaloud.client.config import ConfigFile
from thinkaloud.core.canon import Entry
from thinkaloud.core.view import RememberScope
from thinkaloud.surfaces.plain import PlainWriter

TICK_S = 1.0


class LiveOutput:
    """Writes entries, and keeps the terminal informed between them."""

    def __init__(self, writer: PlainWriter) -> None:
        self._writer = writer
        self._fed_at = time.monotonic()
        self.keyboard: Keyboard | None = None
        self.toggled = False
        """Whether the user showed or hid thoughts."""

    def feed(self, entry: Entry) -> None:
        """Write what an entry adds."""
        self._fed_at = time.monotonic()
        self._writer.feed(entry)

    def write_notice(self, text: str) -> None:
        """Write something that is not part of the turn."""
        self._writer.write_notice(text)

    def leave(self) -> None:
        """Leave a turn that was not shown to its end. Where it runs, it may still end in any way."""
        self._writer.erase_status()

    def remember(self) -> None:
        """Keep what the user chose with the key, if the settings say that it is remembered."""
        if not self.toggled:
            return
        file = ConfigFile()
        if file.read().display.remember in (RememberScope.USER, RememberScope.USER_WORKSPACE):
            file.change({"thinking.display.show_thinking": self._writer.thoughts_shown})

    @contextmanager
    def question(self) -> Iterator[None]:
        """Leave the terminal to a question that the user answers with a line."""
        self._writer.erase_status()
        if self.keyboard is None:
            yield
            return
        with self.keyboard.paused():
            yield

    def press(self, key: str) -> None:
        """Do what a key means."""
        if key.lower() == SHOW_KEY:
            self._writer.toggle_thinking()
            self.toggled = True

    async def tick(self) -> None:
        """Tell every second that the model is still at work, until cancelled."""
        while True:
            await asyncio.sleep(TICK_S)
            if self.keyboard is None or self.keyboard.active:
                self._writer.tick(round((time.monotonic() - self._fed_at) * 1000))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen to keys and tell of silence while a turn runs, if there is a terminal."""
        if not sys.stderr.isatty():
            yield
            return
        ticking = asyncio.create_task(self.tick())
        try:
            with listening(self.press) as self.keyboard:
                yield
        finally:
            self.keyboard = None
            ticking.cancel()
            with suppress(asyncio.CancelledError):
                await ticking
            self._writer.erase_status()
