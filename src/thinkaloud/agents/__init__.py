"""Agents: models that use tools and assistants, watched while they work.

An `Agent` is a value. A `Run` of it is one turn, told entry by entry. Tools are functions (`from_function`),
those of MCP servers (`connected`), or all that a `Toolbox` finds by name for the agents of a file. Each
name is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thinkaloud.agents.config import AgentFile, build_agent, builtin_agents, local_tools, read_agents
    from thinkaloud.agents.mcp import McpServer, connect
    from thinkaloud.agents.run import Run, RunContext
    from thinkaloud.agents.spec import Agent, RunLimits, agent_tree, assemble, check_unique_tool_names
    from thinkaloud.agents.toolbox import Toolbox
    from thinkaloud.agents.tools import Tool, ToolFault, from_function

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
    "config": ("AgentFile", "build_agent", "builtin_agents", "local_tools", "read_agents"),
    "mcp": ("McpServer", "connect"),
    "run": ("Run", "RunContext"),
    "spec": ("Agent", "RunLimits", "agent_tree", "assemble", "check_unique_tool_names"),
    "toolbox": ("Toolbox",),
    "tools": ("Tool", "ToolFault", "from_function"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"thinkaloud.agents.{module}"), name)
    raise AttributeError(f"module 'thinkaloud.agents' has no attribute {name!r}")
