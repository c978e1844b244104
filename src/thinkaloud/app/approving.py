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
from thinkaloud.app.shared import look
from thinkaloud.canon import NoticeGiven, Refused
from thinkaloud.surfaces.terminal import clean, clean_json
from thinkaloud.surfaces.wrapping import wrapped
from thinkaloud.transcript import Block
from thinkaloud.view import Words

_LINE_BYTES = 4096
_YES = ("y", "yes", "s", "sim")


class Approvals:
    """Decides for one run; `allowed` are the tools that need no question, by the names that models call."""

    def __init__(self, allowed: Collection[str], locale: str) -> None:
        self._allowed = allowed
        self._words = Words(locale)

    async def settle(self, run: Run, block: Block) -> None:
        """Let a call run, or not."""
        if not block.awaited:
            return  # it was stopped before anybody could be asked
        if block.name in self._allowed:
            granted, by = True, "--approve"
        elif (terminal := _terminal()) is None:
            granted, by = False, ""
            run.emit(NoticeGiven("approval_denied", self._denied(block), block.number))
        else:
            granted, by = await self._ask(terminal, block), "terminal"
        with suppress(Refused):  # it came to its end while the question stood
            run.settle(block.number, granted=granted, by=by)

    async def _ask(self, terminal: int, block: Block) -> bool:
        arguments = re.sub(r"\s*\n\s*", " ", clean_json(block.text)).strip() or "{}"
        question = self._words.say("cli.approve", name=clean(block.name), reason=arguments)
        _forget_typed(terminal)
        print(wrapped(question, look().columns), end=" ", file=sys.stderr, flush=True)
        typed = ""
        try:
            typed = await _line(terminal)
        finally:
            if not typed.endswith("\n"):
                print(file=sys.stderr, flush=True)
        return typed.strip().lower() in _YES

    def _denied(self, block: Block) -> str:
        return self._words.say("cli.not_approved", name=block.name)


def _terminal() -> int | None:
    """Where a person who sees the question can answer it; standard input may be the prompt."""
    if not sys.stderr.isatty():
        return None
    try:
        return os.dup(sys.stdin.fileno()) if sys.stdin.isatty() else os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return None


async def _line(terminal: int) -> str:
    """A line that a person types; nothing when they leave. Closes the terminal.

    It is read in a thread that nobody waits for when the question is given up, and not through
    `sys.stdin`, whose lock such a thread would hold when the program ends.
    """
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[bytes] = loop.create_future()

    def give(line: bytes) -> None:
        if not typed.done():
            typed.set_result(line)

    def read() -> None:
        line = b""
        with suppress(OSError):
            line = os.read(terminal, _LINE_BYTES)
            os.close(terminal)
        with suppress(RuntimeError):  # the loop is over, and with it the question
            loop.call_soon_threadsafe(give, line)

    threading.Thread(target=read, daemon=True, name="approval").start()
    return (await typed).decode(errors="replace")


def _forget_typed(terminal: int) -> None:
    """What was typed before the question was there is no answer to it."""
    try:
        import termios
    except ImportError:
        return
    with suppress(termios.error):
        termios.tcflush(terminal, termios.TCIFLUSH)
