"""An agent with the tools of a local and a remote MCP server."""

from tests.agents.mcp_servers import SERVER_COMMAND, serve_app, tool_server
from tests.agents.run_checks import assert_legal
from tests.agents.scripted_provider import (
    PROMPT,
    Call,
    Reply,
    Say,
    Think,
    agent,
    all_entries,
    messages_of,
    run_of,
    run_story,
    scripted_provider,
)

from thinkaloud.agents import McpServer, Toolbox
from thinkaloud.agents.tools import ToolOutcome, call_tool
from thinkaloud.core.canon import Kind
from thinkaloud.core.transcript import BlockStatus

LINES: dict[str, list[Reply]] = {
    PROMPT: [
        (Think("Both can add."), Call("here_add", '{"a": 1}'), Call("there_add", '{"a": 2, "b": 40}')),
        (Think("One more."), Call("here_die"), Call("there_add", '{"a": "two"}')),
        (Say("3 and 42."),),
    ]
}


def test_agent_uses_local_and_remote_mcp_servers() -> None:
    async def story() -> None:
        async with (
            serve_app(tool_server().streamable_http_app()) as url,
            scripted_provider(LINES) as provider,
        ):
            servers = [McpServer(name="here", command=SERVER_COMMAND), McpServer(name="there", url=url)]
            async with Toolbox({}, servers) as box:
                helped = agent(tools=await box.find(["here", "there/add"]))
                turn = assert_legal(await all_entries(run_of(provider, helped)))
                local_call, remote_call, died, wrong = turn.own_blocks(Kind.TOOL_CALL)
                assert (local_call.result, remote_call.result) == ("3", "42")
                assert (died.status, wrong.status) == (BlockStatus.ERROR, BlockStatus.ERROR)
                assert turn.answer == "3 and 42."
                assert "42" in str(messages_of(provider.bodies[1], "tool"))
                (restarted_add,) = await box.find(["here/add"])
                assert await call_tool(restarted_add, '{"a": 5}') == ToolOutcome("7")  # it was started anew

    run_story(story())
