"""Agents: models that use tools and assistants, with limits and watchers.

An `Agent` is a value, and a `Run` of it is one turn. Tools come from functions (`from_function`), from MCP
servers (`connect`), or from a `Toolbox`, which finds the tools that a file names. Each name is imported on
first use, so that a caller who needs one of them does not load the others.

It may import `client` and the core. Read first: `spec.py`, `loop.py`, `run.py`.
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
