"""An agent with the tools of real MCP servers: one that is a program, one that is a place on the web."""

from tests.agents.legal_tree import assert_legal
from tests.agents.mcp_servers import WORKSHOP, served, workshop
from tests.agents.stage import (
    PROMPT,
    Call,
    Reply,
    Say,
    Think,
    act_out,
    agent,
    messages_of,
    playing,
    run_of,
    told,
)

from thinkaloud.agents import McpServer, Toolbox
from thinkaloud.canon import Kind
from thinkaloud.transcript import Status

LINES: dict[str, list[Reply]] = {
    PROMPT: [
        (Think("Both can add."), Call("here_add", '{"a": 1}'), Call("there_add", '{"a": 2, "b": 40}')),
        (Think("One more."), Call("here_die"), Call("there_add", '{"a": "two"}')),
        (Say("3 and 42."),),
    ]
}


def test_an_agent_uses_a_program_and_a_place_on_the_web_side_by_side() -> None:
    async def story() -> None:
        async with served(workshop().streamable_http_app()) as url, playing(LINES) as stage:
            servers = [McpServer(name="here", command=WORKSHOP), McpServer(name="there", url=url)]
            async with Toolbox({}, servers) as box:
                helped = agent(tools=await box.find(["here", "there/add"]))
                turn = assert_legal(await told(run_of(stage, helped)))
                here, there, died, wrong = turn.top(Kind.TOOL_CALL)
                assert (here.result, there.result) == ("3", "42")
                assert (died.status, wrong.status) == (Status.ERROR, Status.ERROR)
                assert turn.answer == "3 and 42."
                assert "42" in str(messages_of(stage.asked[1], "tool"))
                (again,) = await box.find(["here/add"])
                assert await again.run('{"a": 5}') == "7"  # the program was started anew

    act_out(story())
