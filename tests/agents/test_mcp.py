"""Tools of local and remote MCP servers, and of faulty ones."""

import asyncio
import base64
import contextlib
import os
import re
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import mcp.client.stdio
import pytest
from mcp import types
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp
from tests.agents.mcp_servers import (
    FAILING_COMMAND,
    NOISY_SERVER_COMMAND,
    SERVER_COMMAND,
    UNRESPONSIVE_COMMAND,
    canned_app,
    fixed_server,
    serve_app,
    tool_server,
    unresponsive_app,
    without_discovery,
)
from tests.patience import alive

from thinkaloud.agents import mcp as mcp_module
from thinkaloud.agents.mcp import McpServer, connect
from thinkaloud.agents.tools import Tool, ToolOutcome, call_tool
from thinkaloud.core.canon import Refused
from thinkaloud.extras import install_command

SERVER_GONE = ToolOutcome(error="The MCP server shop has disconnected. Continue without its tools.")
PLAIN: dict[str, Any] = {"type": "object", "properties": {}}


def mcp_server(*tools: str, url: str = "", timeout_s: float = 60.0) -> McpServer:
    return McpServer(
        name="shop", url=url, command=() if url else SERVER_COMMAND, tools=tools, timeout_s=timeout_s
    )


def tools_by_name(tools: tuple[Tool, ...]) -> dict[str, Tool]:
    return {tool.definition.name: tool for tool in tools}


async def pid_of(tools: tuple[Tool, ...]) -> int:
    return int((await call_tool(tools_by_name(tools)["shop_whoami"], "")).result.split()[0])


async def refusal(server: McpServer) -> str:
    with pytest.raises(Refused) as caught:
        async with connect(server):
            pass
    return str(caught.value)


def test_mcp_program_is_started_called_and_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")

    async def story() -> None:
        server = McpServer(
            name="shop", command=SERVER_COMMAND, env={"EXTRA": "1"}, approval=True, timeout_s=9
        )
        async with connect(server) as tools:
            by_name = tools_by_name(tools)
            assert list(by_name) == [f"shop_{name}" for name in ("add", "noisy", "whoami", "forever", "die")]
            assert all((tool.approval, tool.timeout_s) == (True, 9) for tool in tools)
            add = by_name["shop_add"]
            assert add.definition.description == "Add two\ufffd numbers."
            assert '"required":["a"]' in add.definition.parameters
            sums = await asyncio.gather(*(call_tool(add, f'{{"a": {number}}}') for number in range(9)))
            assert [one.result for one in sums] == [str(number + 2) for number in range(9)]
            assert "valid integer" in (await call_tool(add, '{"a": "many"}')).error
            assert await call_tool(by_name["shop_noisy"], "") == ToolOutcome("a\ufffdb\ufffd[31mc\nd\te")
            pid, *environment = (await call_tool(by_name["shop_whoami"], "")).result.split()
            assert {"EXTRA", "PATH", "HOME"} <= set(environment)
            assert not re.search("KEY|TOKEN|SECRET|THINKALOUD", " ".join(environment))
            assert alive(int(pid))
        assert not alive(int(pid))
        assert await call_tool(add, '{"a": 1}') == SERVER_GONE

    asyncio.run(story())


def test_timeout_fails_one_call_and_an_exit_all_tools() -> None:
    async def story() -> None:
        async with connect(mcp_server(timeout_s=0.3)) as tools:
            by_name = tools_by_name(tools)
            assert "did not finish within 0.3 s" in (await call_tool(by_name["shop_forever"], "")).error
            add = with_long_timeout(by_name["shop_add"])
            assert await call_tool(add, '{"a": 1}') == ToolOutcome("3")
            waiting = asyncio.create_task(call_tool(with_long_timeout(by_name["shop_forever"]), ""))
            await asyncio.sleep(0)
            assert await call_tool(with_long_timeout(by_name["shop_die"]), "") == SERVER_GONE
            assert await waiting == SERVER_GONE
            assert await call_tool(add, '{"a": 1}') == SERVER_GONE

    asyncio.run(story())


def with_long_timeout(tool: Tool) -> Tool:
    """Return the tool with a long timeout."""
    return Tool(definition=tool.definition, run=tool.run, timeout_s=60)


def test_mcp_program_with_noise_on_stdout_works(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with connect(McpServer(name="shop", command=NOISY_SERVER_COMMAND, tools=("add",))) as (add,):
            assert await call_tool(add, '{"a": 1}') == ToolOutcome("3")

    asyncio.run(story())


@pytest.mark.parametrize("json_response", [False, True])
def test_remote_mcp_server_is_called(json_response: bool) -> None:
    async def story() -> None:
        app = tool_server().streamable_http_app(json_response=json_response)
        async with (
            serve_app(app) as url,
            connect(mcp_server("add", "forever", url=url, timeout_s=0.3)) as tools,
        ):
            add, forever = tools
            assert await call_tool(with_long_timeout(add), '{"a": 1}') == ToolOutcome("3")
            assert "did not finish" in (await call_tool(forever, "")).error
            assert await call_tool(with_long_timeout(add), '{"a": 2}') == ToolOutcome("4")
        assert await call_tool(add, '{"a": 1}') == SERVER_GONE

    asyncio.run(story())


def test_remote_mcp_server_that_does_not_close_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_module, "CLOSE_TIMEOUT_S", 0.1)

    async def story() -> None:
        app = without_discovery(tool_server().streamable_http_app())
        async with serve_app(app) as url, connect(mcp_server("add", url=url)) as (add,):
            assert await call_tool(add, '{"a": 1}') == ToolOutcome("3")

    asyncio.run(story())


def test_disconnected_mcp_server_fails_calls_but_not_the_caller(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with contextlib.AsyncExitStack() as exit_stack:
            url = await exit_stack.enter_async_context(serve_app(tool_server().streamable_http_app()))
            async with connect(mcp_server("add", url=url)) as (add,):
                assert await call_tool(add, '{"a": 1}') == ToolOutcome("3")
                await exit_stack.aclose()
                assert await call_tool(add, '{"a": 1}') == SERVER_GONE
                assert await call_tool(add, '{"a": 1}') == SERVER_GONE

    asyncio.run(story())
    assert "The MCP server shop disconnected: ConnectError" in caplog.text


def listing(*tools: types.Tool, pages: int = 1) -> ASGIApp:
    return fixed_server(tools, pages=pages).streamable_http_app()


def run_with_server(app: ASGIApp, story: Callable[[str], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        async with serve_app(app) as url:
            await story(url)

    asyncio.run(whole())


def test_mcp_results_that_are_not_text_are_described(caplog: pytest.LogCaptureFixture) -> None:
    data = base64.b64encode(b"x" * 1234).decode()
    blob = types.BlobResourceContents(uri="file:///a", blob=data)
    results: dict[str, list[types.ContentBlock]] = {
        "Look:\n[image/png, 1234 bytes, not shown]": [
            types.TextContent(text="Look:"),
            types.ImageContent(data=data, mime_type="image/png"),
        ],
        "[audio/wav, 1234 bytes, not shown]": [types.AudioContent(data=data, mime_type="audio/wav")],
        "[a file, 1234 bytes, not shown]": [types.EmbeddedResource(resource=blob)],
        "a page": [
            types.EmbeddedResource(resource=types.TextResourceContents(uri="file:///b", text="a page"))
        ],
        "[notes: file:///c, not read]": [types.ResourceLink(name="notes", uri="file:///c")],
        "": [],
    }
    app = fixed_server(
        [types.Tool(name="look", input_schema=PLAIN)],
        *(types.CallToolResult(content=content) for content in results.values()),
        types.CallToolResult(content=[], structured_content={"n": 1}),
        types.CallToolResult(content=[types.TextContent(text="one")], structured_content={"n": 1}),
        types.CallToolResult(content=[types.TextContent(text="No such thing.")], is_error=True),
        types.CallToolResult(content=[], is_error=True),
    ).streamable_http_app()

    async def story(url: str) -> None:
        async with connect(mcp_server(url=url)) as (look,):
            assert [(await call_tool(look, "")).result for _ in results] == list(results)
            assert await call_tool(look, "") == ToolOutcome('{"n":1}')
            assert await call_tool(look, "") == ToolOutcome("one")
            assert await call_tool(look, "") == ToolOutcome(error="No such thing.")
            assert await call_tool(look, "") == ToolOutcome(error="shop_look failed without a reason.")
            assert (await call_tool(look, "")).error  # the server itself fails

    run_with_server(app, story)


def test_mcp_tool_names_are_valid_and_unique() -> None:
    original_names = ["get file", "get/file", "get_file", "é" * 100, "ü" * 100]

    async def story(url: str) -> None:
        async with connect(McpServer(name="my shop", url=url)) as tools:
            assert [tool.definition.name for tool in tools] == [
                "my_shop_get_file",
                "my_shop_get_file_2",
                "my_shop_get_file_3",
                "my_shop_" + "_" * 56,
                "my_shop_" + "_" * 52 + "_2",
            ]

    run_with_server(listing(*(types.Tool(name=name, input_schema=PLAIN) for name in original_names)), story)


def test_references_in_an_mcp_schema_are_inlined() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"type": "string"}},
    }

    async def story(url: str) -> None:
        async with connect(mcp_server(url=url)) as (tool,):
            assert tool.definition.parameters == '{"type":"object","properties":{"a":{"type":"string"}}}'

    run_with_server(listing(types.Tool(name="look", input_schema=schema)), story)


BAD = {
    "recursive": {"type": "object", "properties": {"a": {"$ref": "#"}}},
    "wordy": {"type": "object", "properties": {"a": "a string, please"}},
    "strange": {"type": "object", "properties": {}, "required": "all"},
    "boundless": {"type": "object", "properties": {"a": {"enum": [0], "anyOf": [{}] * 6000}}},
}


def test_mcp_tool_with_unusable_schema_is_skipped_or_refused(caplog: pytest.LogCaptureFixture) -> None:
    async def story(url: str) -> None:
        async with connect(mcp_server(url=url)) as tools:
            assert list(tools_by_name(tools)) == ["shop_good"]
        for name in BAD:
            message = (
                f"The tool {name} of the MCP server shop has an argument schema that models do not accept: "
            )
            assert message in caplog.text
            assert (await refusal(mcp_server(name, url=url))).startswith(message)

    schemas = {**BAD, "good": PLAIN}
    run_with_server(listing(*(types.Tool(name=name, input_schema=schemas[name]) for name in schemas)), story)


def test_mcp_tool_list_that_violates_the_protocol_is_refused() -> None:
    async def story(url: str) -> None:
        message = await refusal(mcp_server(url=url))
        assert message.startswith("The MCP server shop cannot be used: it violates the protocol (")
        assert message.endswith("). Report it to its authors.")

    run_with_server(canned_app({"tools/list": {"tools": [{"name": "look", "inputSchema": "none"}]}}), story)


def test_mcp_result_that_violates_the_protocol_fails_the_call() -> None:
    async def story(url: str) -> None:
        async with connect(mcp_server(url=url)) as (look,):
            assert (await call_tool(look, "")).error.startswith("shop_look failed with ValidationError: ")
            assert (await call_tool(look, "")).error.startswith("shop_look failed with ValidationError: ")

    tools = [{"name": "look", "inputSchema": PLAIN}]
    run_with_server(canned_app({"tools/list": {"tools": tools}, "tools/call": {"content": 3}}), story)


def test_mcp_tools_are_selected_and_limited() -> None:
    async def story(url: str) -> None:
        assert await refusal(mcp_server(url=url)) == (
            "The MCP server shop has 3,000 tools; the maximum is 128. List the ones you need in its `tools`."
        )
        async with connect(mcp_server("t7", "t2999", url=url)) as tools:
            assert list(tools_by_name(tools)) == ["shop_t7", "shop_t2999"]
        assert re.fullmatch(
            r"The MCP server shop has no tool t3000\. It has: t0, t1, .{900,1000}\. Correct its `tools`\.",
            await refusal(mcp_server("t7", "t3000", url=url)),
        )

    run_with_server(listing(*(types.Tool(name=f"t{n}", input_schema=PLAIN) for n in range(3000))), story)


def test_endless_mcp_tool_list_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_module, "MAX_PAGES", 3)

    async def story(url: str) -> None:
        message = await refusal(mcp_server(url=url))
        assert message.startswith("The MCP server shop lists its tools on more than 3 pages.")
        async with connect(mcp_server("t", url=url)) as tools:
            assert len(tools) == 1

    run_with_server(listing(types.Tool(name="t", input_schema=PLAIN), pages=10**9), story)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("/nowhere/at/all",), "/nowhere/at/all cannot be started (No such file or directory)"),
        (("/",), "/ cannot be started (Permission denied)"),
        ((sys.executable, "\0"), "ValueError: embedded null byte"),
        ((sys.executable, "-c", "pass"), "it exited before it responded"),
    ],
)
def test_mcp_program_that_cannot_be_started_is_refused(command: tuple[str, ...], why: str) -> None:
    assert asyncio.run(refusal(McpServer(name="shop", command=command))) == (
        f"The MCP server shop cannot be used: {why}. Run its command by hand to see what it needs."
    )


def test_error_output_of_an_mcp_program_is_shown_without_keys() -> None:
    server = McpServer(name="shop", command=FAILING_COMMAND, env={"LICENSE": "lic-canary-1"})
    message = asyncio.run(refusal(server))
    assert message.endswith("it exited before it responded. Run its command by hand to see what it needs. "
                         "Its error output: \ufffd[1mno license for ***")  # fmt: skip
    assert repr(server) == "McpServer('shop')"


def unresponsive_server(note: Path, monkeypatch: pytest.MonkeyPatch) -> McpServer:
    """A program that never responds and does not exit, with a shorter grace period of the SDK."""
    monkeypatch.setattr(mcp.client.stdio, "PROCESS_TERMINATION_TIMEOUT", 0.1)
    return McpServer(name="shop", command=(*UNRESPONSIVE_COMMAND, str(note)))


async def written_pid(note: Path) -> int:
    while not (note.exists() and note.read_text()):
        await asyncio.sleep(0.01)
    return int(note.read_text())


def test_mcp_program_that_does_not_respond_is_refused_and_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_module, "START_TIMEOUT_S", 2)

    async def story() -> None:
        assert await refusal(unresponsive_server(tmp_path / "pid", monkeypatch)) == (
            "The MCP server shop cannot be used: it did not respond within 2 s. "
            "Run its command by hand to see what it needs."
        )
        with pytest.raises(ChildProcessError):
            os.waitpid(int((tmp_path / "pid").read_text()), os.WNOHANG)

    asyncio.run(story())


@pytest.mark.parametrize("times", [1, 3])
def test_cancelled_mcp_start_leaves_no_process(
    times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        start = asyncio.create_task(refusal(unresponsive_server(tmp_path / "pid", monkeypatch)))
        pid = await written_pid(tmp_path / "pid")
        for _ in range(times):
            start.cancel()
            await asyncio.sleep(0.01)
        with pytest.raises(asyncio.CancelledError):
            await start
        assert not alive(pid)

    asyncio.run(story())


def test_cancelled_mcp_call_leaves_no_process() -> None:
    async def story() -> None:
        known: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def working() -> None:
            async with connect(mcp_server()) as tools:
                known.set_result(await pid_of(tools))
                await call_tool(tools_by_name(tools)["shop_forever"], "")

        work = asyncio.create_task(working())
        pid = await known
        for _ in range(3):
            work.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await work
        assert not alive(pid)

    asyncio.run(story())


def test_cancellation_while_closing_is_raised_afterwards() -> None:
    async def story() -> None:
        known: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def working() -> None:
            async with connect(mcp_server()) as tools:
                known.set_result(await pid_of(tools))

        work = asyncio.create_task(working())
        pid = await known
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert not alive(pid)

    asyncio.run(story())


def test_mcp_connection_may_be_closed_by_another_task() -> None:
    async def story() -> None:
        context = connect(mcp_server())
        tools = await asyncio.create_task(context.__aenter__())
        pid = await asyncio.create_task(pid_of(tools))
        await asyncio.create_task(context.__aexit__(None, None, None))
        assert not alive(pid)

    asyncio.run(story())


def test_exception_inside_a_connection_is_raised_unchanged() -> None:
    async def story(url: str) -> None:
        async with connect(mcp_server(url=url)):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run_with_server(tool_server().streamable_http_app(), story)


@pytest.mark.parametrize(
    ("app", "why"),
    [
        (PlainTextResponse("Hello"), "it responded 'Unexpected content type: text/plain"),
        (Response(status_code=404), "it responded 'Not Found'"),
        (Response(status_code=401), "it responded 'Server returned an error response'"),
    ],
)
def test_url_without_mcp_server_is_refused(app: ASGIApp, why: str) -> None:
    async def story(url: str) -> None:
        message = await refusal(mcp_server(url=url))
        assert message.startswith(f"The MCP server shop cannot be used: {why}")
        assert message.endswith(". Check that it runs and that its url is correct.")

    run_with_server(app, story)


def test_remote_mcp_server_that_does_not_respond_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_module, "START_TIMEOUT_S", 0.3)

    async def story(url: str) -> None:
        assert "it did not respond within 0.3 s. Check that it runs" in await refusal(mcp_server(url=url))

    run_with_server(unresponsive_app, story)


def test_unreachable_mcp_server_is_refused() -> None:
    assert asyncio.run(refusal(mcp_server(url="http://127.0.0.1:1/mcp"))) == (
        "The MCP server shop cannot be used: ConnectError: All connection attempts failed. "
        "Check that it runs and that its url is correct."
    )


@pytest.mark.parametrize(
    "server",
    [
        McpServer(name="shop"),
        McpServer(name="shop", command=("a",), url="http://127.0.0.1/"),
        McpServer(name="shop", url="file:///etc/passwd"),
    ],
)
def test_mcp_server_needs_a_command_or_a_url(server: McpServer) -> None:
    assert "needs either a command or a URL" in asyncio.run(refusal(server))


def test_missing_mcp_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    remedy = install_command("mcp")
    assert asyncio.run(refusal(mcp_server())).endswith(f"needs the MCP package. Run: {remedy}")
