"""Decides whether a tool that needs approval may run: `--approve` allows it, else the user is asked.

Without a terminal the call is denied. The question shows the complete arguments, because the user must see
what they approve.
"""

import asyncio
import os
import re
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

import msgspec

from thinkaloud.cli.console import terminal_options
from thinkaloud.surfaces.terminal import clean, clean_json, wrap_text
from thinkaloud.transcript import Block
from thinkaloud.view import Words

_MAX_LINE_BYTES = 4096
_YES = ("y", "yes", "s", "sim")


class PromptedDecision(msgspec.Struct, frozen=True):
    """The decision on a call, who made it, and the reason if nobody could be asked."""

    granted: bool
    by: str
    reason: str = ""


class ApprovalPrompter:
    """Decides on the calls of one turn; `allowed` says by a tool's name whether it runs unasked."""

    def __init__(self, allowed: Callable[[str], bool], locale: str) -> None:
        self._allowed = allowed
        self._words = Words(locale)

    async def decide(self, block: Block) -> PromptedDecision:
        """Approve or deny a call."""
        if self._allowed(block.name):
            return PromptedDecision(True, "--approve")
        if (terminal := _open_terminal()) is None:
            return PromptedDecision(False, "", self._words.text("cli.not_approved", name=block.name))
        return PromptedDecision(await self._ask(terminal, block), "terminal")

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


def _open_terminal() -> int | None:
    """Open the terminal for the user's reply, or return None. Standard input may hold the prompt instead."""
    if not sys.stderr.isatty():
        return None
    try:
        return os.dup(sys.stdin.fileno()) if sys.stdin.isatty() else os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return None


async def _read_line(terminal: int) -> str:
    """Read a line from the terminal and close it; empty when the user ends the input.

    A daemon thread reads it, because a blocking read cannot be cancelled when the turn is stopped. It does
    not use `sys.stdin`: the thread would hold its lock at exit, and the interpreter would abort.
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
        with suppress(RuntimeError):  # the loop is closed: the turn was stopped
            loop.call_soon_threadsafe(set_line, line)

    threading.Thread(target=read_terminal, daemon=True, name="approval").start()
    return (await line_future).decode(errors="replace")


def _discard_typed(terminal: int) -> None:
    """Discard what was typed before the question appeared: it is no reply to it."""
    try:
        import termios
    except ImportError:
        return
    with suppress(termios.error):
        termios.tcflush(terminal, termios.TCIFLUSH)
