"""Handlers for the agents of a workspace: list, create, read, replace, delete.

A new agent is validated by the code that prepares model requests, so a stored agent can be run, as far as
that can be checked without an API key.
"""

import msgspec

from thinkaloud.client.prepared_request import Options, prepare
from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import ThinkingLevel
from thinkaloud.core.view import preset
from thinkaloud.gateway.server.http.errors import NotFound
from thinkaloud.gateway.server.http.route import RouteRequest, RouteResponse
from thinkaloud.gateway.server.schemas.agents import AgentBody, AgentPage, GatewayAgent, NewAgent, ToolBody
from thinkaloud.gateway.server.schemas.sessions import PageQuery
from thinkaloud.gateway.server.turns.prepare import available_tools, refuse_unknown_tools, thinking_setting
from thinkaloud.gateway.store.queries import agents
from thinkaloud.gateway.store.rows import AgentSpec, StoredAgent


async def list_agents(request: RouteRequest) -> AgentPage:
    """List the agents of the workspace."""
    query: PageQuery = request.query
    page = await request.gateway.database.read(
        lambda conn: agents.list_page(conn, request.owner, limit=query.limit, after=query.after)
    )
    items = tuple(_agent_body(request, agent) for agent in page.items)
    if query.after:
        return AgentPage(items, page.next)
    return AgentPage(items, page.next, _gateway_agents(request), available_tools(request.gateway))


async def create(request: RouteRequest) -> AgentBody:
    """Create an agent."""
    spec = _validated_spec(request)
    now_ms = request.gateway.now_ms()
    agent = await request.gateway.database.write(
        lambda conn: agents.create(conn, request.owner, spec, now_ms)
    )
    return _agent_body(request, agent)


async def read(request: RouteRequest) -> AgentBody:
    """Return an agent."""
    return _agent_body(request, _request_agent(request))


async def replace(request: RouteRequest) -> AgentBody:
    """Replace all settings of an agent."""
    spec = _validated_spec(request)
    now_ms = request.gateway.now_ms()
    agent = _request_agent(request)
    replaced = await request.gateway.database.write(
        lambda conn: agents.replace(conn, request.owner, agent.id, spec, now_ms)
    )
    if replaced is None:
        raise NotFound()
    return _agent_body(request, replaced)


async def delete(request: RouteRequest) -> RouteResponse:
    """Delete an agent. The turns of sessions that used it are kept."""
    agent = _request_agent(request)
    if not await request.gateway.database.write(lambda conn: agents.delete(conn, request.owner, agent.id)):
        raise NotFound()
    return RouteResponse(status=204)


def _request_agent(request: RouteRequest) -> StoredAgent:
    assert request.grant.agent is not None
    return request.grant.agent


def _validated_spec(request: RouteRequest) -> AgentSpec:
    """Return the agent spec of a request body. Refuse one that could not be run."""
    body: NewAgent = request.body
    _check_thinking(body)
    preset(body.preset)  # raises UnknownPreset
    tools = tuple(tool.definition() for tool in body.tools)
    spec = AgentSpec(**(msgspec.structs.asdict(body) | {"tools": tools}))
    refuse_unknown_tools(request.gateway, spec.uses)
    options = Options(tools=spec.tools, catalog=request.gateway.catalog)
    prepare("", model=spec.model, thinking=thinking_setting(spec), options=options, have_key=lambda _: True)
    return spec


def _check_thinking(body: NewAgent) -> None:
    has_level_or_budget = body.level is not None or body.budget_tokens is not None
    if has_level_or_budget and not body.thinking:
        raise Refused(
            "Thinking is off for {name}, so a level or a budget has no effect. Leave them out, or "
            "set thinking to true.",
            name=repr(body.name),
        )
    if body.level is not None and body.budget_tokens is not None:
        raise Refused(
            "{name} has both a thinking level and a token budget. Set only one of them.", name=repr(body.name)
        )
    if body.level is ThinkingLevel.OFF:
        raise Refused(
            "Thinking is on for {name}, but its level is off. Set thinking to false instead.",
            name=repr(body.name),
        )


def _gateway_agents(request: RouteRequest) -> tuple[GatewayAgent, ...]:
    return tuple(
        GatewayAgent(
            id=name,
            name=row.name or name.capitalize(),
            description=row.description,
            model=row.model,
            uses=row.tools,
            assistants=row.assistants,
        )
        for name, row in request.gateway.gateway_agents.agents.items()
    )


def _agent_body(request: RouteRequest, agent: StoredAgent) -> AgentBody:
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
        yours=agent.owner == request.owner,
        created_ms=agent.created_ms,
        updated_ms=agent.updated_ms,
    )
