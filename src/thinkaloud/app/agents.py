"""`thinkaloud agents`: who can be asked, and the tools there are. Nothing is started or imported for it."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from thinkaloud.agents.builtin_tools import builtin_tools
from thinkaloud.agents.files import SEARCH_SESSIONS, AgentFile, McpRow, of_row
from thinkaloud.app.settings import user_agents
from thinkaloud.app.shared import DONE, print_columns
from thinkaloud.surfaces.terminal import clean, clean_json


class Listed(msgspec.Struct, frozen=True, rename={"source": "from"}):
    """A tool, or an MCP server of several, as it is listed."""

    name: str
    source: str
    approval: bool = False


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `agents`."""
    parser.add_argument(
        "--format", choices=("plain", "json"), default="plain", help="plain: two tables; json: one object"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """List agents and tools."""
    file = user_agents()
    tools = list(_tools(file))
    if options.format == "json":
        agents = [
            {"id": key, **msgspec.structs.asdict(row), "name": of_row(key, row).name}
            for key, row in file.agents.items()
        ]
        print(clean_json(msgspec.json.encode({"agents": agents, "tools": tools}).decode()))
        return DONE
    told = [("agent", "model", "tools", "assistants")]
    for key, row in file.agents.items():
        told.append((key, row.model, " ".join(row.tools) or "-", " ".join(row.assistants) or "-"))
    print_columns(told)
    print()
    asking = [(one.name, one.source, "yes" if one.approval else "-") for one in tools]
    print_columns([("tool", "from", "asks first"), *asking])
    print(clean(f"Yours go into {file.path}"), file=sys.stderr)
    return DONE


def _tools(file: AgentFile) -> Iterator[Listed]:
    for name in builtin_tools():
        yield Listed(name, "built in")
    yield Listed(SEARCH_SESSIONS, "the gateway only")
    for name, row in file.functions.items():
        yield Listed(name, f"function {row.source}", row.approval)
    for name, server in file.mcp.items():
        yield Listed(name, f"MCP server, {_reached(server)}", server.approval)


def _reached(server: McpRow) -> str:
    """How a server is reached; the rest of its command or URL may hold a key."""
    return Path(server.command[0]).name if server.command else f"at {urlsplit(server.url).hostname}"
