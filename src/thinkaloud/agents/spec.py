"""How far an agent may go: its limits, what it has spent, and the word for it when it is enough.

An agent: a model with instructions, tools and assistants, and how far it may go.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from thinkaloud.agents.prices import price_of
from thinkaloud.agents.tools import Tool
from thinkaloud.canon import Refused
from thinkaloud.canon import requests as canon
from thinkaloud.canon.requests import assistant_tool_name
from thinkaloud.context import ContextMode
from thinkaloud.transcript import Reply


class RunLimits(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How far an agent may go, with all that its assistants do; None is no limit."""

    replies: int = 50
    output_tokens: int | None = None
    """As far as providers report them."""
    seconds: float | None = 600.0
    """Time spent waiting for an approval does not count."""
    usd: float | None = None
    """As far as prices are known."""


class LimitReached(Exception):
    """An agent may go no further; `whose` says which one, `code` which limit it is."""

    def __init__(self, loop: object, limit_name: str, name: str, limits: RunLimits) -> None:
        self.loop = loop
        self.code = f"limit_{limit_name}"
        limit = f"{getattr(limits, limit_name):,}"
        super().__init__(
            f"{name} was stopped by its limit on {_LIMIT_LABELS[limit_name]}, {limit} (limits.{limit_name}). What was said until "
            "then stands; raise the limit to let it go further."
        )


_LIMIT_LABELS = {
    "replies": "replies",
    "output_tokens": "output tokens",
    "seconds": "seconds",
    "usd": "US dollars",
}


def exceeded_limit(limits: RunLimits, replies: Sequence[Reply], pending: int = 0) -> str:
    """Which limit leaves no room for another reply beside those under way; empty where none does."""
    if len(replies) + pending >= limits.replies:
        return "replies"
    tokens = sum(reply.usage.output or 0 for reply in replies)
    if limits.output_tokens is not None and tokens >= limits.output_tokens:
        return "output_tokens"
    if limits.usd is not None and sum(float(price_of(reply) or 0) for reply in replies) >= limits.usd:
        return "usd"
    return ""


MAX_ASSISTANT_DEPTH = 8
"""Levels of assistants below an agent: more than anybody reads, and few enough to stop what runs away."""
_TASK_SCHEMA = '{"type":"object","properties":{"task":{"type":"string"}},"required":["task"]}'


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """What runs: see `run.Run`."""

    name: str
    """Empty for a model alone, whose calls are left to whoever asked it."""
    model: str
    id: str = ""
    description: str = ""
    """What it is good for, told to agents that may call it."""
    system: str = ""
    thinking: str | int | None = None
    max_tokens: int | None = None
    context_mode: ContextMode = ContextMode.PROVIDER_DEFAULT
    tools: tuple[Tool, ...] = ()
    client_tools: tuple[canon.ToolDefinition, ...] = ()
    """Tools that somebody else runs: a turn that calls one ends there, and goes on with its result."""
    assistants: tuple["Agent", ...] = ()
    limits: RunLimits = RunLimits()
    summary_model: str = ""
    """A small model that may write one line on what is being thought, where the provider has no titles."""

    @property
    def tool_definitions(self) -> tuple[canon.ToolDefinition, ...]:
        """All that its model may call, in one list."""
        own_tools = (tool.definition for tool in self.tools)
        return (
            *own_tools,
            *self.client_tools,
            *(_assistant_definition(assistant) for assistant in self.assistants),
        )

    def tool(self, name: str) -> Tool | None:
        """The tool of its own that has this name."""
        return next((tool for tool in self.tools if tool.definition.name == name), None)

    def is_client_tool(self, name: str) -> bool:
        """Whether somebody else runs the tool of this name: all of them, where a model is asked alone."""
        return not self.name or any(tool.name == name for tool in self.client_tools)

    def assistant(self, name: str) -> "Agent | None":
        """The assistant that a model calls by this name."""
        return next(
            (assistant for assistant in self.assistants if assistant_tool_name(assistant.name) == name), None
        )


def bare_model(model: str) -> Agent:
    """A model without a name, tools or limits: it replies once, for as long as it takes."""
    return Agent(name="", model=model, limits=RunLimits(seconds=None))


AgentLookup = Callable[[str], tuple[Agent, tuple[str, ...]]]
"""An agent by its id, without assistants, and the ids of those; refuses an id that nobody has."""


def assemble(agent_id: str, lookup: AgentLookup) -> Agent:
    """An agent with its assistants and theirs; refuses circles, too many levels, and names that clash."""
    return _assemble(agent_id, lookup, (), {})[0]


def check_unique_tool_names(agent: Agent) -> Agent:
    """The agent itself, once each of its tools and assistants can be told from the others."""
    names = [tool.name for tool in agent.tool_definitions]
    if duplicates := sorted({name for name in names if names.count(name) > 1}):
        raise Refused(
            f"The agent {agent.name!r} has more than one tool or assistant called {', '.join(duplicates)}, and "
            "its model could not tell them apart. Rename or leave out all but one."
        )
    return agent


_Assembled = dict[str, tuple[Agent, int]]
"""Agents by their ids, each with how many levels there are below it."""


def _assemble(
    agent_id: str, lookup: AgentLookup, ancestors: tuple[str, ...], assembled_by_id: _Assembled
) -> tuple[Agent, int]:
    """An agent that several others call is assembled once: there may be millions of ways to it."""
    if agent_id in ancestors:
        circle = " → ".join((*ancestors[ancestors.index(agent_id) :], agent_id))
        raise Refused(f"These agents call each other in a circle: {circle}. Take one of the calls out.")
    if agent_id not in assembled_by_id and len(ancestors) <= MAX_ASSISTANT_DEPTH:
        agent, assistant_ids = lookup(agent_id)
        subtrees = [
            _assemble(child, lookup, (*ancestors, agent_id), assembled_by_id) for child in assistant_ids
        ]
        complete = check_unique_tool_names(
            msgspec.structs.replace(agent, assistants=tuple(child for child, _ in subtrees))
        )
        assembled_by_id[agent_id] = complete, max((levels + 1 for _, levels in subtrees), default=0)
    if agent_id not in assembled_by_id or len(ancestors) + assembled_by_id[agent_id][1] > MAX_ASSISTANT_DEPTH:
        raise Refused(
            f"{' → '.join((*ancestors, agent_id))}: this leads more than {MAX_ASSISTANT_DEPTH} assistants away from the agent "
            "that was asked. Let fewer of them call another."
        )
    return assembled_by_id[agent_id]


def agent_tree(agent: Agent) -> Iterator[Agent]:
    """The agent, its assistants, and theirs, each of them once."""
    pending, seen = [agent], set[int]()
    while pending:
        current = pending.pop()
        if id(current) not in seen:
            seen.add(id(current))
            yield current
            pending += reversed(current.assistants)


def _assistant_definition(assistant: Agent) -> canon.ToolDefinition:
    description = assistant.description or f"The assistant {assistant.name}."
    return canon.ToolDefinition(
        assistant_tool_name(assistant.name),
        f"{description} Give it a task in plain words, with all it needs to know: it sees nothing else.",
        _TASK_SCHEMA,
    )
