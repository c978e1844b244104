"""From an agent as it is kept to one that can run: its tools found, its assistants with it.

A kept agent names the tools that the gateway runs; which there are is for whoever runs the gateway to say.
Agents come from the store, by their ids, and from the gateway's own file, by their names.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from thinkaloud.agents.agent import Agent, assembled
from thinkaloud.agents.builtin_tools import search_sessions
from thinkaloud.agents.files import SEARCH_SESSIONS, AgentRow, of_row
from thinkaloud.agents.limits import Limits
from thinkaloud.agents.tools import Tool
from thinkaloud.canon import Refused
from thinkaloud.canon.requests import Level
from thinkaloud.store import search
from thinkaloud.store.rows import AgentSpec, Owner, SearchKind

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway


HITS = 10
_SAID = frozenset({SearchKind.PROMPT, SearchKind.ANSWER})
"""A tool finds what was asked and answered. What was thought stays with whoever looks for it."""


async def assemble(gateway: "Gateway", owner: Owner, wanted: str, kept: Mapping[str, AgentSpec]) -> Agent:
    """The agent that is wanted, ready to run; `kept` holds those of the store that it may need."""
    found: dict[str, tuple[Agent, tuple[str, ...]]] = {}
    missing = [wanted]
    while missing:
        one = missing.pop()
        agent, uses, assistants = _alone(one, kept.get(one), gateway.own_agents.agents.get(one))
        tools = await _tools(gateway, owner, uses)
        found[one] = msgspec.structs.replace(agent, tools=tools), assistants
        missing += [name for name in assistants if name not in found]
    return assembled(wanted, found.__getitem__)


def _alone(
    name: str, spec: AgentSpec | None, row: AgentRow | None
) -> tuple[Agent, tuple[str, ...], tuple[str, ...]]:
    """An agent without tools and assistants, and the names of both."""
    if spec is not None:
        return _of_spec(name, spec), spec.uses, spec.assistants
    if row is not None:
        return of_row(name, row), row.tools, row.assistants
    raise Refused(f"There is no agent {name!r} in this workspace. Name another one, or none.")


def _of_spec(agent_id: str, spec: AgentSpec) -> Agent:
    return Agent(
        name=spec.name,
        id=agent_id,
        description=spec.description,
        model=spec.model,
        system=spec.system,
        thinking=thinking_of(spec),
        context_mode=spec.context_mode,
        client_tools=spec.tools,
        limits=_limits(spec),
        summary_model=spec.summary_model,
    )


def thinking_of(spec: AgentSpec) -> str | int | None:
    """How hard an agent is to think, as `prepare` takes it."""
    if not spec.thinking:
        return Level.OFF
    return spec.budget_tokens or spec.level or Level.MEDIUM


def known_tools(gateway: "Gateway") -> tuple[str, ...]:
    """The names that an agent of this gateway may use."""
    return (*gateway.toolbox.names, SEARCH_SESSIONS)


def refuse_unknown(gateway: "Gateway", names: Iterable[str]) -> None:
    """Refuse names of tools that this gateway does not have."""
    known = known_tools(gateway)
    if unknown := [name for name in names if name.partition("/")[0] not in known]:
        raise Refused(
            f"This gateway has no tool {unknown[0]!r}. It has {', '.join(known)}. Whoever runs it adds tools "
            "in agents.toml."
        )


async def _tools(gateway: "Gateway", owner: Owner, names: tuple[str, ...]) -> tuple[Tool, ...]:
    refuse_unknown(gateway, names)
    own = [name for name in names if name != SEARCH_SESSIONS]
    tools = await gateway.toolbox.find(own) if own else ()
    return (*tools, _search(gateway, owner)) if SEARCH_SESSIONS in names else tools


def _search(gateway: "Gateway", owner: Owner) -> Tool:
    async def find(words: str) -> str:
        page = await gateway.database.read(
            lambda conn: search.find(conn, owner, words, kinds=_SAID, limit=HITS)
        )
        hits = (f"{hit.session_title or hit.session} ({hit.kind}): {hit.snippet}" for hit in page.items)
        return "\n".join(hits) or "Nothing was found."

    return search_sessions(find)


def _limits(spec: AgentSpec) -> Limits:
    own = Limits()
    return Limits(
        replies=spec.most_replies or own.replies,
        output_tokens=spec.most_output_tokens,
        seconds=spec.most_seconds or own.seconds,
        usd=spec.most_usd,
    )
