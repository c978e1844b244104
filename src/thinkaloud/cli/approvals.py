"""Decides whether a tool that needs approval may run: `--approve` allows it, else the user is asked.

Without a terminal the call is denied. The question shows the complete arguments, because the user must see
what they approve.
"""

import argparse
import asyncio
import os
import re
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

import msgspec

from thinkaloud.agents.tools import model_tool_name
from thinkaloud.cli.output.console import terminal_options
from thinkaloud.cli.settings import user_agents
from thinkaloud.core.canon import Refused
from thinkaloud.core.transcript import Block
from thinkaloud.core.view import Words
from thinkaloud.surfaces.chat.screen_words import CHAT_TEXTS, ScreenWords
from thinkaloud.surfaces.terminal import clean, clean_json, wrap_text

ALL_TOOLS = "all"
_MAX_LINE_BYTES = 4096


class PromptedDecision(msgspec.Struct, frozen=True):
    """The decision on a call, and the reason if nobody could be asked."""

    granted: bool
    reason: str = ""


class ApprovalPrompter:
    """Decides on the calls of one turn; `allowed` says by a tool's name whether it runs unasked."""

    def __init__(self, allowed: Callable[[str], bool], locale: str) -> None:
        self._allowed = allowed
        self._words = Words(locale)
        self._yes = _yes_answers(self._words)

    async def decide(self, block: Block) -> PromptedDecision:
        """Approve or deny a call."""
        if self._allowed(block.name):
            return PromptedDecision(True)
        if (terminal := _open_terminal()) is None:
            return PromptedDecision(False, self._words.text("cli.not_approved", name=block.name))
        return PromptedDecision(await self._ask(terminal, block))

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
        return typed.strip().lower() in self._yes


def _yes_answers(words: Words) -> tuple[str, ...]:
    """Return what counts as yes: the letter that the question names, and the word that begins with it."""
    # A language that is added has this question before it has all texts of the chats.
    letter = words.text("cli.approve", name="", reason="").rpartition("[")[2][0]
    word = ScreenWords(words.locale, CHAT_TEXTS).text("yes")
    return (letter, word) if word.startswith(letter) else (letter,)


def approved_tools(options: argparse.Namespace) -> Callable[[str], bool]:
    """Return which tools `--approve` allows, by the names that models see.

    A value is the name of a tool, `SERVER/TOOL`, all tools of an MCP server (`SERVER/`, or `SERVER` if the
    agents of this machine have it), or `all`. The tools of an agent of another machine are not known here.
    """
    if options.approve and not options.agent:
        raise Refused("--approve needs an agent, because only agents have tools. Add --agent NAME.")
    tools = _AgentTools(options)
    if ALL_TOOLS in options.approve:
        return lambda _: True
    names: set[str] = set()
    approved_servers: set[str] = set()
    for value in options.approve:
        server = value.removesuffix("/")
        if not server:
            raise Refused(
                "Invalid value for --approve: {value} names no tool and no server.", value=repr(value)
            )
        if value.endswith("/") or server in tools.servers:
            approved_servers.add(server)
        else:
            names.add(model_tool_name(value))
        tools.check(value)
    tools.servers |= approved_servers
    return lambda tool: tool in names or tools.server_of(tool) in approved_servers


class _AgentTools:
    """What the file of agents says of an agent's tools: nothing for an agent of another machine."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._agent = options.agent
        self._references: tuple[str, ...] = ()
        self.servers: set[str] = set()
        if options.agent and not options.server:
            file = user_agents()
            self._references = file.tool_names(options.agent)
            self.servers = {reference.partition("/")[0] for reference in self._references}.intersection(
                file.mcp
            )
        tools = {reference for reference in self._references if "/" not in reference}
        self._own_names = {model_tool_name(tool) for tool in tools - self.servers}

    def server_of(self, tool: str) -> str | None:
        """Return the MCP server of a tool, by the name that models see; None if it is of none."""
        if tool in self._own_names:
            return None
        # The tool `files_extra_read` is of the server `files_extra`, if there is also a server `files`.
        longest_first = sorted(self.servers, key=len, reverse=True)
        return next((server for server in longest_first if tool.startswith(f"{server}_")), None)

    def check(self, value: str) -> None:
        """Refuse a value of `--approve` that names no tool of this agent."""
        name = model_tool_name(value)
        known = value.removesuffix("/") in self.servers or name in self._own_names or self.server_of(name)
        if self._references and not known:
            raise Refused(
                "Invalid value for --approve: {agent} has no tool {value}. Its tools: {references}. "
                "Use one of them, or {all_tools}.",
                agent=self._agent,
                value=repr(value),
                references=", ".join(self._references),
                all_tools=ALL_TOOLS,
            )


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
