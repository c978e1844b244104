"""HTTP bodies of agents. All other bodies are in `server.schemas`."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from thinkaloud.core.canon.requests import CLIENT_TOOL_NAME, ToolDefinition
from thinkaloud.gateway.store.rows import AgentSettings


class ToolBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool that the model may call."""

    name: Annotated[str, Meta(pattern=CLIENT_TOOL_NAME)]
    description: Annotated[str, Meta(max_length=100_000)] = ""
    parameters: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})
    """JSON Schema of the arguments."""

    def definition(self) -> ToolDefinition:
        """Return the tool as part of a model request."""
        return ToolDefinition(self.name, self.description, msgspec.json.encode(self.parameters).decode())


class NewAgent(AgentSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of an agent. A level or a budget is valid only with thinking on."""

    tools: Annotated[tuple[ToolBody, ...], Meta(max_length=200)] = ()
    """Tools that the caller runs: a turn that calls one ends, and the next turn begins with its result."""


class AgentBody(NewAgent, frozen=True, kw_only=True):
    """An agent of the workspace. Only its creator may change it."""

    id: str
    yours: bool
    created_ms: int
    updated_ms: int


class GatewayAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that the operator of the gateway configured. All users may use it; none may change it."""

    id: str
    name: str
    description: str
    model: str
    uses: tuple[str, ...]
    assistants: tuple[str, ...]


class AgentPage(msgspec.Struct, frozen=True):
    """Agents of the workspace. The first page also lists the gateway's own agents and its tools."""

    items: tuple[AgentBody, ...]
    next: str = ""
    own: tuple[GatewayAgent, ...] = ()
    tools: tuple[str, ...] = ()
