"""Finds tools by name: tools of this process, and tools of MCP servers.

A server is started when one of its tools is first requested, and then reused. A server that has disconnected
is restarted at the next request. Closing the toolbox stops all servers.
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

from thinkaloud.agents.mcp import McpServer, ServerDisconnected, connect
from thinkaloud.agents.tool_results import ToolReturn
from thinkaloud.agents.tools import Tool, model_tool_name
from thinkaloud.client.keys import resolve_key
from thinkaloud.core.canon import KeyMissing, Refused, Wording, reason_of

logger = logging.getLogger(__name__)

CLOSE_TIMEOUT_S = 15.0
"""How long all servers together may take to stop. The SDK kills a program much earlier."""
_REFERENCE = re.compile("(env|file|keyring|credentials):.")


class Toolbox:
    """Finds tools for agents. Servers run only inside its `async with`."""

    def __init__(self, tools: Mapping[str, Tool], servers: Sequence[McpServer] = ()) -> None:
        self._tools = tools
        self._servers = {server.name: _ServerConnection(server) for server in servers}
        self._entered = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tools and servers. `SERVER/TOOL` is a single tool of a server."""
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
                "%d MCP servers did not stop within %g s and may still be running",
                len(unfinished),
                CLOSE_TIMEOUT_S,
            )

    async def find(self, names: Sequence[str]) -> tuple[Tool, ...]:
        """Return the tools of these names, each once. The needed servers start concurrently."""
        if unknown := [name for name in names if not self._knows(name)]:
            raise Refused(
                "There is no tool {unknown}. Available: {names}. Use SERVER/TOOL for a single tool "
                "of an MCP server.",
                unknown=repr(unknown[0]),
                names=", ".join(self.names) or Wording("none"),
            )
        groups = await asyncio.gather(*(self._tools_named(name) for name in names))
        return tuple(dict.fromkeys(tool for tools in groups for tool in tools))

    def _knows(self, name: str) -> bool:
        return name in self._tools or name.partition("/")[0] in self._servers

    async def _tools_named(self, name: str) -> tuple[Tool, ...]:
        if name in self._tools:
            return (self._tools[name],)
        if not self._entered:
            raise RuntimeError("A toolbox starts servers only inside its `async with`, which stops them.")
        server, _, tool_name = name.partition("/")
        tools = await self._servers[server].tools()
        full_name = model_tool_name(name)
        chosen = tuple(tool for tool in tools if not tool_name or tool.definition.name == full_name)
        if tool_name and not chosen:
            names = ", ".join(tool.definition.name.removeprefix(f"{server}_") for tool in tools)
            raise Refused(
                "The MCP server {server} has no tool {tool_name}. It has: {names}.",
                server=server,
                tool_name=repr(tool_name),
                names=names or Wording("none"),
            )
        return chosen


class _ServerConnection:
    """The connection to one server: not started, starting, connected or lost."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._exit_stack = AsyncExitStack()
        self._start_task: asyncio.Task[tuple[Tool, ...]] | None = None
        self._lost = asyncio.Event()

    async def tools(self) -> tuple[Tool, ...]:
        """Return its tools; start the server if necessary. Cancelling one caller does not stop the start."""
        if self._start_task is None or self._lost.is_set() or _failed(self._start_task):
            self._lost = asyncio.Event()
            self._start_task = asyncio.create_task(self._start(self._lost))
        return await asyncio.shield(self._start_task)

    async def end(self) -> None:
        """Stop the server, even while it starts."""
        if self._start_task is not None:
            self._start_task.cancel()
            await asyncio.wait([self._start_task])
            _failed(self._start_task)  # retrieves the exception, otherwise asyncio logs it as never retrieved
            self._start_task = None
        await self._exit_stack.aclose()

    async def _start(self, lost: asyncio.Event) -> tuple[Tool, ...]:
        await self._exit_stack.aclose()  # closes the previous connection
        tools = await self._exit_stack.enter_async_context(connect(_resolve_secrets(self._server)))
        return tuple(_with_loss_detection(tool, lost) for tool in tools)


def _failed(task: asyncio.Task[tuple[Tool, ...]]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


def _with_loss_detection(tool: Tool, lost: asyncio.Event) -> Tool:
    """Return the tool, which sets `lost` when a call finds that the server has disconnected."""

    async def run(arguments: str) -> str | ToolReturn:
        try:
            return await tool.run(arguments)
        except ServerDisconnected:
            lost.set()
            raise

    return msgspec.structs.replace(tool, run=run)


def _resolve_secrets(server: McpServer) -> McpServer:
    """Replace the references in `env` and `headers` with their secrets. A settings file holds no keys."""
    env = {name: _resolve_value(server, name, value) for name, value in server.env.items()}
    headers = {name: _resolve_value(server, name, value) for name, value in server.headers.items()}
    return msgspec.structs.replace(server, env=env, headers=headers)


def _resolve_value(server: McpServer, name: str, value: str) -> str:
    scheme, _, reference = value.partition(" ") if value.startswith("Bearer ") else ("", "", value)
    if not _REFERENCE.match(reference):
        return value
    try:
        secret = resolve_key(reference, environ=os.environ)
    except KeyMissing as error:
        raise KeyMissing(
            "The MCP server {name} needs {variable}: {reason}",
            name=server.name,
            variable=name,
            reason=reason_of(error),
        ) from None
    return f"{scheme} {secret.reveal() if secret else ''}".strip()
