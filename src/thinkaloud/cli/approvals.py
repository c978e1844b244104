"""Whether a tool may run that wants to be approved: allowed beforehand, asked on the terminal, or denied.

The question shows the arguments whole: nobody can approve what they do not see.
"""

import asyncio
import os
import re
import sys
import threading
from collections.abc import Collection
from contextlib import suppress

from thinkaloud.agents.run import Run
from thinkaloud.canon import NoticeGiven, Refused
from thinkaloud.cli.console import terminal_options
from thinkaloud.surfaces.terminal import clean, clean_json, wrap_text
from thinkaloud.transcript import Block
from thinkaloud.view import Words

_MAX_LINE_BYTES = 4096
_YES = ("y", "yes", "s", "sim")


class ApprovalPrompter:
    """Decides for one run; `allowed` are the tools that need no question, by the names that models call."""

    def __init__(self, allowed: Collection[str], locale: str) -> None:
        self._allowed = allowed
        self._words = Words(locale)

    async def decide(self, run: Run, block: Block) -> None:
        """Let a call run, or not."""
        if not block.awaiting_result:
            return  # it was stopped before anybody could be asked
        if block.name in self._allowed:
            granted, by = True, "--approve"
        elif (terminal := _open_terminal()) is None:
            granted, by = False, ""
            run.emit(NoticeGiven("approval_denied", self._denied_text(block), block.number))
        else:
            granted, by = await self._ask(terminal, block), "terminal"
        with suppress(Refused):  # it came to its end while the question stood
            run.decide(block.number, granted=granted, by=by)

    async def _ask(self, terminal: int, block: Block) -> bool:
        arguments = re.sub(r"\s*\n\s*", " ", clean_json(block.text)).strip() or "{}"
        question = self._words.text("cli.approve", name=clean(block.name), reason=arguments)
        _discard_typed(terminal)
        print(wrap_text(question, terminal_options().columns), end=" ", file=sys.stderr, flush=True)
        typed = ""
        try:
            typed = await _read_line(terminal)
        finally:
            if not typed.endswith("\n"):
                print(file=sys.stderr, flush=True)
        return typed.strip().lower() in _YES

    def _denied_text(self, block: Block) -> str:
        return self._words.text("cli.not_approved", name=block.name)


def _open_terminal() -> int | None:
    """Where a person who sees the question can answer it; standard input may be the prompt."""
    if not sys.stderr.isatty():
        return None
    try:
        return os.dup(sys.stdin.fileno()) if sys.stdin.isatty() else os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return None


async def _read_line(terminal: int) -> str:
    """A line that a person types; nothing when they leave. Closes the terminal.

    It is read in a thread that nobody waits for when the question is given up, and not through
    `sys.stdin`, whose lock such a thread would hold when the program ends.
    """
    loop = asyncio.get_running_loop()
    line_future: asyncio.Future[bytes] = loop.create_future()

    def set_line(line: bytes) -> None:
        if not line_future.done():
            line_future.set_result(line)

    def read_terminal() -> None:
        line = b""
        with suppress(OSError):
            line = os.read(terminal, _MAX_LINE_BYTES)
            os.close(terminal)
        with suppress(RuntimeError):  # the loop is over, and with it the question
            loop.call_soon_threadsafe(set_line, line)

    threading.Thread(target=read_terminal, daemon=True, name="approval").start()
    return (await line_future).decode(errors="replace")


def _discard_typed(terminal: int) -> None:
    """What was typed before the question was there is no answer to it."""
    try:
        import termios
    except ImportError:
        return
    with suppress(termios.error):
        termios.tcflush(terminal, termios.TCIFLUSH)
