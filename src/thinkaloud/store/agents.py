"""Agents: seen and used by every member of their workspace, changed only by whoever made them.

An agent may call others of the same workspace. Those calls never lead back to where they began, and an agent
that another one calls cannot be deleted.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, exists, insert, select, update
from sqlalchemy import delete as delete_rows

from thinkaloud.canon import Refused
from thinkaloud.store import ids
from thinkaloud.store.pages import make_page, rows_to_fetch, sort_key_after
from thinkaloud.store.rows import AgentSpec, Owner, Page, StoredAgent
from thinkaloud.store.schema import agents, members, workspaces
from thinkaloud.store.texts import json_text, quoted, storable

MAX_AGENTS = 1_000
"""In one workspace; all of them are looked through when calls between them change."""
MAX_ASSISTANTS = 32
MAX_NAME_CHARACTERS = 64
MAX_SPEC_CHARACTERS = 1_000_000

_spec_decoder = msgspec.json.Decoder(AgentSpec)


class NotAgentOwner(Refused):
    """The agent can be seen and used, but somebody else made it."""


class _AgentCalls(msgspec.Struct):
    """As much of a spec as says who calls whom."""

    name: str
    assistants: tuple[str, ...] = ()


_calls_decoder = msgspec.json.Decoder(_AgentCalls)


def create(conn: Connection, owner: Owner, spec: AgentSpec, now_ms: int) -> StoredAgent:
    """A new agent of the owner's workspace."""
    agent_id = ids.new("agt")
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
    """An agent of the owner's workspace, whoever made it; None when there is none with that id."""
    if not ids.matches("agt", agent_id):
        return None
    row = conn.execute(select(agents).where(_visible_to(owner), agents.c.id == agent_id)).one_or_none()
    return None if row is None else _agent_from_row(row)


def with_assistants(conn: Connection, owner: Owner, agent_id: str) -> dict[str, AgentSpec]:
    """The specs of an agent and of all that it may call, by their ids; those that are there."""
    specs: dict[str, AgentSpec] = {}
    pending = [agent_id]
    while pending:
        current_id = pending.pop()
        if current_id not in specs and (agent := get(conn, owner, current_id)) is not None:
            specs[current_id] = agent.spec
            pending += agent.spec.assistants
    return specs


def list_page(conn: Connection, owner: Owner, *, limit: int, after: str = "") -> Page[StoredAgent]:
    """The agents of the owner's workspace, the oldest first."""
    query = select(agents).where(_visible_to(owner)).order_by(agents.c.key).limit(rows_to_fetch(limit))
    if sort_key := sort_key_after(after, 1):
        query = query.where(agents.c.key > sort_key[0])
    return make_page(conn.execute(query).all(), limit, _agent_from_row, lambda row: (row.key,))


def replace(
    conn: Connection, owner: Owner, agent_id: str, spec: AgentSpec, now_ms: int
) -> StoredAgent | None:
    """Set up an agent anew; None when there is none with that id."""
    if not _owned_or_refused(conn, owner, agent_id):
        return None
    values = {**_checked_values(conn, owner, agent_id, spec), "updated_ms": now_ms}
    statement = update(agents).where(_owned_by(owner), agents.c.id == agent_id)
    return _agent_from_row(conn.execute(statement.values(values).returning(agents)).one())


def delete(conn: Connection, owner: Owner, agent_id: str) -> bool:
    """Take an agent away; refused while another one calls it. False when there is none with that id."""
    if not _owned_or_refused(conn, owner, agent_id):
        return False
    _refuse_if_called(_call_graph(conn, owner), {agent_id})
    return conn.execute(delete_rows(agents).where(_owned_by(owner), agents.c.id == agent_id)).rowcount == 1


def refuse_if_others_need(conn: Connection, user: int) -> None:
    """Raise when agents of others call some that this user made: those cannot go with their maker."""
    for workspace in conn.scalars(select(agents.c.workspace).where(agents.c.user == user).distinct()).all():
        owner = Owner(user, workspace)
        own_ids = set(conn.scalars(select(agents.c.id).where(_owned_by(owner))))
        _refuse_if_called(_call_graph(conn, owner), own_ids)


def _checked_values(conn: Connection, owner: Owner, agent_id: str, spec: AgentSpec) -> dict[str, str]:
    """A spec as it is kept, once nothing speaks against it."""
    name, assistant_ids, graph = spec.name, spec.assistants, _call_graph(conn, owner)
    if not name.strip() or len(name) > MAX_NAME_CHARACTERS:
        raise Refused(f"An agent has a name of 1 to {MAX_NAME_CHARACTERS} characters, not {quoted(name)}.")
    if agent_id not in graph and len(graph) >= MAX_AGENTS:
        raise Refused(f"A workspace has at most {MAX_AGENTS} agents. Delete one that nobody needs.")
    if len(assistant_ids) > MAX_ASSISTANTS or len(set(assistant_ids)) < len(assistant_ids):
        raise Refused(f"{name} may have up to {MAX_ASSISTANTS} assistants, each of them listed once.")
    if missing := [assistant_id for assistant_id in assistant_ids if assistant_id not in graph]:
        raise Refused(f"{name} cannot call {quoted(missing[0])}: this workspace has no agent with that id.")
    if cycle := _find_cycle(graph | {agent_id: _AgentCalls(name, assistant_ids)}, agent_id):
        raise Refused(
            f"{name} would end up calling itself: {' → '.join(cycle)}. Take one of these calls out."
        )
    spec_json = json_text(spec, f"The agent {quoted(name)}")
    if len(spec_json) > MAX_SPEC_CHARACTERS:
        raise Refused(
            f"The settings of {name} have {len(spec_json)} characters; at most {MAX_SPEC_CHARACTERS} are kept. "
            "Shorten its system prompt or its tools."
        )
    return {"name": storable(name), "spec": spec_json}


def _call_graph(conn: Connection, owner: Owner) -> dict[str, _AgentCalls]:
    """Who calls whom in the owner's workspace; nobody else changes that until this transaction is over."""
    conn.execute(select(workspaces.c.key).where(workspaces.c.key == owner.workspace).with_for_update())
    rows = conn.execute(select(agents.c.id, agents.c.spec).where(agents.c.workspace == owner.workspace))
    return {row.id: _calls_decoder.decode(row.spec) for row in rows}


def _find_cycle(graph: Mapping[str, _AgentCalls], start: str) -> tuple[str, ...]:
    """The names on a way from an agent back to itself; empty when no call leads there."""
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
            raise Refused(f"{calls.name} ({agent_id}) calls {names}. Take that out of its assistants first.")


def _owned_or_refused(conn: Connection, owner: Owner, agent_id: str) -> bool:
    agent = get(conn, owner, agent_id)
    if agent is not None and agent.owner != owner:
        raise NotAgentOwner(
            f"Somebody else made {agent.spec.name}. Make an agent of your own with its settings."
        )
    return agent is not None


def _visible_to(owner: Owner) -> ColumnElement[bool]:
    member = exists().where(members.c.user == owner.user, members.c.workspace == owner.workspace)
    return (agents.c.workspace == owner.workspace) & member


def _owned_by(owner: Owner) -> ColumnElement[bool]:
    return (agents.c.workspace == owner.workspace) & (agents.c.user == owner.user)


def _agent_from_row(row: Row[Any]) -> StoredAgent:
    owner = Owner(row.user, row.workspace)
    return StoredAgent(row.key, row.id, owner, _spec_decoder.decode(row.spec), row.created_ms, row.updated_ms)
