"""Handlers for sessions (create, list, read, change, delete), their messages, and the search in them."""

from msgspec import UNSET
from msgspec.structs import asdict
from sqlalchemy import Connection

from thinkaloud.core.canon import Refused
from thinkaloud.core.transcript import Block
from thinkaloud.gateway.server.http.errors import Forbidden, NotFound
from thinkaloud.gateway.server.http.route import RouteRequest, RouteResponse
from thinkaloud.gateway.server.schemas import body_of
from thinkaloud.gateway.server.schemas.sessions import (
    SEARCH_SCOPES,
    BlockBody,
    HitPage,
    ListedSession,
    MessageBody,
    MessagePage,
    MessagesQuery,
    NewSession,
    PageQuery,
    SearchQuery,
    SessionBody,
    SessionChange,
    SessionPage,
    SessionsQuery,
    SessionWithTurns,
    TurnSummary,
)
from thinkaloud.gateway.server.streams.message_entries import hide_in_message, message_entries
from thinkaloud.gateway.server.turns.prepare import attached_to
from thinkaloud.gateway.store.queries import agents, sessions, turns
from thinkaloud.gateway.store.queries.branches import in_branch, newest_leaf, versions_of
from thinkaloud.gateway.store.queries.delete import delete_session
from thinkaloud.gateway.store.queries.messages import messages_of, sizes_of
from thinkaloud.gateway.store.queries.pages import encode_cursor
from thinkaloud.gateway.store.rows import Page, SearchKind, Session, StoredMessage, TurnRow
from thinkaloud.gateway.store.search.find import find_hits

PAGE_CHARS = 4 * 1024 * 1024
"""Of the answers on one page of messages. A longer page would take hundreds of megabytes to build."""


def session_body(session: Session) -> SessionBody:
    """Return the response body of a session."""
    return body_of(SessionBody, session)


def turn_summary(row: TurnRow, session_id: str) -> TurnSummary:
    """Return the summary of a turn."""
    return body_of(TurnSummary, row, session=session_id, events=f"/api/turns/{row.id}/events")


def request_session(request: RouteRequest) -> Session:
    """Return the session in the path of the request."""
    assert request.grant.session is not None
    return request.grant.session


async def create(request: RouteRequest) -> SessionBody:
    """Create a session."""
    request.gateway.refuse_new()
    body: NewSession = request.body
    now_ms = request.gateway.now_ms()

    def insert(conn: Connection) -> Session:
        _require_agent(conn, request, body.agent)
        return sessions.create(
            conn, request.owner, now_ms=now_ms, title=body.title.strip(), agent=body.agent, model=body.model
        )

    return session_body(await request.gateway.database.write(insert))


async def list_sessions(request: RouteRequest) -> SessionPage:
    """List the user's sessions."""
    query: SessionsQuery = request.query

    def read_page(conn: Connection) -> tuple[Page[Session], frozenset[int]]:
        page = sessions.list_page(
            conn, request.owner, limit=query.limit, after=query.after, pinned=query.pinned
        )
        return page, sessions.running_among(conn, (session.key for session in page.items))

    page, running = await request.gateway.database.read(read_page)
    items = (ListedSession(**asdict(session_body(one)), running=one.key in running) for one in page.items)
    return SessionPage(tuple(items), page.next)


async def read(request: RouteRequest) -> SessionWithTurns:
    """Return a session with a page of its turns."""
    query: PageQuery = request.query
    session = request_session(request)
    page = await request.gateway.database.read(
        lambda conn: turns.of_session(conn, session, limit=query.limit, after=query.after)
    )
    return SessionWithTurns(
        **asdict(session_body(session)),
        turns=tuple(turn_summary(row, session.id) for row in page.items),
        next=page.next,
    )


async def change(request: RouteRequest) -> SessionBody:
    """Change the title, pin, agent or model of a session."""
    body: SessionChange = request.body
    session, now_ms = request_session(request), request.gateway.now_ms()

    def write(conn: Connection) -> Session | None:
        changed: Session | None = session
        if body.title is not UNSET:
            changed = sessions.rename(conn, request.owner, session.id, body.title.strip(), now_ms)
        if body.pinned is not UNSET:
            changed = sessions.pin(conn, session, pinned=body.pinned)
        if body.agent is not UNSET:
            _require_agent(conn, request, body.agent)
            changed = sessions.update_defaults(conn, session, now_ms=now_ms, agent=body.agent)
        if body.model is not UNSET:
            changed = sessions.update_defaults(conn, session, now_ms=now_ms, model=body.model)
        return changed

    changed = await request.gateway.database.write(write)
    if changed is None:
        raise NotFound()
    return session_body(changed)


async def delete(request: RouteRequest) -> RouteResponse:
    """Delete a session and everything in it. Refused while a turn runs."""
    session = request_session(request)
    if not await delete_session(request.gateway.database, request.owner, session.id):
        raise NotFound()
    return RouteResponse(status=204)


async def list_messages(request: RouteRequest) -> MessagePage:
    """List the messages of a session. `limit` counts turns, and a page never splits a turn."""
    query: MessagesQuery = request.query
    session = request_session(request)

    def read_page(conn: Connection) -> MessagePage:
        page = _bounded_page(conn, _page_of_turns(conn, session, query), newest=query.order == "newest")
        messages_by_turn = messages_of(conn, [row.key for row in page.items])
        names = agent_names(conn, request, {row.agent for row in page.items})
        versions = versions_of(conn, session, page.items)
        items: list[MessageBody] = []
        for row in page.items:
            shown = request.grant.thinking_of(row)
            for message in messages_by_turn.get(row.key, ()):
                visible = hide_in_message(message, shown)
                body = message_body(
                    visible,
                    row,
                    names.get(row.agent, ""),
                    entries=query.entries,
                    versions=versions.get(row.key, ()),
                )
                items.append(body)
        return MessagePage(tuple(items), page.next)

    return await request.gateway.database.read(read_page)


def _bounded_page(conn: Connection, page: Page[TurnRow], *, newest: bool) -> Page[TurnRow]:
    """Return the first turns of a page, as many as fit into memory easily, but at least one."""
    sizes = sizes_of(conn, [row.key for row in page.items])
    rows = page.items[::-1] if newest else page.items
    chars = 0
    for count, row in enumerate(rows, 1):
        chars += sizes.get(row.key, 0)
        if chars > PAGE_CHARS and count < len(rows):
            kept = rows[:count]
            return Page(kept[::-1] if newest else kept, encode_cursor((row.position,)))
    return page


def _page_of_turns(conn: Connection, session: Session, query: MessagesQuery) -> Page[TurnRow]:
    first_turn = _turn_of_session(conn, session, query.turn)
    branch_turn = _turn_of_session(conn, session, query.branch) or first_turn
    leaf = None if branch_turn is None else newest_leaf(conn, branch_turn)
    begins = query.branch and not query.after
    if begins and first_turn is not None and leaf is not None and not in_branch(conn, first_turn, leaf):
        raise Refused(
            "The turn {turn} is not in the branch of {branch}. Leave `branch` out to list the branch "
            "of `turn`.",
            turn=repr(query.turn),
            branch=repr(query.branch),
        )
    limit = query.limit
    after = query.after
    if query.order == "newest":
        return turns.page_before(conn, session, limit=limit, after=after, first=first_turn, leaf=leaf)
    if first_turn is not None and not after:
        return turns.page_from(conn, session, first_turn, limit=limit, leaf=leaf)
    return turns.of_session(conn, session, limit=limit, after=after, leaf=leaf)


def _turn_of_session(conn: Connection, session: Session, turn_id: str) -> TurnRow | None:
    """Return a turn of the session by its id; None if the id is empty."""
    if not turn_id:
        return None
    turn = turns.get(conn, session.owner, turn_id)
    if turn is None or turn.session != session.key:
        raise NotFound()
    return turn


def agent_names(conn: Connection, request: RouteRequest, agent_ids: set[str]) -> dict[str, str]:
    """Return the present names of agents by id. Deleted agents are left out."""
    gateway_agents = request.gateway.gateway_agents.agents
    names = {
        agent_id: gateway_agents[agent_id].name or agent_id.capitalize()
        for agent_id in agent_ids & gateway_agents.keys()
    }
    for agent_id in agent_ids - gateway_agents.keys():
        if (agent := agents.get(conn, request.owner, agent_id)) is not None:
            names[agent_id] = agent.spec.name
    return names


def message_body(
    message: StoredMessage,
    row: TurnRow,
    agent_name: str,
    *,
    entries: bool = False,
    versions: tuple[str, ...] = (),
) -> MessageBody:
    """Return the response body of a message, with thinking in a separate field (R053)."""
    images, files = attached_to(message)
    return body_of(
        MessageBody,
        message,
        turn=row.id,
        state=row.state,
        versions=versions,
        agent=row.agent,
        agent_name=agent_name,
        provider=row.provider,
        images=images,
        files=files,
        parts=() if entries else tuple(map(_block_body, message.parts)),
        entries=message_entries(message) if entries else (),
    )


def _block_body(block: Block) -> BlockBody:
    return body_of(BlockBody, block, sealed=tuple(seal.form for seal in block.seals))


def agent_exists(conn: Connection, request: RouteRequest, agent_id: str) -> bool:
    """Return whether the gateway or the workspace has an agent."""
    gateway_agents = request.gateway.gateway_agents.agents
    return agent_id in gateway_agents or agents.get(conn, request.owner, agent_id) is not None


def _require_agent(conn: Connection, request: RouteRequest, agent_id: str) -> None:
    if agent_id and not agent_exists(conn, request, agent_id):
        raise Refused(
            "No agent {agent_id} in this workspace. GET /api/agents lists the available agents.",
            agent_id=repr(agent_id),
        )


async def search_sessions(request: RouteRequest) -> HitPage:
    """Search the user's sessions, the newest hits first."""
    query: SearchQuery = request.query
    kinds = frozenset(SEARCH_SCOPES[word] for word in query.scope.split(","))
    if SearchKind.THOUGHT in kinds and request.grant.hides_thinking:
        # Also if only the thoughts of some agents are hidden: the number of hits would tell their words.
        raise Forbidden(
            "The operator of this gateway does not show you all thinking, so you cannot search thoughts. "
            "Leave `thoughts` out of the scope."
        )
    page = await request.gateway.database.read(
        lambda conn: find_hits(
            conn, request.owner, query.q, kinds=kinds, limit=query.limit, after=query.after
        )
    )
    return HitPage(page.items, page.next)
