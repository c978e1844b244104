"""Agents: models that use tools and assistants, watched while they work.

An `Agent` is a value. A `Run` of it is one turn, told entry by entry. Tools are functions (`from_function`),
those of MCP servers (`connected`), or all that a `Toolbox` finds by name for the agents of a file. Each
name is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thinkaloud.agents.agent import Agent, assembled, checked, everyone
    from thinkaloud.agents.files import AgentFile, agent_of, builtin_agents, local_tools, read_agents
    from thinkaloud.agents.functions import from_function
    from thinkaloud.agents.limits import Limits
    from thinkaloud.agents.mcp_tools import McpServer, connected
    from thinkaloud.agents.run import Run, Surroundings
    from thinkaloud.agents.toolbox import Toolbox
    from thinkaloud.agents.tools import Tool, ToolFault

__all__ = [
    "Agent",
    "AgentFile",
    "Limits",
    "McpServer",
    "Run",
    "Surroundings",
    "Tool",
    "ToolFault",
    "Toolbox",
    "agent_of",
    "assembled",
    "builtin_agents",
    "checked",
    "connected",
    "everyone",
    "from_function",
    "local_tools",
    "read_agents",
]

_HOMES = {
    "agent": ("Agent", "assembled", "checked", "everyone"),
    "files": ("AgentFile", "agent_of", "builtin_agents", "local_tools", "read_agents"),
    "functions": ("from_function",),
    "limits": ("Limits",),
    "mcp_tools": ("McpServer", "connected"),
    "run": ("Run", "Surroundings"),
    "toolbox": ("Toolbox",),
    "tools": ("Tool", "ToolFault"),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"thinkaloud.agents.{home}"), name)
    raise AttributeError(f"module 'thinkaloud.agents' has no attribute {name!r}")
