"""The handler for imports: sessions of Thinkaloud, and conversations of other programs.

A conversation of another program has an id there and each of its turns has a key, so importing it again adds
only the turns that are new. A new session is hidden until it is complete.
"""

import asyncio
from functools import partial
from typing import BinaryIO

import msgspec
from msgspec import UNSET
from sqlalchemy import Connection

from thinkaloud.core.canon import Refused
from thinkaloud.core.export.record import Source
from thinkaloud.gateway.server.files.imports import (
    ImportedTurn,
    ImportEnd,
    ImportHeader,
    ImportLimits,
    next_part,
    read_import,
)
from thinkaloud.gateway.server.handlers.sessions import agent_exists, session_body
from thinkaloud.gateway.server.http.route import RouteRequest, RouteResponse
from thinkaloud.gateway.server.schemas.imports import (
    ImportBody,
    ImportedConversation,
    ImportQuery,
    UnreadPart,
)
from thinkaloud.gateway.server.schemas.sessions import SessionBody
from thinkaloud.gateway.store.engine.coordination import lock_until_commit
from thinkaloud.gateway.store.engine.database import Database
from thinkaloud.gateway.store.log import finish
from thinkaloud.gateway.store.log.finish import FinishedTurn
from thinkaloud.gateway.store.queries import sessions, turns
from thinkaloud.gateway.store.queries.delete import delete_hidden
from thinkaloud.gateway.store.queries.messages import answer_rows
from thinkaloud.gateway.store.queries.turns import NewTurnRow
from thinkaloud.gateway.store.rows import Session, SessionClient, TitleSource
from thinkaloud.gateway.store.search.index import index_rest
from thinkaloud.importers.files import MAX_TITLE_CHARACTERS


async def import_sessions(request: RouteRequest) -> RouteResponse:
    """Import a file. With `dry_run`, only tell what an import would add."""
    gateway, query = request.gateway, request.query
    assert isinstance(query, ImportQuery)
    gateway.refuse_new()
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    limits = gateway.settings.limits
    import_limits = ImportLimits(limits.blocks_per_turn, limits.unpacked_bytes, query.format)
    with gateway.imports.admit(request.owner.user) as place:
        async with place.lock:
            file = await place.run(read_import, media_type, request.raw_body, import_limits)
        with file:
            return await _Import(request, file).run()


class _Import:
    """Saves the output of `read_import`, with short writes so that running turns are saved in between."""

    def __init__(self, request: RouteRequest, file: BinaryIO) -> None:
        self._request = request
        self._database: Database = request.gateway.database
        self._dry_run: bool = request.query.dry_run
        self._file = file
        self._now_ms = request.gateway.now_ms()
        self._known: dict[str, int] = {}
        """The turns of the present session that were imported before: their keys in it and in the store."""
        self._saved: list[int] = []
        """The turns of the present conversation so far."""

    async def run(self) -> RouteResponse:
        """Save all conversations. The last one is the session of the response."""
        conversations: list[ImportedConversation] = []
        body: SessionBody | None = None
        while isinstance(part := await asyncio.to_thread(next_part, self._file), ImportHeader):
            body, conversation = await self._import_conversation(part)
            conversations.append(conversation)
        assert isinstance(part, ImportEnd)
        if body is None:
            raise Refused("The file holds no conversation, so nothing was imported.")
        unread = [UnreadPart(what=item.what, count=item.count, line=item.line) for item in part.unread]
        content = ImportBody(
            **msgspec.structs.asdict(body), format=part.format, conversations=conversations, unread=unread
        )
        added = any(conversation.turns_added or conversation.new for conversation in conversations)
        return RouteResponse(content=content, status=201 if added and not self._dry_run else 200)

    async def _import_conversation(self, header: ImportHeader) -> tuple[SessionBody, ImportedConversation]:
        client = _session_client(header.source)
        find = partial(sessions.of_conversation, owner=self._request.owner, client=client)
        session = await self._database.read(find)
        new = session is None
        if session is None and not self._dry_run:
            start = partial(
                _start_import, request=self._request, header=header, client=client, now_ms=self._now_ms
            )
            session, new = await self._database.write(start)
        self._known, self._saved = {}, []
        if session is not None and not new:
            self._known = await self._database.read(partial(turns.idempotency_keys, session=session))
        if session is None or self._dry_run:
            added = await self._count_new(header)
        elif new:
            session, added = await self._save_new(header, session)
        else:
            added = sum([await self._save_next(session, hidden=False) for _ in range(header.turns)])
        body = _planned_body(header, client, self._now_ms) if session is None else session_body(session)
        return body, ImportedConversation(
            session=body.id,
            title=body.title,
            new=new,
            turns=header.turns,
            turns_added=added,
            thoughts=header.thoughts,
            calls=header.calls,
        )

    async def _save_new(self, header: ImportHeader, session: Session) -> tuple[Session, int]:
        """Save all turns of a session that was just created, then show it. If one fails, delete it."""
        try:
            added = sum([await self._save_next(session, hidden=True) for _ in range(header.turns)])
            end = partial(sessions.end_import, session=session, now_ms=self._now_ms)
            return await self._database.write(end), added
        except BaseException:
            await asyncio.shield(delete_hidden(self._database, session))
            raise

    async def _next_turn(self) -> ImportedTurn:
        turn = await asyncio.to_thread(next_part, self._file)
        assert isinstance(turn, ImportedTurn)
        return turn

    async def _count_new(self, header: ImportHeader) -> int:
        keys = [(await self._next_turn()).key for _ in range(header.turns)]
        return sum(key not in self._known for key in keys)

    async def _save_next(self, session: Session, *, hidden: bool) -> int:
        """Save the next turn of the file; return 0 if the session has it already, else 1."""
        imported = await self._next_turn()
        if imported.key and imported.key in self._known:
            self._saved.append(self._known[imported.key])
            return 0
        request = NewTurnRow(
            messages=imported.asked,
            model=imported.model,
            provider=imported.provider,
            prefix=imported.prefix,
            imported=hidden,
            idempotency_key=imported.key,
            request_hash=imported.key.encode(),
            normalized_texts=imported.asked_texts,
            parent=self._parent(imported),
        )
        created_ms = self._now_ms if imported.created_ms is None else imported.created_ms
        finished = await asyncio.to_thread(_finished_turn, imported)
        save = partial(
            finish.save_imported, session=session, request=request, finished=finished, created_ms=created_ms
        )
        started = await self._database.write(save)
        self._saved.append(started.turn.key)
        if imported.key:
            self._known[imported.key] = started.turn.key
        await index_rest(self._database, started.turn.key, imported.texts)
        return int(started.new)

    def _parent(self, imported: ImportedTurn) -> int | None:
        """Return the turn that this one follows."""
        if imported.follows_key:
            if imported.follows_key not in self._known:
                raise Refused(
                    "An exchange follows {follows_key}, which was not imported. Import the file from "
                    "its beginning.",
                    follows_key=repr(imported.follows_key),
                )
            return self._known[imported.follows_key]
        if imported.follows is UNSET:
            return self._saved[-1] if self._saved else None
        return None if imported.follows < 0 else self._saved[imported.follows]


def _session_client(source: Source | None) -> SessionClient:
    """Return the client of an imported session. Its ids are kept apart from those of recorded sessions."""
    if source is None:
        return SessionClient()
    parent = f"imported {source.parent}" if source.parent else ""
    return SessionClient(source.client, f"imported {source.conversation}", parent)


def _start_import(
    conn: Connection, request: RouteRequest, header: ImportHeader, client: SessionClient, now_ms: int
) -> tuple[Session, bool]:
    """Create the session, and return True with it. An agent that this workspace lacks is left out.

    If another request has imported the conversation meanwhile, return its session, and False.
    """
    owner = request.owner
    lock_until_commit(conn, f"import {owner.user} {owner.workspace} {client.conversation}")
    if (imported := sessions.of_conversation(conn, owner, client, hidden=True)) is not None:
        if imported.whole:
            return imported, False
        raise Refused("This conversation is being imported by another request. Try again when it has ended.")
    created_ms = now_ms if header.created_ms is None else header.created_ms
    if header.source is not None:
        new = sessions.NewClientSession(model=header.model, client=client)
        session = sessions.create_for_client(conn, owner, new, created_ms)
        if header.title:
            title = header.title[:MAX_TITLE_CHARACTERS]
            session = sessions.rename(conn, owner, session.id, title, created_ms) or session
    else:
        session = sessions.create(
            conn,
            owner,
            now_ms=created_ms,
            title=header.title,
            agent=header.agent if agent_exists(conn, request, header.agent) else "",
            model=header.model,
        )
    sessions.hide(conn, session)
    return session, True


def _finished_turn(imported: ImportedTurn) -> FinishedTurn:
    """Return the turn as it is saved. Its rows are made here: no file may name columns."""
    rows = answer_rows(imported.turn)
    return FinishedTurn(imported.turn, imported.state, rows, imported.chunks, imported.texts)


def _planned_body(header: ImportHeader, client: SessionClient, now_ms: int) -> SessionBody:
    """Return the session that an import would create. It has no id yet."""
    return SessionBody(
        id="",
        title=header.title,
        titled_by=TitleSource.PERSON if header.title else TitleSource.NOBODY,
        agent=header.agent,
        model=header.model,
        created_ms=now_ms if header.created_ms is None else header.created_ms,
        updated_ms=now_ms,
        client=client.name,
        pinned=False,
    )
