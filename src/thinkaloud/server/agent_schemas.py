"""Request and response structs of the agent routes. All others are in `server.schemas`."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from thinkaloud.canon.requests import ThinkingLevel
from thinkaloud.context import ContextMode
from thinkaloud.server.schemas import MIB, Budget, Id, ModelName


class ToolBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool that the model may call."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    description: Annotated[str, Meta(max_length=10_000)] = ""
    parameters: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})
    """JSON Schema of the arguments."""


class NewAgent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of an agent. A level or a budget requires `thinking`."""

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    model: Annotated[ModelName, Meta(min_length=1)]
    description: Annotated[str, Meta(max_length=2_000)] = ""
    """What the agent is good for. Agents that may call it see this text."""
    system: Annotated[str, Meta(max_length=MIB)] = ""
    thinking: bool = False
    level: ThinkingLevel | None = None
    budget_tokens: Budget | None = None
    tools: Annotated[tuple[ToolBody, ...], Meta(max_length=200)] = ()
    """Tools that the client runs. A turn that calls one ends, and the next turn brings the result."""
    uses: Annotated[tuple[Annotated[str, Meta(max_length=130)], ...], Meta(max_length=200)] = ()
    """Names of tools that the gateway runs."""
    assistants: Annotated[tuple[Id, ...], Meta(max_length=32)] = ()
    """Agents of the same workspace that this one may call."""
    most_replies: Annotated[int, Meta(ge=1, le=1000)] | None = None
    most_output_tokens: Budget | None = None
    most_seconds: Annotated[float, Meta(gt=0, le=86_400)] | None = None
    most_usd: Annotated[float, Meta(gt=0, le=100_000)] | None = None
    summary_model: ModelName = ""
    """A small model that writes one-line summaries of the thinking, if the provider sends no titles."""
    preset: Annotated[str, Meta(max_length=40)] = "default"
    context_mode: ContextMode = ContextMode.PROVIDER_DEFAULT


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
