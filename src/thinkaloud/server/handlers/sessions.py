"""Sessions: made, listed, read, changed and deleted; and the messages in them."""

import msgspec
from msgspec import UNSET
from sqlalchemy import Connection

from thinkaloud.canon import Refused
from thinkaloud.server.bodies import (
    MessageBody,
    MessagePage,
    MessagesQuery,
    NewSession,
    PageQuery,
    Part,
    SessionBody,
    SessionChange,
    SessionPage,
    SessionWithTurns,
    TurnBrief,
)
from thinkaloud.server.message_entries import message_entries
from thinkaloud.server.preparing import images_of
from thinkaloud.server.refusals import NotFound
from thinkaloud.server.routing import Call, Reply
from thinkaloud.store import agents, sessions, turns
from thinkaloud.store.messages import messages_of
from thinkaloud.store.rows import Message, Page, Session, TurnRow
from thinkaloud.transcript import Block


def session_body(session: Session) -> SessionBody:
    """A session as it is told."""
    return SessionBody(
        id=session.id,
        title=session.title,
        titled_by=session.titled_by,
        agent=session.agent,
        model=session.model,
        created_ms=session.created_ms,
        updated_ms=session.updated_ms,
    )


def turn_brief(row: TurnRow, session_id: str) -> TurnBrief:
    """A turn in short."""
    return TurnBrief(
        id=row.id,
        session=session_id,
        state=row.state,
        agent=row.agent,
        model=row.model,
        provider=row.provider,
        created_ms=row.created_ms,
        ended_ms=row.ended_ms,
        events=f"/api/turns/{row.id}/events",
    )


def session_of(call: Call) -> Session:
    """The session that the path names."""
    assert call.granted.session is not None
    return call.granted.session


async def create(call: Call) -> SessionBody:
    """Make a session."""
    made: NewSession = call.body
    now_ms = call.gateway.now_ms()

    def change(conn: Connection) -> Session:
        _need_agent(conn, call, made.agent)
        return sessions.create(
            conn, call.owner, now_ms=now_ms, title=made.title.strip(), agent=made.agent, model=made.model
        )

    return session_body(await call.gateway.database.write(change))


async def listed(call: Call) -> SessionPage:
    """List one's sessions."""
    query: PageQuery = call.query
    page = await call.gateway.database.read(
        lambda conn: sessions.listed(conn, call.owner, limit=query.limit, after=query.after)
    )
    return SessionPage(tuple(map(session_body, page.items)), page.next)


async def read(call: Call) -> SessionWithTurns:
    """A session, with some of its turns."""
    query: PageQuery = call.query
    session = session_of(call)
    page = await call.gateway.database.read(
        lambda conn: turns.of_session(conn, session, limit=query.limit, after=query.after)
    )
    return SessionWithTurns(
        **msgspec.structs.asdict(session_body(session)),
        turns=tuple(turn_brief(row, session.id) for row in page.items),
        next=page.next,
    )


async def change(call: Call) -> SessionBody:
    """Rename a session, or name another agent or model for it."""
    wanted: SessionChange = call.body
    session, now_ms = session_of(call), call.gateway.now_ms()

    def write(conn: Connection) -> Session | None:
        changed: Session | None = session
        if wanted.title is not UNSET:
            changed = sessions.rename(conn, call.owner, session.id, wanted.title.strip(), now_ms)
        if wanted.agent is not UNSET:
            _need_agent(conn, call, wanted.agent)
            changed = sessions.change(conn, session, now_ms=now_ms, agent=wanted.agent)
        if wanted.model is not UNSET:
            changed = sessions.change(conn, session, now_ms=now_ms, model=wanted.model)
        return changed

    changed = await call.gateway.database.write(write)
    if changed is None:
        raise NotFound()
    return session_body(changed)


async def delete(call: Call) -> Reply:
    """Delete a session with everything in it; not while a turn runs."""
    session = session_of(call)
    if not await call.gateway.database.write(lambda conn: sessions.delete(conn, call.owner, session.id)):
        raise NotFound()
    return Reply(status=204)


async def messages(call: Call) -> MessagePage:
    """What was said in a session; a page holds the messages of so many turns."""
    query: MessagesQuery = call.query
    session = session_of(call)

    def read(conn: Connection) -> MessagePage:
        page = _turns(conn, session, query)
        told = messages_of(conn, [row.key for row in page.items])
        names = _agent_names(conn, call, {row.agent for row in page.items})
        items = (
            message_body(message, row, names.get(row.agent, ""), entries=query.entries)
            for row in page.items
            for message in told.get(row.key, ())
        )
        return MessagePage(tuple(items), page.next)

    return await call.gateway.database.read(read)


def _turns(conn: Connection, session: Session, query: MessagesQuery) -> Page[TurnRow]:
    begin = turns.get(conn, session.owner, query.turn) if query.turn else None
    if query.turn and (begin is None or begin.session != session.key):
        raise NotFound()
    if query.order == "newest":
        return turns.back_from(conn, session, limit=query.limit, after=query.after, begin=begin)
    if begin is not None and not query.after:
        return turns.onward_from(conn, session, begin, limit=query.limit)
    return turns.of_session(conn, session, limit=query.limit, after=query.after)


def _agent_names(conn: Connection, call: Call, wanted: set[str]) -> dict[str, str]:
    """What the agents of these ids are called; one that was deleted is not among them."""
    own = call.gateway.own_agents.agents
    names = {one: own[one].name or one.capitalize() for one in wanted & own.keys()}
    for one in wanted - own.keys():
        if (agent := agents.get(conn, call.owner, one)) is not None:
            names[one] = agent.spec.name
    return names


def message_body(message: Message, row: TurnRow, agent_name: str, *, entries: bool = False) -> MessageBody:
    """A message as it is told; what was thought is in a field of its own (R053)."""
    return MessageBody(
        turn=row.id,
        state=row.state,
        agent=row.agent,
        agent_name=agent_name,
        role=message.role,
        content=message.content,
        thinking=message.thinking,
        images=images_of(message),
        call_id=message.call_id,
        name=message.name,
        failed=message.failed,
        model=message.model,
        provider=row.provider,
        outcome=message.outcome,
        usage=message.usage,
        stamps=message.stamps,
        summary=message.summary,
        notices=message.notices,
        parts=() if entries else tuple(map(_part, message.parts)),
        entries=message_entries(message) if entries else (),
    )


def _part(block: Block) -> Part:
    return Part(
        number=block.number,
        kind=block.kind,
        text=block.text,
        name=block.name,
        call_id=block.call_id,
        assistant_id=block.assistant_id,
        parent=block.parent,
        provenance=block.provenance,
        status=block.status,
        sealed=tuple(seal.form for seal in block.seals),
        result=block.result,
        error=block.error,
        started_ms=block.started_ms,
        ended_ms=block.ended_ms,
        approval=block.approval,
        settled_by=block.settled_by,
    )


def _need_agent(conn: Connection, call: Call, agent_id: str) -> None:
    own = call.gateway.own_agents.agents
    if agent_id and agent_id not in own and agents.get(conn, call.owner, agent_id) is None:
        raise Refused(
            f"There is no agent {agent_id!r} in this workspace. GET /api/agents lists those there are."
        )
