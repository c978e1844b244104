"""Tools by name: those that run in this process, and those of MCP servers.

A server is started when somebody first asks for its tools, and kept for whoever asks next. One that died is
started again when it is asked for. Leaving the toolbox ends them all.
"""

import asyncio
import logging
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

import msgspec

from thinkaloud.agents.mcp import McpServer, connect
from thinkaloud.agents.tools import Tool, ToolFault
from thinkaloud.canon import KeyMissing, Refused
from thinkaloud.client.keys import resolve_key

logger = logging.getLogger(__name__)

CLOSE_TIMEOUT_S = 15.0
"""So long servers may take to end; each of them is told at once, and killed long before by the SDK."""
_REFERENCE = re.compile("(env|file|keyring|credentials):.")


class Toolbox:
    """Finds tools for agents; servers run only while it is entered."""

    def __init__(self, tools: Mapping[str, Tool], servers: Sequence[McpServer] = ()) -> None:
        self._tools = tools
        self._servers = {server.name: _ServerConnection(server) for server in servers}
        self._entered = False

    @property
    def names(self) -> tuple[str, ...]:
        """Every tool and every server; `SERVER/TOOL` is a single tool of a server."""
        return (*self._tools, *self._servers)

    async def __aenter__(self) -> Self:
        self._entered = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._entered = False
        tasks = [asyncio.create_task(connection.end()) for connection in self._servers.values()]
        if tasks and (unfinished := (await asyncio.wait(tasks, timeout=CLOSE_TIMEOUT_S))[1]):
            logger.warning(
                "%d MCP servers had not ended after %g s and were left behind",
                len(unfinished),
                CLOSE_TIMEOUT_S,
            )

    async def find(self, names: Sequence[str]) -> tuple[Tool, ...]:
        """The tools that these names stand for, each once; servers that are needed start side by side."""
        if unknown := [name for name in names if not self._knows(name)]:
            raise Refused(
                f"There is no tool {unknown[0]!r}. There are: {', '.join(self.names) or 'none'}; and "
                "SERVER/TOOL for a single tool of an MCP server."
            )
        groups = await asyncio.gather(*(self._tools_named(name) for name in names))
        return tuple(dict.fromkeys(tool for tools in groups for tool in tools))

    def _knows(self, name: str) -> bool:
        return name in self._tools or name.partition("/")[0] in self._servers

    async def _tools_named(self, name: str) -> tuple[Tool, ...]:
        if name in self._tools:
            return (self._tools[name],)
        if not self._entered:
            raise RuntimeError("A toolbox starts servers only within `async with`, which ends them.")
        server, _, tool_name = name.partition("/")
        tools = await self._servers[server].tools()
        # The names that models are told are made of both parts, in the letters that every provider takes.
        full_name = re.sub("[^A-Za-z0-9_-]", "_", f"{server}_{tool_name}")[:64]
        chosen = tuple(tool for tool in tools if not tool_name or tool.definition.name == full_name)
        if tool_name and not chosen:
            names = ", ".join(tool.definition.name.removeprefix(f"{server}_") for tool in tools)
            raise Refused(f"The MCP server {server} has no tool {tool_name!r}. It has: {names or 'none'}.")
        return chosen


class _ServerConnection:
    """One server: not started, starting, there, or lost."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._exit_stack = AsyncExitStack()
        self._start_task: asyncio.Task[tuple[Tool, ...]] | None = None
        self._lost = asyncio.Event()

    async def tools(self) -> tuple[Tool, ...]:
        """Its tools. Whoever waits for them may leave: the others still get them."""
        if self._start_task is None or self._lost.is_set() or _failed(self._start_task):
            self._lost = asyncio.Event()
            self._start_task = asyncio.create_task(self._start(self._lost))
        return await asyncio.shield(self._start_task)

    async def end(self) -> None:
        """Give it up, also while it starts."""
        if self._start_task is not None:
            self._start_task.cancel()
            await asyncio.wait([self._start_task])
            _failed(self._start_task)  # looked at, so that nobody complains of an error that was never seen
            self._start_task = None
        await self._exit_stack.aclose()

    async def _start(self, lost: asyncio.Event) -> tuple[Tool, ...]:
        await self._exit_stack.aclose()  # what the one before left behind
        tools = await self._exit_stack.enter_async_context(connect(_resolve_secrets(self._server)))
        return tuple(_with_loss_detection(tool, self._server.name, lost) for tool in tools)


def _failed(task: asyncio.Task[tuple[Tool, ...]]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


def _with_loss_detection(tool: Tool, server: str, lost: asyncio.Event) -> Tool:
    """The tool, which tells when a call finds its server gone."""

    async def run(arguments: str) -> str:
        try:
            return await tool.run(arguments)
        except ToolFault as fault:
            if str(fault).startswith(f"The MCP server {server} is gone"):
                lost.set()
            raise

    return msgspec.structs.replace(tool, run=run)


def _resolve_secrets(server: McpServer) -> McpServer:
    """The server with what it refers to: a file of settings holds references, and never a key."""
    env, headers = (
        {name: _resolve_value(server, name, value) for name, value in values.items()}
        for values in (server.env, server.headers)
    )
    return msgspec.structs.replace(server, env=env, headers=headers)


def _resolve_value(server: McpServer, name: str, value: str) -> str:
    scheme, _, reference = value.partition(" ") if value.startswith("Bearer ") else ("", "", value)
    if not _REFERENCE.match(reference):
        return value
    try:
        secret = resolve_key(reference, environ=os.environ)
    except KeyMissing as error:
        raise KeyMissing(f"The MCP server {server.name} needs {name}: {error}") from None
    return f"{scheme} {secret.reveal() if secret else ''}".strip()
