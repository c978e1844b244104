"""An agent: a model with instructions, tools and assistants, and how far it may go."""

from collections.abc import Callable, Iterator

import msgspec

from thinkaloud.agents.limits import Limits
from thinkaloud.agents.tools import Tool
from thinkaloud.canon import Refused
from thinkaloud.canon import requests as canon
from thinkaloud.canon.requests import assistant_tool
from thinkaloud.context import ContextMode

DEEPEST = 8
"""Levels of assistants below an agent: more than anybody reads, and few enough to stop what runs away."""
_TASK = '{"type":"object","properties":{"task":{"type":"string"}},"required":["task"]}'


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
    client_tools: tuple[canon.Tool, ...] = ()
    """Tools that somebody else runs: a turn that calls one ends there, and goes on with its result."""
    assistants: tuple["Agent", ...] = ()
    limits: Limits = Limits()
    summary_model: str = ""
    """A small model that may write one line on what is being thought, where the provider has no titles."""

    @property
    def offered(self) -> tuple[canon.Tool, ...]:
        """All that its model may call, in one list."""
        own = (tool.definition for tool in self.tools)
        return (*own, *self.client_tools, *(_as_tool(assistant) for assistant in self.assistants))

    def tool(self, name: str) -> Tool | None:
        """The tool of its own that has this name."""
        return next((tool for tool in self.tools if tool.definition.name == name), None)

    def is_client_tool(self, name: str) -> bool:
        """Whether somebody else runs the tool of this name: all of them, where a model is asked alone."""
        return not self.name or any(tool.name == name for tool in self.client_tools)

    def assistant(self, name: str) -> "Agent | None":
        """The assistant that a model calls by this name."""
        return next((one for one in self.assistants if assistant_tool(one.name) == name), None)


def model_alone(model: str) -> Agent:
    """A model without a name, tools or limits: it replies once, for as long as it takes."""
    return Agent(name="", model=model, limits=Limits(seconds=None))


Find = Callable[[str], tuple[Agent, tuple[str, ...]]]
"""An agent by its id, without assistants, and the ids of those; refuses an id that nobody has."""


def assembled(wanted: str, find: Find) -> Agent:
    """An agent with its assistants and theirs; refuses circles, too many levels, and names that clash."""
    return _assembled(wanted, find, (), {})[0]


def checked(agent: Agent) -> Agent:
    """The agent itself, once each of its tools and assistants can be told from the others."""
    names = [tool.name for tool in agent.offered]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise Refused(
            f"The agent {agent.name!r} has more than one tool or assistant called {', '.join(twice)}, and "
            "its model could not tell them apart. Rename or leave out all but one."
        )
    return agent


_Ready = dict[str, tuple[Agent, int]]
"""Agents by their ids, each with how many levels there are below it."""


def _assembled(wanted: str, find: Find, above: tuple[str, ...], ready: _Ready) -> tuple[Agent, int]:
    """An agent that several others call is assembled once: there may be millions of ways to it."""
    if wanted in above:
        circle = " → ".join((*above[above.index(wanted) :], wanted))
        raise Refused(f"These agents call each other in a circle: {circle}. Take one of the calls out.")
    if wanted not in ready and len(above) <= DEEPEST:
        agent, assistants = find(wanted)
        below = [_assembled(one, find, (*above, wanted), ready) for one in assistants]
        whole = checked(msgspec.structs.replace(agent, assistants=tuple(one for one, _ in below)))
        ready[wanted] = whole, max((levels + 1 for _, levels in below), default=0)
    if wanted not in ready or len(above) + ready[wanted][1] > DEEPEST:
        raise Refused(
            f"{' → '.join((*above, wanted))}: this leads more than {DEEPEST} assistants away from the agent "
            "that was asked. Let fewer of them call another."
        )
    return ready[wanted]


def everyone(agent: Agent) -> Iterator[Agent]:
    """The agent, its assistants, and theirs, each of them once."""
    rest, seen = [agent], set[int]()
    while rest:
        one = rest.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            rest += reversed(one.assistants)


def _as_tool(assistant: Agent) -> canon.Tool:
    said = assistant.description or f"The assistant {assistant.name}."
    return canon.Tool(
        assistant_tool(assistant.name),
        f"{said} Give it a task in plain words, with all it needs to know: it sees nothing else.",
        _TASK,
    )
