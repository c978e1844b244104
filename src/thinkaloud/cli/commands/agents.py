"""`thinkaloud agents`: lists agents and tools. It starts no server and imports no tool."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from thinkaloud.agents.builtin_tools import builtin_tools
from thinkaloud.agents.config import SEARCH_SESSIONS, AgentFile, McpConfig, agent_from_config
from thinkaloud.cli.output.console import EXIT_OK, add_json_option, print_json
from thinkaloud.cli.output.pager import paged
from thinkaloud.cli.output.table import print_columns
from thinkaloud.cli.settings import user_agents
from thinkaloud.core.canon import Wording
from thinkaloud.surfaces.terminal import clean


class ToolListing(msgspec.Struct, frozen=True, rename={"source": "from"}):
    """A row of the list: one tool, or an MCP server with several."""

    name: str
    source: str
    approval: bool = False


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `agents`."""
    add_json_option(parser, "one object with agents and tools")
    parser.set_defaults(run=run_agents)


def run_agents(options: argparse.Namespace) -> int:
    """List agents and tools."""
    file = user_agents()
    tools = list(_list_tools(file))
    if options.json:
        agents = [
            {"id": key, **msgspec.structs.asdict(row), "name": agent_from_config(key, row).name}
            for key, row in file.agents.items()
        ]
        print_json({"agents": agents, "tools": tools})
        return EXIT_OK
    agent_rows = []
    for key, row in file.agents.items():
        agent_rows.append((key, row.model, " ".join(row.tools) or "-", " ".join(row.assistants) or "-"))
    tool_rows = [(tool.name, tool.source, "yes" if tool.approval else "-") for tool in tools]
    with paged():
        print_columns(
            agent_rows, (Wording("agent"), Wording("model"), Wording("tools"), Wording("assistants"))
        )
        print()
        print_columns(tool_rows, (Wording("tool"), Wording("from"), Wording("asks first")))
    print(clean(f"Add your own agents and tools to {file.path}"), file=sys.stderr)
    return EXIT_OK


def _list_tools(file: AgentFile) -> Iterator[ToolListing]:
    for name in builtin_tools():
        yield ToolListing(name, "built in")
    yield ToolListing(SEARCH_SESSIONS, "the gateway only")
    for name, row in file.functions.items():
        yield ToolListing(name, f"function {row.source}", row.approval)
    for name, server in file.mcp.items():
        yield ToolListing(name, f"MCP server, {_server_location(server)}", server.approval)


def _server_location(server: McpConfig) -> str:
    """Return the program or the host of a server only: the rest of its command or URL may hold a key."""
    return Path(server.command[0]).name if server.command else f"at {urlsplit(server.url).hostname}"
