"""Agents of a workspace: set up, listed, replaced and deleted.

Whether a model thinks, and how, is asked of the same code that asks the model; so an agent that is kept can
be asked, as far as anybody can know without a key.
"""

import msgspec

from thinkaloud.canon import Refused
from thinkaloud.canon.requests import Level, Tool
from thinkaloud.client.prepare import Options, prepare
from thinkaloud.server.agent_bodies import AgentBody, AgentPage, NewAgent, OwnAgent, ToolBody
from thinkaloud.server.assembling import known_tools, refuse_unknown, thinking_of
from thinkaloud.server.bodies import PageQuery
from thinkaloud.server.refusals import NotFound
from thinkaloud.server.routing import Call, Reply
from thinkaloud.store import agents
from thinkaloud.store.rows import Agent, AgentSpec
from thinkaloud.view import preset


async def listed(call: Call) -> AgentPage:
    """List the agents of the workspace."""
    query: PageQuery = call.query
    page = await call.gateway.database.read(
        lambda conn: agents.listed(conn, call.owner, limit=query.limit, after=query.after)
    )
    items = tuple(_body(call, agent) for agent in page.items)
    if query.after:
        return AgentPage(items, page.next)
    return AgentPage(items, page.next, _own(call), known_tools(call.gateway))


async def create(call: Call) -> AgentBody:
    """Set up an agent."""
    spec, now_ms = _checked(call), call.gateway.now_ms()
    return _body(
        call, await call.gateway.database.write(lambda conn: agents.create(conn, call.owner, spec, now_ms))
    )


async def read(call: Call) -> AgentBody:
    """An agent."""
    return _body(call, _agent(call))


async def replace(call: Call) -> AgentBody:
    """Set up an agent anew, all of it."""
    spec, now_ms, agent = _checked(call), call.gateway.now_ms(), _agent(call)
    changed = await call.gateway.database.write(
        lambda conn: agents.replace(conn, call.owner, agent.id, spec, now_ms)
    )
    if changed is None:
        raise NotFound()
    return _body(call, changed)


async def delete(call: Call) -> Reply:
    """Delete an agent; sessions that used it keep what was said."""
    agent = _agent(call)
    if not await call.gateway.database.write(lambda conn: agents.delete(conn, call.owner, agent.id)):
        raise NotFound()
    return Reply(status=204)


def _agent(call: Call) -> Agent:
    assert call.granted.agent is not None
    return call.granted.agent


def _checked(call: Call) -> AgentSpec:
    """The spec that a body asks for; refused where it could not be asked as it stands."""
    wanted: NewAgent = call.body
    _check_thinking(wanted)
    preset(wanted.preset)
    fields = {name: getattr(wanted, name) for name in NewAgent.__struct_fields__ if name != "tools"}
    spec = AgentSpec(**fields, tools=tuple(map(_tool, wanted.tools)))
    refuse_unknown(call.gateway, spec.uses)
    options = Options(tools=spec.tools, catalog=call.gateway.catalog)
    prepare("", model=spec.model, thinking=thinking_of(spec), options=options, have_key=lambda _: True)
    return spec


def _check_thinking(wanted: NewAgent) -> None:
    told = wanted.level is not None or wanted.budget_tokens is not None
    if told and not wanted.thinking:
        raise Refused(
            f"Thinking is off for {wanted.name!r}, so there is nothing that a level or a budget could say. "
            "Leave them out, or turn thinking on."
        )
    if wanted.level is not None and wanted.budget_tokens is not None:
        raise Refused(f"{wanted.name!r} has a level and a budget of tokens. Choose one of the two.")
    if wanted.level is Level.OFF:
        raise Refused(
            f"Thinking is on for {wanted.name!r}, and its level says off. Turn thinking off instead."
        )


def _own(call: Call) -> tuple[OwnAgent, ...]:
    return tuple(
        OwnAgent(
            id=name,
            name=row.name or name.capitalize(),
            description=row.description,
            model=row.model,
            uses=row.tools,
            assistants=row.assistants,
        )
        for name, row in call.gateway.own_agents.agents.items()
    )


def _tool(wanted: ToolBody) -> Tool:
    return Tool(wanted.name, wanted.description, msgspec.json.encode(wanted.parameters).decode())


def _body(call: Call, agent: Agent) -> AgentBody:
    spec = msgspec.structs.asdict(agent.spec)
    tools = tuple(
        ToolBody(
            name=tool.name, description=tool.description, parameters=msgspec.json.decode(tool.parameters)
        )
        for tool in agent.spec.tools
    )
    return AgentBody(
        **(spec | {"tools": tools}),
        id=agent.id,
        yours=agent.owner == call.owner,
        created_ms=agent.created_ms,
        updated_ms=agent.updated_ms,
    )
