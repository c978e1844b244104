"""Tools of MCP servers, which are either local programs (stdio) or remote (streamable HTTP).

A connection has its own task: the SDK's scopes must be left by the task that entered them, and they cancel
that task when the server disconnects, so it must not be the caller's task. A program gets only the SDK's
minimal environment and the variables of `env`, so it cannot read our keys.
"""

import asyncio
import contextlib
import itertools
import logging
import os
import re
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, TextIO

import msgspec

from thinkaloud.agents.tool_results import MAX_IMAGES, ResultParts, ToolReturn
from thinkaloud.agents.tools import Tool, ToolFault, model_tool_name
from thinkaloud.client.json_schema import inline_references
from thinkaloud.client.keys import Secret
from thinkaloud.core.canon import Refused, Wording, reason_of, requests
from thinkaloud.extras import install_command

if TYPE_CHECKING:
    from mcp import Client, types
    from mcp.client import Transport

logger = logging.getLogger(__name__)

START_TIMEOUT_S = 20.0
"""For start, handshake and tool list. A program that is downloaded first may need most of it."""
CLOSE_TIMEOUT_S = 10.0
"""For closing a remote connection. The SDK itself bounds the end of a program, to about seven seconds."""
MAX_TOOLS = 128
"""The maximum of the strictest large provider for one request."""
MAX_PAGES = 100
MAX_DESCRIPTION_CHARS = 4_000
MAX_STDERR_BYTES = 500
_CONTROL_CHARS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class McpServer(msgspec.Struct, frozen=True, kw_only=True):
    """An MCP server: the command that starts it or its URL, and the tools to use (empty for all)."""

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    env: dict[str, str] = {}
    """Environment variables of the program, in addition to the SDK's minimal environment."""
    headers: dict[str, str] = {}
    """Headers of every request to the URL, such as `Authorization`."""
    approval: bool = False
    timeout_s: float = 60.0
    tools: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"McpServer({self.name!r})"  # the other fields may contain keys


class ServerDisconnected(ToolFault):
    """A call failed because its server has disconnected."""


class _ArgumentsSchema(msgspec.Struct):
    """The part of a JSON Schema that every provider requires."""

    type: Literal["object"]
    properties: dict[str, dict[str, Any] | bool] = {}
    required: list[str] = []


@contextlib.asynccontextmanager
async def connect(server: McpServer) -> AsyncIterator[tuple[Tool, ...]]:
    """Connect to a server and yield its tools. Any task may call the tools and close the context.

    Raises `Refused` if the server cannot be used. Closing waits until the started program has ended, even if
    the task is cancelled meanwhile; the cancellation is raised afterwards.
    """
    _check_server(server)
    tools: asyncio.Future[tuple[Tool, ...]] = asyncio.get_running_loop().create_future()
    stderr = _StderrTail()
    owner = asyncio.create_task(_hold_connection(server, tools, stderr))
    try:
        futures: list[asyncio.Future[Any]] = [owner, tools]
        await asyncio.wait(futures, timeout=START_TIMEOUT_S, return_when=asyncio.FIRST_COMPLETED)
        if tools.done():
            yield tools.result()
    finally:
        await _close(owner, CLOSE_TIMEOUT_S if server.url else None)
    failure = None if owner.cancelled() else _root_cause(owner.exception())
    if not tools.done():
        raise failure if isinstance(failure, Refused) else _refusal(server, failure, stderr.text)
    if failure:
        logger.warning("The MCP server %s disconnected: %r", server.name, failure)


def _check_server(server: McpServer) -> None:
    try:
        import mcp  # noqa: F401
    except ModuleNotFoundError:
        raise Refused(
            "The MCP server {name} needs the MCP package. Run: {command}",
            name=server.name,
            command=install_command("mcp"),
        ) from None
    if bool(server.command) == bool(server.url) or not re.match("https?://|$", server.url):
        raise Refused(
            "The MCP server {name} needs either a command or a URL that begins with http:// or "
            "https://. Set exactly one of them.",
            name=server.name,
        )


async def _hold_connection(
    server: McpServer, tools: asyncio.Future[tuple[Tool, ...]], stderr: "_StderrTail"
) -> None:
    """Hold one connection until this task is cancelled."""
    from mcp import Client

    async with _transport(server, stderr) as transport, Client(transport, cache=None) as client:
        tools.set_result(await _load_tools(server, client))
        await asyncio.Event().wait()


@contextlib.asynccontextmanager
async def _transport(server: McpServer, stderr: "_StderrTail") -> AsyncIterator["Transport"]:
    import httpx2
    from mcp import StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client

    if server.url:
        # Longer than our own timeout, which ends one call: a timeout of the HTTP client ends the connection.
        timeout = httpx2.Timeout(30, read=server.timeout_s + 300)
        async with httpx2.AsyncClient(headers=server.headers, timeout=timeout) as http:
            yield streamable_http_client(server.url, http_client=http)
    else:
        program, *args = server.command
        # With "replace", invalid UTF-8 makes one message unreadable instead of closing the connection.
        parameters = StdioServerParameters(
            command=program, args=args, env=server.env, encoding_error_handler="replace"
        )
        with stderr.capture() as stream:
            yield stdio_client(parameters, errlog=stream)


async def _close(owner: asyncio.Task[None], timeout_s: float | None) -> None:
    """Wait for a connection to close, even while cancelled: no program may outlive its context."""
    cancelled = False
    owner.cancel()
    while not owner.done():
        try:
            await asyncio.wait([owner], timeout=timeout_s)
            owner.cancel()  # again: a remote server may not respond to the closing request
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError


class _StderrTail:
    """The last bytes of a program's standard error, which usually say why it did not start."""

    text = ""

    @contextlib.contextmanager
    def capture(self) -> Iterator[TextIO]:
        read_fd, write_fd = os.pipe()
        # A thread, because not every event loop can read a pipe.
        reader = threading.Thread(target=self._read, args=(read_fd,), daemon=True)
        reader.start()
        try:
            with open(write_fd, "w", encoding="utf-8") as stream:
                yield stream
        finally:
            reader.join(0.2)  # it has ended already, unless child processes still hold the pipe

    def _read(self, pipe: int) -> None:
        tail = b""
        with open(pipe, "rb", buffering=0) as stream:
            while chunk := stream.read(4096):
                tail = (tail + chunk)[-MAX_STDERR_BYTES:]
                self.text = _without_control_chars(tail.decode("utf-8", "replace")).strip()


_NONE = Wording("none")


def _root_cause(error: BaseException | None) -> BaseException | None:
    """Return the first error inside the SDK's exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _refusal(server: McpServer, failure: BaseException | None, stderr: str) -> Refused:
    from mcp import MCPError
    from mcp.types import CONNECTION_CLOSED
    from pydantic import ValidationError

    detail = _without_control_chars(" ".join(str(failure).split()))[:300]
    remedy = Wording("Run its command by hand to see what it needs.")
    if server.url:
        remedy = Wording("Check that it runs and that its url is correct.")
    if failure is None:
        reason = Wording(
            "it did not respond within {start_timeout_s} s", start_timeout_s=f"{START_TIMEOUT_S:g}"
        )
    elif isinstance(failure, MCPError):
        reason = Wording("it responded {detail}", detail=repr(detail))
        if failure.code == CONNECTION_CLOSED:
            reason = Wording("it exited before it responded")
    elif isinstance(failure, OSError) and server.command:
        reason = Wording(
            "{command} cannot be started ({reason})",
            command=server.command[0],
            reason=failure.strerror or detail,
        )
    elif isinstance(failure, ValidationError):
        reason, remedy = (
            Wording("it violates the protocol ({detail})", detail=detail),
            Wording("Report it to its authors."),
        )
    else:
        reason = Wording.plain(f"{type(failure).__name__}: {detail}")
    message = Wording(
        "The MCP server {name} cannot be used: {reason}. {remedy}",
        name=server.name,
        reason=reason,
        remedy=remedy,
    )
    if stderr:
        message = Wording.join([message, Wording("Its error output: {output}", output=stderr)])
    for value in server.env.values():
        message = message.map(Secret(value).mask_in)
    return Refused(wording=message)


async def _load_tools(server: McpServer, client: "Client") -> tuple[Tool, ...]:
    available = await _list_tools(server, client)
    if missing := [name for name in server.tools if name not in available]:
        raise Refused(
            "The MCP server {name} has no tool {missing}. It has: {available}. Correct its `tools`.",
            name=server.name,
            missing=", ".join(missing),
            available=_without_control_chars(", ".join(available))[:1000] or _NONE,
        )
    chosen = [tool for name, tool in available.items() if not server.tools or name in server.tools]
    if len(chosen) > MAX_TOOLS:
        raise Refused(
            "The MCP server {name} has {count} tools; the maximum is {max_tools}. List the ones you "
            "need in its `tools`.",
            name=server.name,
            count=f"{len(chosen):,}",
            max_tools=MAX_TOOLS,
        )
    loaded: dict[str, Tool] = {}
    for tool in chosen:
        name = _unique_name(f"{server.name}_{tool.name}", loaded)
        try:
            loaded[name] = _tool(server, client, tool, name)
        except Refused as error:
            if server.tools:
                raise
            logger.warning("%s It is left out.", error)
    return tuple(loaded.values())


async def _list_tools(server: McpServer, client: "Client") -> dict[str, "types.Tool"]:
    tools: dict[str, types.Tool] = {}
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools |= {tool.name: tool for tool in page.tools}
        cursor = page.next_cursor
        if cursor is None or (server.tools and tools.keys() >= set(server.tools)):
            return tools
    raise Refused(
        "The MCP server {name} lists its tools on more than {max_pages} pages. List the ones you "
        "need in its `tools`, and check that they exist.",
        name=server.name,
        max_pages=MAX_PAGES,
    )


def _tool(server: McpServer, client: "Client", tool: "types.Tool", name: str) -> Tool:
    try:
        schema = inline_references(tool.input_schema)
        msgspec.convert(schema, _ArgumentsSchema)
        parameters = msgspec.json.encode(schema).decode()
    except (Refused, msgspec.ValidationError) as error:
        raise Refused(
            "The tool {tool} of the MCP server {server} has an argument schema that models do not accept: "
            "{reason}",
            tool=_without_control_chars(tool.name)[:64],
            server=server.name,
            reason=reason_of(error),
        ) from None

    async def run(arguments: str) -> ToolReturn:
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        try:
            result = await client.call_tool(tool.name, msgspec.json.decode(arguments))
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise ServerDisconnected(
                    f"The MCP server {server.name} has disconnected. Continue without its tools."
                ) from error
            raise ToolFault(_without_control_chars(error.message)) from error
        returned = _tool_result(result)
        if result.is_error:
            raise ToolFault(returned.text)
        return returned

    definition = requests.ToolDefinition(
        name, _without_control_chars(tool.description or tool.title or "")[:MAX_DESCRIPTION_CHARS], parameters
    )
    return Tool(definition=definition, run=run, approval=server.approval, timeout_s=server.timeout_s)


def _tool_result(result: "types.CallToolResult") -> ToolReturn:
    """Return a result with its images; the text of an error has none."""
    parts = ResultParts(max_images=0 if result.is_error else MAX_IMAGES)
    for part in result.content:
        _add_part(parts, part)
    if result.structured_content is not None and not any(part.type == "text" for part in result.content):
        parts.add_text(_without_control_chars(msgspec.json.encode(result.structured_content).decode()))
    return parts.result()


def _add_part(parts: ResultParts, part: "types.ContentBlock") -> None:
    if part.type == "text":
        parts.add_text(_without_control_chars(part.text))
    elif part.type == "resource_link":
        parts.add_text(_without_control_chars(f"[{part.name}: {part.uri}, not read]"))
    elif part.type != "resource":
        parts.add_file(_without_control_chars(part.mime_type), part.data)
    elif hasattr(part.resource, "text"):
        parts.add_text(_without_control_chars(part.resource.text))
    else:
        parts.add_file(_without_control_chars(part.resource.mime_type or "a file"), part.resource.blob)


def _unique_name(preferred: str, existing: Mapping[str, Tool]) -> str:
    name = model_tool_name(preferred)
    numbered = (f"{name[:60]}_{number}" for number in itertools.count(2))
    return next(candidate for candidate in itertools.chain([name], numbered) if candidate not in existing)


def _without_control_chars(text: str) -> str:
    return _CONTROL_CHARS.sub("\N{REPLACEMENT CHARACTER}", text)
