"""The toolbox: local tools, and MCP servers that are started once, restarted and stopped."""

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncIterator

import pytest
from starlette.types import Receive, Scope, Send
from tests.agents.mcp_servers import FAILING_COMMAND, SERVER_COMMAND, serve_app, tool_server
from tests.patience import PATIENCE_S, alive

from thinkaloud.agents import McpServer, Tool, Toolbox, toolbox
from thinkaloud.agents.builtin_tools import builtin_tools
from thinkaloud.agents.mcp import ServerDisconnected
from thinkaloud.agents.tools import ToolFault, ToolOutcome, call_tool
from thinkaloud.core.canon import KeyMissing, Refused
from thinkaloud.core.canon import requests as canon

CANARY = "canary-5f2a9c-never-shown"


def mcp_server(*, tools: tuple[str, ...] = (), env: dict[str, str] | None = None) -> McpServer:
    return McpServer(name="shop", command=SERVER_COMMAND, tools=tools, env=env or {})


def names(tools: tuple[Tool, ...]) -> list[str]:
    return [tool.definition.name for tool in tools]


async def pid_of(box: Toolbox) -> int:
    (whoami,) = await box.find(["shop/whoami"])
    return int((await call_tool(whoami, "")).result.split()[0])


class FakeServers:
    """Servers without a process that count their starts."""

    def __init__(self, *, starting_s: float = 0.0, ending_s: float = 0.0) -> None:
        self.log: list[str] = []
        self.refuse = ""
        self.server_gone = False
        self.env: dict[str, str] = {}
        self._starting_s = starting_s
        self._ending_s = ending_s

    @contextlib.asynccontextmanager
    async def connect(self, server: McpServer) -> AsyncIterator[tuple[Tool, ...]]:
        self.log.append(f"{server.name} starts")
        self.env = server.env
        await asyncio.sleep(self._starting_s)
        if self.refuse:
            raise Refused(self.refuse)

        async def run(arguments: str) -> str:
            if self.server_gone:
                raise ServerDisconnected(
                    f"The MCP server {server.name} has disconnected. Continue without its tools."
                )
            if arguments == '{"fail":true}':
                raise ToolFault("That did not work.")
            return "done"

        try:
            yield (Tool(definition=canon.ToolDefinition(f"{server.name}_work"), run=run),)
        finally:
            await asyncio.sleep(self._ending_s)
            self.log.append(f"{server.name} ends")


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> FakeServers:
    servers = FakeServers(starting_s=0.01)
    monkeypatch.setattr(toolbox, "connect", servers.connect)
    return servers


def test_toolbox_finds_tools_servers_and_single_server_tools() -> None:
    async def story() -> None:
        async with Toolbox(builtin_tools(), [mcp_server()]) as box:
            assert box.names == ("calculator", "current_time", "shop")
            tools = await box.find(["calculator", "shop/add", "shop", "shop/add"])
            assert names(tools)[:3] == ["calculator", "shop_add", "shop_noisy"]
            assert len(names(tools)) == len(set(names(tools)))
            by_name = {tool.definition.name: tool for tool in tools}
            assert await call_tool(by_name["calculator"], '{"expression": "6 * 7"}') == ToolOutcome("42")
            assert await call_tool(by_name["shop_add"], '{"a": 40}') == ToolOutcome("42")
            assert await box.find([]) == ()

    asyncio.run(story())


def test_toolbox_refuses_unknown_names() -> None:
    async def story() -> None:
        async with Toolbox(builtin_tools(), [mcp_server(tools=("add", "whoami"))]) as box:
            with pytest.raises(Refused) as caught:
                await box.find(["calculator", "hammer"])
            assert str(caught.value) == (
                "There is no tool 'hammer'. Available: calculator, current_time, shop. Use SERVER/TOOL for a "
                "single tool of an MCP server."
            )
            with pytest.raises(Refused) as caught:
                await box.find(["shop/boom"])
            assert str(caught.value) == "The MCP server shop has no tool 'boom'. It has: add, whoami."

    asyncio.run(story())


def test_server_starts_when_needed_and_stops_with_the_toolbox() -> None:
    async def story() -> int:
        async with Toolbox({}, [mcp_server(), McpServer(name="unused", command=("/nowhere",))]) as box:
            first = await pid_of(box)
            assert await pid_of(box) == first
            assert alive(first)
            return first

    assert not alive(asyncio.run(story()))


def test_server_that_exited_is_restarted() -> None:
    async def story() -> None:
        async with Toolbox({}, [mcp_server()]) as box:
            first = await pid_of(box)
            (add,) = await box.find(["shop/add"])
            os.kill(first, signal.SIGKILL)
            assert "has disconnected" in (await call_tool(add, '{"a": 1}')).error
            second = await pid_of(box)
            assert second != first
            assert "has disconnected" in (await call_tool(add, '{"a": 1}')).error
            assert await pid_of(box) == second, "an old tool that fails says nothing about the new server"
            (add,) = await box.find(["shop/add"])
            assert await call_tool(add, '{"a": 1}') == ToolOutcome("3")
        assert not alive(second)

    asyncio.run(story())


def test_concurrent_finds_start_a_server_once(stub: FakeServers) -> None:
    async def story() -> None:
        async with Toolbox({}, [mcp_server(), McpServer(name="other", url="https://x")]) as box:
            tool_groups = await asyncio.gather(*(box.find(["shop", "other"]) for _ in range(20)))
            assert {tuple(names(tools)) for tools in tool_groups} == {("shop_work", "other_work")}
        assert sorted(stub.log) == ["other ends", "other starts", "shop ends", "shop starts"]

    asyncio.run(story())


def test_cancelled_find_does_not_cancel_others(stub: FakeServers) -> None:
    async def story() -> None:
        async with Toolbox({}, [mcp_server()]) as box:
            impatient = asyncio.create_task(box.find(["shop"]))
            patient = asyncio.create_task(box.find(["shop"]))
            await asyncio.sleep(0)
            impatient.cancel()
            assert names(await patient) == ["shop_work"]
        assert stub.log == ["shop starts", "shop ends"]

    asyncio.run(story())


def test_failed_server_start_is_retried(stub: FakeServers) -> None:
    async def story() -> None:
        async with Toolbox({}, [mcp_server()]) as box:
            stub.refuse = "It did not start."
            for _ in range(2):
                with pytest.raises(Refused, match="It did not start"):
                    await box.find(["shop"])
            stub.refuse = ""
            assert names(await box.find(["shop"])) == ["shop_work"]
        assert stub.log == ["shop starts"] * 3 + ["shop ends"]

    asyncio.run(story())


def test_only_a_disconnected_server_is_restarted(stub: FakeServers) -> None:
    async def story() -> None:
        async with Toolbox({}, [mcp_server()]) as box:
            (work,) = await box.find(["shop"])
            assert (await call_tool(work, '{"fail":true}')).error == "That did not work."
            await box.find(["shop"])
            assert stub.log == ["shop starts"]
            stub.server_gone = True
            await call_tool(work, "")
            stub.server_gone = False
            (again,) = await box.find(["shop"])
            assert await call_tool(again, "") == ToolOutcome("done")
            assert stub.log == ["shop starts", "shop ends", "shop starts"]

    asyncio.run(story())


def test_servers_start_only_inside_the_toolbox_context(stub: FakeServers) -> None:
    async def story() -> None:
        box = Toolbox(builtin_tools(), [mcp_server()])
        assert names(await box.find(["calculator"])) == ["calculator"]
        with pytest.raises(RuntimeError, match="inside its `async with`"):
            await box.find(["shop"])
        async with box:
            await box.find(["shop"])
        with pytest.raises(RuntimeError, match="inside its `async with`"):
            await box.find(["shop"])

    asyncio.run(story())


def test_starting_server_is_stopped_with_the_toolbox(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with Toolbox({}, [mcp_server()]) as box:
            finding = asyncio.create_task(box.find(["shop"]))
            await asyncio.sleep(0.05)
        with pytest.raises(asyncio.CancelledError):
            await finding

    with caplog.at_level(logging.WARNING):
        asyncio.run(story())
    assert "did not stop" not in caplog.text


def test_closing_the_toolbox_is_bounded_in_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    slow = FakeServers(ending_s=PATIENCE_S)
    monkeypatch.setattr(toolbox, "connect", slow.connect)
    monkeypatch.setattr(toolbox, "CLOSE_TIMEOUT_S", 0.05)

    async def story() -> None:
        async with Toolbox({}, [mcp_server()]) as box:
            await box.find(["shop"])
        assert "shop ends" not in slow.log, "it was waited for"

    with caplog.at_level(logging.WARNING):
        asyncio.run(story())
    assert "1 MCP servers did not stop within 0.05 s" in caplog.text


def test_missing_key_in_env_reference_is_named(stub: FakeServers, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with Toolbox({}, [mcp_server(env={"TOKEN": "env:SHOP_TOKEN", "LEVEL": "3"})]) as box:
            with pytest.raises(KeyMissing) as caught:
                await box.find(["shop"])
            assert str(caught.value) == (
                "The MCP server shop needs TOKEN: SHOP_TOKEN is not set, so there is no key to send. "
                "Set it: export SHOP_TOKEN=..."
            )
            monkeypatch.setenv("SHOP_TOKEN", CANARY)
            await box.find(["shop"])
            assert stub.env == {"TOKEN": CANARY, "LEVEL": "3"}
            assert CANARY not in repr(box) + repr(vars(box))

    asyncio.run(story())


def test_token_reference_is_sent_as_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", CANARY)
    seen: set[str | None] = set()
    inside = tool_server().streamable_http_app()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            seen.add(dict(scope["headers"]).get(b"authorization", b"").decode())
        await inside(scope, receive, send)

    async def story() -> None:
        async with serve_app(app) as url:
            server = McpServer(name="shop", url=url, headers={"Authorization": "Bearer env:SHOP_TOKEN"})
            async with Toolbox({}, [server]) as box:
                await box.find(["shop"])

    asyncio.run(story())
    assert seen == {f"Bearer {CANARY}"}


def test_key_is_masked_in_server_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_LICENSE", CANARY)
    broken = McpServer(name="shop", command=FAILING_COMMAND, env={"LICENSE": "env:SHOP_LICENSE"})

    async def story() -> str:
        async with Toolbox({}, [broken]) as box:
            with pytest.raises(Refused) as caught:
                await box.find(["shop"])
        return str(caught.value)

    message = asyncio.run(story())
    assert message.startswith("The MCP server shop cannot be used: it exited before it responded.")
    assert CANARY not in message
