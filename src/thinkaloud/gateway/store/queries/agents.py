"""Queries for agents. All members of a workspace may use an agent; only its creator may change it.

An agent may call other agents of its workspace. Cycles of calls are refused, and an agent that another agent
calls cannot be deleted.
"""

from collections.abc import Mapping
from typing import Any, get_type_hints

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, exists, insert, select, update
from sqlalchemy import delete as delete_rows

from thinkaloud.core.canon import Refused, Wording
from thinkaloud.gateway.store.queries.pages import make_page, rows_to_fetch, sort_key_after
from thinkaloud.gateway.store.queries.values import (
    json_text,
    matches_id,
    new_id,
    note_deletion,
    quoted,
    storable,
)
from thinkaloud.gateway.store.rows import AgentSpec, Owner, Page, StoredAgent
from thinkaloud.gateway.store.schema import agents, members, workspaces

MAX_AGENTS = 1_000
"""Per workspace. Each change of an agent reads all of them to check for cycles."""
MAX_ASSISTANTS = 32
MAX_NAME_CHARACTERS = 64
MAX_SPEC_CHARACTERS = 1_000_000


def _unbounded_spec() -> type[msgspec.Struct]:
    """Return `AgentSpec` without bounds: a stored agent stays readable when a bound is narrowed."""
    hints = get_type_hints(AgentSpec)  # drops the annotations that hold the bounds
    fields: list[Any] = []
    for field in msgspec.structs.fields(AgentSpec):
        default = () if field.default is msgspec.NODEFAULT else (field.default,)
        fields.append((field.name, hints[field.name], *default))
    return msgspec.defstruct("StoredSpec", fields, kw_only=True)


_spec_decoder = msgspec.json.Decoder(_unbounded_spec())


class NotAgentOwner(Refused):
    """The agent is visible, but another user created it."""


class _AgentCalls(msgspec.Struct):
    """The part of a spec that says which agents it calls."""

    name: str
    assistants: tuple[str, ...] = ()


class _AgentPrompt(msgspec.Struct):
    """The part of a spec that says how it is instructed."""

    system: str = ""


_calls_decoder = msgspec.json.Decoder(_AgentCalls)
_prompt_decoder = msgspec.json.Decoder(_AgentPrompt)


def create(conn: Connection, owner: Owner, spec: AgentSpec, now_ms: int) -> StoredAgent:
    """Create an agent in the owner's workspace."""
    agent_id = new_id("agt")
    values = {
        "id": agent_id,
        "user": owner.user,
        "workspace": owner.workspace,
        "created_ms": now_ms,
        **_checked_values(conn, owner, agent_id, spec),
        "updated_ms": now_ms,
    }
    return _agent_from_row(conn.execute(insert(agents).values(values).returning(agents)).one())


def get(conn: Connection, owner: Owner, agent_id: str) -> StoredAgent | None:
    """Return an agent of the owner's workspace, also one that another member created; None if not found."""
    if not matches_id("agt", agent_id):
        return None
    row = conn.execute(select(agents).where(_visible_to(owner), agents.c.id == agent_id)).one_or_none()
    return None if row is None else _agent_from_row(row)


def exists_in_any_workspace(conn: Connection, agent_id: str) -> bool:
    """Return whether there is an agent with this id, whoever may use it."""
    return bool(conn.scalar(select(exists().where(agents.c.id == agent_id))))


def prompts_for(conn: Connection, user: int) -> dict[str, str]:
    """Return the system prompts of the agents in all workspaces of a user, by id."""
    member = exists().where(members.c.user == user, members.c.workspace == agents.c.workspace)
    rows = conn.execute(select(agents.c.id, agents.c.spec).where(member))
    return {row.id: _prompt_decoder.decode(row.spec).system for row in rows}


def with_assistants(conn: Connection, owner: Owner, agent_id: str) -> dict[str, AgentSpec]:
    """Return the specs of an agent and of all agents below it, by id. Ids that are not found are left out."""
    specs: dict[str, AgentSpec] = {}
    pending = [agent_id]
    while pending:
        current_id = pending.pop()
        if current_id not in specs and (agent := get(conn, owner, current_id)) is not None:
            specs[current_id] = agent.spec
            pending += agent.spec.assistants
    return specs


def list_page(conn: Connection, owner: Owner, *, limit: int, after: str = "") -> Page[StoredAgent]:
    """Return a page of the agents of the owner's workspace, the oldest first."""
    query = select(agents).where(_visible_to(owner)).order_by(agents.c.key).limit(rows_to_fetch(limit))
    if sort_key := sort_key_after(after, 1):
        query = query.where(agents.c.key > sort_key[0])
    return make_page(conn.execute(query).all(), limit, _agent_from_row, lambda row: (row.key,))


def replace(
    conn: Connection, owner: Owner, agent_id: str, spec: AgentSpec, now_ms: int
) -> StoredAgent | None:
    """Replace the spec of an agent; None if not found."""
    if not _owned_or_refused(conn, owner, agent_id):
        return None
    values = {**_checked_values(conn, owner, agent_id, spec), "updated_ms": now_ms}
    statement = update(agents).where(_owned_by(owner), agents.c.id == agent_id)
    return _agent_from_row(conn.execute(statement.values(values).returning(agents)).one())


def delete(conn: Connection, owner: Owner, agent_id: str) -> bool:
    """Delete an agent. Refused while another agent calls it; False if not found."""
    if not _owned_or_refused(conn, owner, agent_id):
        return False
    _refuse_if_called(_call_graph(conn, owner), {agent_id})
    note_deletion(conn)
    return conn.execute(delete_rows(agents).where(_owned_by(owner), agents.c.id == agent_id)).rowcount == 1


def refuse_if_others_need(conn: Connection, user: int) -> None:
    """Refuse to delete a user whose agents are called by agents of other users."""
    for workspace in conn.scalars(select(agents.c.workspace).where(agents.c.user == user).distinct()).all():
        owner = Owner(user, workspace)
        own_ids = set(conn.scalars(select(agents.c.id).where(_owned_by(owner))))
        _refuse_if_called(_call_graph(conn, owner), own_ids)


def _checked_values(conn: Connection, owner: Owner, agent_id: str, spec: AgentSpec) -> dict[str, str]:
    """Check a spec and return its column values."""
    name, assistant_ids, graph = spec.name, spec.assistants, _call_graph(conn, owner)
    if not name.strip() or len(name) > MAX_NAME_CHARACTERS:
        raise Refused(
            "An agent needs a name of 1 to {max_name_characters} characters, not {name}.",
            max_name_characters=MAX_NAME_CHARACTERS,
            name=quoted(name),
        )
    if agent_id not in graph and len(graph) >= MAX_AGENTS:
        raise Refused(
            "This workspace already has {max_agents} agents, the maximum. Delete one first.",
            max_agents=MAX_AGENTS,
        )
    if len(assistant_ids) > MAX_ASSISTANTS or len(set(assistant_ids)) < len(assistant_ids):
        raise Refused(
            "{name} may have up to {max_assistants} assistants, each listed once.",
            name=name,
            max_assistants=MAX_ASSISTANTS,
        )
    if missing := [assistant_id for assistant_id in assistant_ids if assistant_id not in graph]:
        raise Refused(
            "{name} cannot call {missing}: this workspace has no agent with that id.",
            name=name,
            missing=quoted(missing[0]),
        )
    if cycle := _find_cycle(graph | {agent_id: _AgentCalls(name, assistant_ids)}, agent_id):
        raise Refused(
            "{name} would end up calling itself: {cycle}. Remove one of these calls.",
            name=name,
            cycle=" → ".join(cycle),
        )
    spec_json = json_text(spec, Wording("The agent {name}", name=quoted(name)))
    if len(spec_json) > MAX_SPEC_CHARACTERS:
        raise Refused(
            "The settings of {name} have {count} characters; the maximum is {max_spec_characters}. "
            "Shorten its system prompt or its tools.",
            name=name,
            count=len(spec_json),
            max_spec_characters=MAX_SPEC_CHARACTERS,
        )
    return {"name": storable(name), "spec": spec_json}


def _call_graph(conn: Connection, owner: Owner) -> dict[str, _AgentCalls]:
    """Return all agents of the owner's workspace with their calls, by id.

    Locks the workspace: two changes at the same time could otherwise make a cycle that neither one sees.
    """
    conn.execute(select(workspaces.c.key).where(workspaces.c.key == owner.workspace).with_for_update())
    rows = conn.execute(select(agents.c.id, agents.c.spec).where(agents.c.workspace == owner.workspace))
    return {row.id: _calls_decoder.decode(row.spec) for row in rows}


def _find_cycle(graph: Mapping[str, _AgentCalls], start: str) -> tuple[str, ...]:
    """Return the names on a path of calls from an agent back to itself; empty if there is none."""
    paths: list[tuple[str, ...]] = [(start,)]
    seen = set[str]()
    while paths:
        path = paths.pop()
        for called in graph[path[-1]].assistants:
            if called == start:
                return tuple(graph[agent_id].name for agent_id in (*path, start))
            if called not in seen:
                seen.add(called)
                paths.append((*path, called))
    return ()


def _refuse_if_called(graph: Mapping[str, _AgentCalls], removed_ids: set[str]) -> None:
    for agent_id, calls in graph.items():
        needed = removed_ids.intersection(calls.assistants)
        if needed and agent_id not in removed_ids:
            names = ", ".join(sorted(graph[needed_id].name for needed_id in needed))
            raise Refused(
                "{name} ({agent_id}) calls {names}. Remove that from its assistants first.",
                name=calls.name,
                agent_id=agent_id,
                names=names,
            )


def _owned_or_refused(conn: Connection, owner: Owner, agent_id: str) -> bool:
    agent = get(conn, owner, agent_id)
    if agent is not None and agent.owner != owner:
        raise NotAgentOwner(
            "Another user created {name}, so you cannot change it. Create your own agent with its settings.",
            name=agent.spec.name,
        )
    return agent is not None


def _visible_to(owner: Owner) -> ColumnElement[bool]:
    member = exists().where(members.c.user == owner.user, members.c.workspace == owner.workspace)
    return (agents.c.workspace == owner.workspace) & member


def _owned_by(owner: Owner) -> ColumnElement[bool]:
    return (agents.c.workspace == owner.workspace) & (agents.c.user == owner.user)


def _agent_from_row(row: Row[Any]) -> StoredAgent:
    owner = Owner(row.user, row.workspace)
    spec = AgentSpec(**msgspec.structs.asdict(_spec_decoder.decode(row.spec)))
    return StoredAgent(row.key, row.id, owner, spec, row.created_ms, row.updated_ms)
