"""Reads single keys from the terminal while something runs, and always gives the terminal back as it was.

The terminal is changed only while this process is in its foreground. It is restored at the end, on an error,
when a signal ends the process, and before Ctrl-Z suspends it. Ctrl-C and Ctrl-\\ stay signals.
"""

import asyncio
import atexit
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

if sys.platform != "win32":
    import termios


@contextmanager
def listening(on_key: Callable[[str], None]) -> Iterator["Keyboard | None"]:
    """Call `on_key` for each key pressed while a loop runs; yield None if there is no POSIX terminal."""
    terminal = _open_terminal()
    if terminal is None:
        yield None
        return
    keyboard = Keyboard(terminal, on_key)
    try:
        with keyboard.signals():
            keyboard.resume()
            yield keyboard
    finally:
        keyboard.pause()
        atexit.unregister(keyboard.pause)
        os.close(terminal)


class Keyboard:
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
