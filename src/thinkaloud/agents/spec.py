"""A runnable agent: a model with instructions, tools, assistants and limits.

`Agent` has its tools and assistants resolved. Its declarative form is `agents.config.AgentConfig`, a row of
agents.toml, which only names the tools and assistants. The gateway stores agents in a form of its own.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from thinkaloud.agents.prices import price_of
from thinkaloud.agents.tools import Tool
from thinkaloud.core.canon import Refused, Wording
from thinkaloud.core.canon import requests as canon
from thinkaloud.core.canon.requests import RequestOptions, TurnRequest, assistant_tool_name, merge_options
from thinkaloud.core.transcript import Reply


class RunLimits(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The limits of an agent, which include the work of its assistants. None is no limit."""

    replies: int = 50
    output_tokens: int | None = None
    """Counts what providers report; a provider that reports nothing counts as zero."""
    seconds: float | None = 600.0
    """Does not include the time spent waiting for an approval."""
    usd: float | None = None
    """Counts replies whose price is known; others count as zero."""


class LimitReached(Exception):
    """An agent reached a limit. `loop` is the agent's loop, `code` names the limit."""

    def __init__(self, loop: object, limit_name: str, name: str, limits: RunLimits) -> None:
        self.loop = loop
        self.code = f"limit_{limit_name}"
        self.wording = Wording(
            "{agent} was stopped by its limit on {unit}, {limit} (limits.{limit_name}). The answer so far is "
            "kept. Raise the limit to let it continue.",
            agent=name,
            unit=_LIMIT_LABELS[limit_name],
            limit=f"{getattr(limits, limit_name):,}",
            limit_name=limit_name,
        )
        super().__init__(str(self.wording))


_LIMIT_LABELS = {
    "replies": Wording("replies"),
    "output_tokens": Wording("output tokens"),
    "seconds": Wording("seconds"),
    "usd": Wording("US dollars"),
}


def exceeded_limit(limits: RunLimits, replies: Sequence[Reply], pending: int = 0) -> str:
    """Return the limit that another reply would exceed, else an empty text. `pending`: replies under way."""
    if len(replies) + pending >= limits.replies:
        return "replies"
    tokens = sum(reply.usage.output or 0 for reply in replies)
    if limits.output_tokens is not None and tokens >= limits.output_tokens:
        return "output_tokens"
    if limits.usd is not None and sum(float(price_of(reply) or 0) for reply in replies) >= limits.usd:
        return "usd"
    return ""


MAX_ASSISTANT_DEPTH = 8
"""Levels of assistants below an agent. The limit stops delegation that would never end."""
_TASK_SCHEMA = '{"type":"object","properties":{"task":{"type":"string"}},"required":["task"]}'


class Agent(RequestOptions, frozen=True, kw_only=True):
    """An agent with its tools and assistants resolved. `run.Run` runs it."""

    name: str
    """Empty for a model without an agent: its tool calls are left to the caller."""
    model: str
    id: str = ""
    description: str = ""
    """What it is good for, for the models of agents that may call it."""
    tools: tuple[Tool, ...] = ()
    client_tools: tuple[canon.ToolDefinition, ...] = ()
    """Tools that the caller runs. A turn that calls one ends; the next turn begins with the result."""
    assistants: tuple["Agent", ...] = ()
    limits: RunLimits = RunLimits()
    summary_model: str = ""
    """A small model that summarises the thinking in one line, if the provider sends no titles."""

    @property
    def tool_definitions(self) -> tuple[canon.ToolDefinition, ...]:
        """Everything its model may call: tools, client tools and assistants."""
        own_tools = (tool.definition for tool in self.tools)
        return (
            *own_tools,
            *self.client_tools,
            *(_assistant_definition(assistant) for assistant in self.assistants),
        )

    def tool(self, name: str) -> Tool | None:
        """Return the agent's own tool of this name."""
        return next((tool for tool in self.tools if tool.definition.name == name), None)

    def is_client_tool(self, name: str) -> bool:
        """Whether the caller runs the tool of this name. Without an agent the caller runs every tool."""
        return not self.name or any(tool.name == name for tool in self.client_tools)

    def assistant(self, name: str) -> "Agent | None":
        """Return the assistant whose tool name this is."""
        return next(
            (assistant for assistant in self.assistants if assistant_tool_name(assistant.name) == name), None
        )


def bare_model(model: str) -> Agent:
    """Return an agent without name, tools or time limit: the model replies once."""
    return Agent(name="", model=model, limits=RunLimits(seconds=None))


def apply_request(agent: Agent, request: TurnRequest) -> Agent:
    """Return the agent as it answers one request: what the request sets goes before the agent's own."""
    return msgspec.structs.replace(
        merge_options(agent, request),
        model=request.model or agent.model,
        client_tools=(*agent.client_tools, *request.tools),
    )


AgentLookup = Callable[[str], tuple[Agent, tuple[str, ...]]]
"""Returns the agent of an id without its assistants, and their ids. Refuses an unknown id."""


def assemble(agent_id: str, lookup: AgentLookup) -> Agent:
    """Return an agent with its tree of assistants. Refuses cycles, duplicate names and trees too deep."""
    return _assemble(agent_id, lookup, (), {})[0]


def check_unique_tool_names(agent: Agent) -> Agent:
    """Return the agent, or refuse it if two of its tools or assistants have the same name."""
    names = [tool.name for tool in agent.tool_definitions]
    if duplicates := sorted({name for name in names if names.count(name) > 1}):
        raise Refused(
            "The agent {name} has more than one tool or assistant called {duplicates}. Names must be "
            "unique for its model. Rename or remove all but one.",
            name=repr(agent.name),
            duplicates=", ".join(duplicates),
        )
    return agent


_Assembled = dict[str, tuple[Agent, int]]
"""Agents by id, each with the number of levels below it."""


def _assemble(
    agent_id: str, lookup: AgentLookup, ancestors: tuple[str, ...], assembled_by_id: _Assembled
) -> tuple[Agent, int]:
    """Return an agent and its depth.

    Each agent is assembled once: in a graph of shared assistants the number of paths grows exponentially.
    """
    if agent_id in ancestors:
        cycle = " → ".join((*ancestors[ancestors.index(agent_id) :], agent_id))
        raise Refused(
            "These agents call each other in a cycle: {cycle}. Remove one of the calls.", cycle=cycle
        )
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
            "{names}: assistants are nested more than {max_assistant_depth} levels deep. Remove a level.",
            names=" → ".join((*ancestors, agent_id)),
            max_assistant_depth=MAX_ASSISTANT_DEPTH,
        )
    return assembled_by_id[agent_id]


def agent_tree(agent: Agent) -> Iterator[Agent]:
    """Yield the agent and all agents below it, each once."""
    pending, seen = [agent], set[int]()
    while pending:
        current = pending.pop()
        if id(current) not in seen:
            seen.add(id(current))
            yield current
            pending += reversed(current.assistants)


def assistant_ids(agent: Agent) -> tuple[str, ...]:
    """Return the ids of all agents that an agent may call, directly or through others."""
    return tuple(below.id for below in agent_tree(agent) if below is not agent)


def _assistant_definition(assistant: Agent) -> canon.ToolDefinition:
    description = assistant.description or f"The assistant {assistant.name}."
    return canon.ToolDefinition(
        assistant_tool_name(assistant.name),
        f"{description} Give it a task in plain words with all the context it needs: it sees nothing else.",
        _TASK_SCHEMA,
    )
