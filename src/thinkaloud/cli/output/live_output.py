"""A running turn on a terminal: one key shows and hides thoughts, and silence is told.

The terminal is changed only while this process is in its foreground. It is restored at the end, on an error,
when a signal ends the process, and before Ctrl-Z suspends it. Ctrl-C and Ctrl-\\ stay signals.
"""

import asyncio
import atexit
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from types import FrameType
from typing import Any

from thinkaloud.cli.output.console import SHOW_KEY
from thinkaloud.client.config import ConfigFile
from thinkaloud.core.canon import Entry
from thinkaloud.core.view import RememberScope
from thinkaloud.surfaces.plain import PlainWriter

if sys.platform != "win32":
    import termios

TICK_S = 1.0


class LiveOutput:
    """Writes entries, and keeps the terminal informed between them."""

    def __init__(self, writer: PlainWriter) -> None:
        self._writer = writer
        self._fed_at = time.monotonic()
        self.keyboard: _Keyboard | None = None
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
            with _listening(self.press) as self.keyboard:
                yield
        finally:
            self.keyboard = None
            ticking.cancel()
            with suppress(asyncio.CancelledError):
                await ticking
            self._writer.erase_status()


@contextmanager
def _listening(on_key: Callable[[str], None]) -> Iterator["_Keyboard | None"]:
    """Call `on_key` for each key pressed while a loop runs; yield None if there is no POSIX terminal."""
    terminal = _open_terminal()
    if terminal is None:
        yield None
        return
    keyboard = _Keyboard(terminal, on_key)
    try:
        with keyboard.signals():
            keyboard.resume()
            yield keyboard
    finally:
        keyboard.pause()
        atexit.unregister(keyboard.pause)
        os.close(terminal)


class _Keyboard:
    """A terminal from which keys are read one by one, without waiting for Enter and without showing them."""

    def __init__(self, terminal: int, on_key: Callable[[str], None]) -> None:
        self._terminal = terminal
        self._on_key = on_key
        self._loop = asyncio.get_running_loop()
        self._saved_mode: list[Any] | None = None
        atexit.register(self.pause)

    @property
    def active(self) -> bool:
        """Whether keys are read now."""
        return self._saved_mode is not None

    def resume(self) -> None:
        """Begin to read keys, unless this process is in the background: changing the mode would stop it."""
        if self._saved_mode is not None or os.tcgetpgrp(self._terminal) != os.getpgrp():
            return
        mode = termios.tcgetattr(self._terminal)
        self._saved_mode = list(mode)
        mode[3] &= ~(termios.ICANON | termios.ECHO)
        mode[6] = [*mode[6]]
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._terminal, termios.TCSADRAIN, mode)
        self._loop.add_reader(self._terminal, self._read)

    def pause(self) -> None:
        """Stop reading keys and restore the terminal."""
        if self._saved_mode is None:
            return
        saved, self._saved_mode = self._saved_mode, None
        if not self._loop.is_closed():
            self._loop.remove_reader(self._terminal)
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(self._terminal, termios.TCSADRAIN, saved)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the terminal to somebody who asks a question."""
        self.pause()
        try:
            yield
        finally:
            self.resume()

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Restore the terminal before a signal ends or suspends this process."""
        handlers = {
            signal.SIGTERM: self._give_way,
            signal.SIGHUP: self._give_way,
            signal.SIGTSTP: self._give_way,
            signal.SIGCONT: self._continue,
        }
        # What the parent chose to ignore, as nohup does, stays ignored.
        before = {
            number: signal.signal(number, handler)
            for number, handler in handlers.items()
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _read(self) -> None:
        try:
            pressed = os.read(self._terminal, 64).decode(errors="replace")
        except OSError:
            pressed = ""
        if not pressed:  # the terminal was closed
            self._loop.remove_reader(self._terminal)
        for key in pressed:
            self._on_key(key)

    def _give_way(self, number: int, frame: FrameType | None) -> None:
        self.pause()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _continue(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTSTP, self._give_way)
        self.resume()


def _open_terminal() -> int | None:
    """Open the terminal to read keys, or return None. Standard input may hold the prompt instead."""
    if sys.platform == "win32" or not sys.stderr.isatty():
        return None
    try:
        return os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return None
