"""MCP servers made with the official SDK, and programs and URLs that only pretend to be one.

Run as a program, this file is a server over stdio; with `babbling` it first prints text that is no message.
"""

import asyncio
import contextlib
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

import uvicorn
from mcp import types
from mcp.server import Server
from mcp.server.mcpserver import MCPServer
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

SERVER_COMMAND = (sys.executable, __file__)
NOISY_SERVER_COMMAND = (sys.executable, __file__, "babbling")
FAILING_COMMAND = (
    sys.executable,
    "-Sc",
    "import os, sys; sys.exit('\x1b[1mno license for ' + os.environ['LICENSE'])",
)
UNRESPONSIVE_COMMAND = (
    sys.executable,
    "-Sc",
    "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(3600)",
)
"""It writes its number into the file that it is given, and never answers nor ends."""


def tool_server() -> MCPServer:
    """A server with a tool for every outcome of a call."""
    server = MCPServer("workshop", log_level="CRITICAL")

    @server.tool()
    def add(a: int, b: int = 2) -> int:
        """Add two\x1b numbers."""
        return a + b

    @server.tool()
    def noisy() -> str:
        return "a\x00b\x1b[31mc\nd\te"

    @server.tool()
    def whoami() -> str:
        return " ".join([str(os.getpid()), *sorted(os.environ)])

    @server.tool()
    async def forever() -> str:
        await asyncio.sleep(3600)
        return "at last"

    @server.tool()
    def die() -> str:
        os._exit(1)

    return server


def fixed_server(tools: Sequence[types.Tool], *results: types.CallToolResult, pages: int = 1) -> Server[Any]:
    """A server that lists the given tools and answers each call with the next result."""
    next_results = list(results)

    async def list_tools(_: object, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        page = int((params and params.cursor) or 0) + 1
        return types.ListToolsResult(tools=list(tools), next_cursor=str(page) if page < pages else None)

    async def call_tool(_: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        return next_results.pop(0)

    return Server("shelf", on_list_tools=list_tools, on_call_tool=call_tool)


def without_discovery(app: ASGIApp) -> ASGIApp:
    """The app with the protocol of before 2026: it has sessions, and ignores the request that ends one."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if (b"mcp-method", b"server/discover") in scope.get("headers", []):
            await Response(status_code=404)(scope, receive, send)
        elif scope.get("method") == "DELETE":
            await asyncio.sleep(3600)
        else:
            await app(scope, receive, send)

    return wrapped


def canned_app(answers: Mapping[str, object]) -> ASGIApp:
    """An app with a correct handshake that answers some methods with the given values."""
    greeting = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
    canned = {"initialize": {**greeting, "serverInfo": {"name": "liar", "version": "1"}}, **answers}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = json.loads(await Request(scope, receive).body() or b"{}")
        answer: Response = Response(status_code=202 if "id" not in request else 404)
        if request.get("method") in canned:
            answer = JSONResponse(
                {"jsonrpc": "2.0", "id": request["id"], "result": canned[request["method"]]}
            )
        await answer(scope, receive, send)

    return app


async def unresponsive_app(scope: Scope, receive: Receive, send: Send) -> None:
    """An app that accepts every request and answers none."""
    assert scope["type"] == "http"
    await asyncio.sleep(3600)


class _Uvicorn(uvicorn.Server):
    """uvicorn that leaves signals to the tests."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def serve_app(app: ASGIApp) -> AsyncIterator[str]:
    """The URL of an app on a loopback port."""
    server = _Uvicorn(uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=0))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        task = asyncio.create_task(server.serve([listening]))
        while not server.started:
            await asyncio.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            await task


if __name__ == "__main__":
    if sys.argv[1:] == ["babbling"]:
        sys.stdout.buffer.write(b"\xff\xfe Welcome!\n{}\n[1]\n")
        sys.stdout.flush()
    tool_server().run()
