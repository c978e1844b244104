"""Agents: models that use tools and assistants, watched while they work.

An `Agent` is a value. A `Run` of it is one turn, told entry by entry. Tools are functions (`from_function`),
those of MCP servers (`connected`), or all that a `Toolbox` finds by name for the agents of a file. Each
name is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thinkaloud.agents.agent import Agent, agent_tree, assemble, check_unique_tool_names
    from thinkaloud.agents.files import AgentFile, build_agent, builtin_agents, local_tools, read_agents
    from thinkaloud.agents.functions import from_function
    from thinkaloud.agents.limits import RunLimits
    from thinkaloud.agents.mcp_tools import McpServer, connect
    from thinkaloud.agents.run import Run, RunContext
    from thinkaloud.agents.toolbox import Toolbox
    from thinkaloud.agents.tools import Tool, ToolFault

__all__ = [
    "Agent",
    "AgentFile",
    "McpServer",
    "Run",
    "RunContext",
    "RunLimits",
    "Tool",
    "ToolFault",
    "Toolbox",
    "agent_tree",
    "assemble",
    "build_agent",
    "builtin_agents",
    "check_unique_tool_names",
    "connect",
    "from_function",
    "local_tools",
    "read_agents",
]

_MODULES = {
    "agent": ("Agent", "agent_tree", "assemble", "check_unique_tool_names"),
    "files": ("AgentFile", "build_agent", "builtin_agents", "local_tools", "read_agents"),
    "functions": ("from_function",),
    "limits": ("RunLimits",),
    "mcp_tools": ("McpServer", "connect"),
    "run": ("Run", "RunContext"),
    "toolbox": ("Toolbox",),
    "tools": ("Tool", "ToolFault"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"thinkaloud.agents.{module}"), name)
    raise AttributeError(f"module 'thinkaloud.agents' has no attribute {name!r}")
