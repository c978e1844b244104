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
from thinkaloud.store.paging import bounded, page, place_after
from thinkaloud.store.rows import Agent, AgentSpec, Owner, Page
from thinkaloud.store.schema import agents, members, workspaces
from thinkaloud.store.texts import json_text, quoted, storable

MOST_AGENTS = 1_000
"""In one workspace; all of them are looked through when calls between them change."""
MOST_ASSISTANTS = 32
MOST_NAME_CHARACTERS = 64
MOST_SPEC_CHARACTERS = 1_000_000

_spec = msgspec.json.Decoder(AgentSpec)


class NotYours(Refused):
    """The agent can be seen and used, but somebody else made it."""


class _Calls(msgspec.Struct):
    """As much of a spec as says who calls whom."""

    name: str
    assistants: tuple[str, ...] = ()


_calls = msgspec.json.Decoder(_Calls)


def create(conn: Connection, owner: Owner, spec: AgentSpec, now_ms: int) -> Agent:
    """A new agent of the owner's workspace."""
    made_id = ids.new("agt")
    made = {
        "id": made_id,
        "user": owner.user,
        "workspace": owner.workspace,
        "created_ms": now_ms,
        **_checked(conn, owner, made_id, spec),
        "updated_ms": now_ms,
    }
    return _agent(conn.execute(insert(agents).values(made).returning(agents)).one())


def get(conn: Connection, owner: Owner, agent_id: str) -> Agent | None:
    """An agent of the owner's workspace, whoever made it; None when there is none with that id."""
    if not ids.fits("agt", agent_id):
        return None
    row = conn.execute(select(agents).where(_seen_by(owner), agents.c.id == agent_id)).one_or_none()
    return None if row is None else _agent(row)


def with_assistants(conn: Connection, owner: Owner, agent_id: str) -> dict[str, AgentSpec]:
    """The specs of an agent and of all that it may call, by their ids; those that are there."""
    found: dict[str, AgentSpec] = {}
    wanted = [agent_id]
    while wanted:
        one = wanted.pop()
        if one not in found and (agent := get(conn, owner, one)) is not None:
            found[one] = agent.spec
            wanted += agent.spec.assistants
    return found


def listed(conn: Connection, owner: Owner, *, limit: int, after: str = "") -> Page[Agent]:
    """The agents of the owner's workspace, the oldest first."""
    query = select(agents).where(_seen_by(owner)).order_by(agents.c.key).limit(bounded(limit))
    if place := place_after(after, 1):
        query = query.where(agents.c.key > place[0])
    return page(conn.execute(query).all(), limit, _agent, lambda row: (row.key,))


def replace(conn: Connection, owner: Owner, agent_id: str, spec: AgentSpec, now_ms: int) -> Agent | None:
    """Set up an agent anew; None when there is none with that id."""
    if not _changeable(conn, owner, agent_id):
        return None
    changed = {**_checked(conn, owner, agent_id, spec), "updated_ms": now_ms}
    mine = update(agents).where(_made_by(owner), agents.c.id == agent_id)
    return _agent(conn.execute(mine.values(changed).returning(agents)).one())


def delete(conn: Connection, owner: Owner, agent_id: str) -> bool:
    """Take an agent away; refused while another one calls it. False when there is none with that id."""
    if not _changeable(conn, owner, agent_id):
        return False
    _refuse_if_called(_graph(conn, owner), {agent_id})
    return conn.execute(delete_rows(agents).where(_made_by(owner), agents.c.id == agent_id)).rowcount == 1


def refuse_if_others_need(conn: Connection, user: int) -> None:
    """Raise when agents of others call some that this user made: those cannot go with their maker."""
    for workspace in conn.scalars(select(agents.c.workspace).where(agents.c.user == user).distinct()).all():
        owner = Owner(user, workspace)
        mine = set(conn.scalars(select(agents.c.id).where(_made_by(owner))))
        _refuse_if_called(_graph(conn, owner), mine)


def _checked(conn: Connection, owner: Owner, agent_id: str, spec: AgentSpec) -> dict[str, str]:
    """A spec as it is kept, once nothing speaks against it."""
    name, called, graph = spec.name, spec.assistants, _graph(conn, owner)
    if not name.strip() or len(name) > MOST_NAME_CHARACTERS:
        raise Refused(f"An agent has a name of 1 to {MOST_NAME_CHARACTERS} characters, not {quoted(name)}.")
    if agent_id not in graph and len(graph) >= MOST_AGENTS:
        raise Refused(f"A workspace has at most {MOST_AGENTS} agents. Delete one that nobody needs.")
    if len(called) > MOST_ASSISTANTS or len(set(called)) < len(called):
        raise Refused(f"{name} may have up to {MOST_ASSISTANTS} assistants, each of them listed once.")
    if missing := [one for one in called if one not in graph]:
        raise Refused(f"{name} cannot call {quoted(missing[0])}: this workspace has no agent with that id.")
    if way := _way_back(graph | {agent_id: _Calls(name, called)}, agent_id):
        raise Refused(f"{name} would end up calling itself: {' → '.join(way)}. Take one of these calls out.")
    kept = json_text(spec, f"The agent {quoted(name)}")
    if len(kept) > MOST_SPEC_CHARACTERS:
        raise Refused(
            f"The settings of {name} have {len(kept)} characters; at most {MOST_SPEC_CHARACTERS} are kept. "
            "Shorten its system prompt or its tools."
        )
    return {"name": storable(name), "spec": kept}


def _graph(conn: Connection, owner: Owner) -> dict[str, _Calls]:
    """Who calls whom in the owner's workspace; nobody else changes that until this transaction is over."""
    conn.execute(select(workspaces.c.key).where(workspaces.c.key == owner.workspace).with_for_update())
    rows = conn.execute(select(agents.c.id, agents.c.spec).where(agents.c.workspace == owner.workspace))
    return {row.id: _calls.decode(row.spec) for row in rows}


def _way_back(graph: Mapping[str, _Calls], start: str) -> tuple[str, ...]:
    """The names on a way from an agent back to itself; empty when no call leads there."""
    ways: list[tuple[str, ...]] = [(start,)]
    seen = set[str]()
    while ways:
        way = ways.pop()
        for called in graph[way[-1]].assistants:
            if called == start:
                return tuple(graph[one].name for one in (*way, start))
            if called not in seen:
                seen.add(called)
                ways.append((*way, called))
    return ()


def _refuse_if_called(graph: Mapping[str, _Calls], going: set[str]) -> None:
    for agent_id, calls in graph.items():
        needed = going.intersection(calls.assistants)
        if needed and agent_id not in going:
            names = ", ".join(sorted(graph[one].name for one in needed))
            raise Refused(f"{calls.name} ({agent_id}) calls {names}. Take that out of its assistants first.")


def _changeable(conn: Connection, owner: Owner, agent_id: str) -> bool:
    agent = get(conn, owner, agent_id)
    if agent is not None and agent.owner != owner:
        raise NotYours(f"Somebody else made {agent.spec.name}. Make an agent of your own with its settings.")
    return agent is not None


def _seen_by(owner: Owner) -> ColumnElement[bool]:
    member = exists().where(members.c.user == owner.user, members.c.workspace == owner.workspace)
    return (agents.c.workspace == owner.workspace) & member


def _made_by(owner: Owner) -> ColumnElement[bool]:
    return (agents.c.workspace == owner.workspace) & (agents.c.user == owner.user)


def _agent(row: Row[Any]) -> Agent:
    owner = Owner(row.user, row.workspace)
    return Agent(row.key, row.id, owner, _spec.decode(row.spec), row.created_ms, row.updated_ms)
