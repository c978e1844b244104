"""From an agent as it is kept to one that can run: its tools found, its assistants with it.

A kept agent names the tools that the gateway runs; which there are is for whoever runs the gateway to say.
Agents come from the store, by their ids, and from the gateway's own file, by their names.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from thinkaloud.agents.agent import Agent, assemble
from thinkaloud.agents.builtin_tools import search_sessions
from thinkaloud.agents.files import SEARCH_SESSIONS, AgentConfig, agent_from_config
from thinkaloud.agents.limits import RunLimits
from thinkaloud.agents.tools import Tool
from thinkaloud.canon import Refused
from thinkaloud.canon.requests import ThinkingLevel
from thinkaloud.store import search
from thinkaloud.store.rows import AgentSpec, Owner, SearchKind

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway


MAX_HITS = 10
_SEARCHED_KINDS = frozenset({SearchKind.PROMPT, SearchKind.ANSWER})
"""A tool finds what was asked and answered. What was thought stays with whoever looks for it."""


async def assemble_agent(
    gateway: "Gateway", owner: Owner, root_name: str, stored_specs: Mapping[str, AgentSpec]
) -> Agent:
    """The agent that is wanted, ready to run; `kept` holds those of the store that it may need."""
    parts: dict[str, tuple[Agent, tuple[str, ...]]] = {}
    pending = [root_name]
    while pending:
        current_name = pending.pop()
        agent, uses, assistants = _agent_without_tools(
            current_name, stored_specs.get(current_name), gateway.gateway_agents.agents.get(current_name)
        )
        tools = await _find_tools(gateway, owner, uses)
        parts[current_name] = msgspec.structs.replace(agent, tools=tools), assistants
        pending += [name for name in assistants if name not in parts]
    return assemble(root_name, parts.__getitem__)


def _agent_without_tools(
    name: str, spec: AgentSpec | None, row: AgentConfig | None
) -> tuple[Agent, tuple[str, ...], tuple[str, ...]]:
    """An agent without tools and assistants, and the names of both."""
    if spec is not None:
        return _agent_from_spec(name, spec), spec.uses, spec.assistants
    if row is not None:
        return agent_from_config(name, row), row.tools, row.assistants
    raise Refused(f"There is no agent {name!r} in this workspace. Name another one, or none.")


def _agent_from_spec(agent_id: str, spec: AgentSpec) -> Agent:
    return Agent(
        name=spec.name,
        id=agent_id,
        description=spec.description,
        model=spec.model,
        system=spec.system,
        thinking=thinking_setting(spec),
        context_mode=spec.context_mode,
        client_tools=spec.tools,
        limits=_agent_limits(spec),
        summary_model=spec.summary_model,
    )


def thinking_setting(spec: AgentSpec) -> str | int | None:
    """How hard an agent is to think, as `prepare` takes it."""
    if not spec.thinking:
        return ThinkingLevel.OFF
    return spec.budget_tokens or spec.level or ThinkingLevel.MEDIUM


def available_tools(gateway: "Gateway") -> tuple[str, ...]:
    """The names that an agent of this gateway may use."""
    return (*gateway.toolbox.names, SEARCH_SESSIONS)


def refuse_unknown_tools(gateway: "Gateway", names: Iterable[str]) -> None:
    """Refuse names of tools that this gateway does not have."""
    available = available_tools(gateway)
    if unknown := [name for name in names if name.partition("/")[0] not in available]:
        raise Refused(
            f"This gateway has no tool {unknown[0]!r}. It has {', '.join(available)}. Whoever runs it adds tools "
            "in agents.toml."
        )


async def _find_tools(gateway: "Gateway", owner: Owner, names: tuple[str, ...]) -> tuple[Tool, ...]:
    refuse_unknown_tools(gateway, names)
    toolbox_names = [name for name in names if name != SEARCH_SESSIONS]
    tools = await gateway.toolbox.find(toolbox_names) if toolbox_names else ()
    return (*tools, _search_tool(gateway, owner)) if SEARCH_SESSIONS in names else tools


def _search_tool(gateway: "Gateway", owner: Owner) -> Tool:
    async def search_text(words: str) -> str:
        page = await gateway.database.read(
            lambda conn: search.find(conn, owner, words, kinds=_SEARCHED_KINDS, limit=MAX_HITS)
        )
        hits = (f"{hit.session_title or hit.session} ({hit.kind}): {hit.snippet}" for hit in page.items)
        return "\n".join(hits) or "Nothing was found."

    return search_sessions(search_text)


def _agent_limits(spec: AgentSpec) -> RunLimits:
    defaults = RunLimits()
    return RunLimits(
        replies=spec.most_replies or defaults.replies,
        output_tokens=spec.most_output_tokens,
        seconds=spec.most_seconds or defaults.seconds,
        usd=spec.most_usd,
    )
