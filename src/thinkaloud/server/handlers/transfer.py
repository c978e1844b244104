"""Handlers for export and import of sessions: text, markdown and JSON.

Text holds prompts and answers, and never thinking, because it is written from the `content` column, which
has none. An import is saved completely or not at all.
"""

import asyncio
import pickle
import re
from functools import partial
from typing import BinaryIO

import msgspec
from msgspec import UNSET, UnsetType
from sqlalchemy import Connection

from thinkaloud.server.endpoint import RouteRequest, RouteResponse
from thinkaloud.server.handlers.sessions import agent_exists, request_session, session_body
from thinkaloud.server.schemas import ExportQuery, SessionBody
from thinkaloud.server.session_files import (
    ImportedTurn,
    ImportHeader,
    StoredTurn,
    read_import,
    write_export,
)
from thinkaloud.store import finish, sessions, turns
from thinkaloud.store.archive import packed_log
from thinkaloud.store.delete import delete_hidden
from thinkaloud.store.index_slices import index_rest
from thinkaloud.store.messages import contents_of
from thinkaloud.store.rows import Role, Session, TurnRow, TurnState
from thinkaloud.view import Words

_MEDIA_TYPES = {"text": "text/plain", "markdown": "text/markdown", "json": "application/json"}
_EXTENSIONS = {"text": "txt", "markdown": "md", "json": "json"}
_UNSAFE_IN_NAME = re.compile(r"[^A-Za-z0-9]+")
_MAX_NAME_CHARS = 60
_UNPACKED = 8
"""Entries take about this many times more space when they are unpacked."""


async def export_session(request: RouteRequest) -> RouteResponse:
    """Export a session. A running turn is left out, and the header Thinkaloud-Left-Out says so."""
    query: ExportQuery = request.query
    gateway, session = request.gateway, request_session(request)
    content: bytes | BinaryIO
    if query.format == "text":
        rows, content = await gateway.database.read_long(partial(_read_text, request=request))
    else:
        stored_turns, language = await gateway.database.read_long(partial(_read_turns, request=request))
        rows = tuple(turn.row for turn in stored_turns)
        input_bytes = sum(len(entries) for turn in stored_turns for _, entries in turn.log)
        with gateway.body_memory.reservation() as reservation:
            reservation.add(min(input_bytes, gateway.settings.limits.bodies_bytes))
            content = await gateway.workers.run(
                write_export, session, stored_turns, query, language, input_bytes=input_bytes * _UNPACKED
            )
    name = _UNSAFE_IN_NAME.sub("-", session.title)[:_MAX_NAME_CHARS].strip("-").lower() or "session"
    headers = [("Content-Disposition", f'attachment; filename="{name}.{_EXTENSIONS[query.format]}"')]
    if any(row.state is TurnState.RUNNING for row in rows):
        headers.append(("Thinkaloud-Left-Out", "running"))
    return RouteResponse(content=content, media_type=_MEDIA_TYPES[query.format], headers=tuple(headers))


async def import_session(request: RouteRequest) -> SessionBody:
    """Create a session from an exported markdown or JSON file."""
    gateway = request.gateway
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    async with gateway.import_slots:
        file = await gateway.workers.run(
            read_import,
            media_type,
            request.raw_body,
            gateway.settings.limits.blocks_per_turn,
            input_bytes=len(request.raw_body),
        )
        with file:
            return await _save_import(request, file)


async def _save_import(request: RouteRequest, file: BinaryIO) -> SessionBody:
    """Save the output of `read_import`, with short writes so that running turns are saved in between."""
    now_ms, database = request.gateway.now_ms(), request.gateway.database
    header: ImportHeader = pickle.load(file)
    session = await database.write(partial(_start_import, request=request, header=header, now_ms=now_ms))
    try:
        saved: list[int] = []
        for _ in range(header.turns):
            imported: ImportedTurn = await asyncio.to_thread(pickle.load, file)
            save = partial(_save_turn, session=session, imported=imported, now_ms=now_ms, saved=saved)
            saved.append((await database.write(save)).key)
            await index_rest(database, saved[-1], imported.finished.normalized_texts)
    except BaseException:
        await asyncio.shield(delete_hidden(database, session))
        raise
    return session_body(await database.write(partial(sessions.end_import, session=session, now_ms=now_ms)))


def _start_import(conn: Connection, request: RouteRequest, header: ImportHeader, now_ms: int) -> Session:
    """Create the session. An agent that this workspace lacks is left out."""
    session = sessions.create(
        conn,
        request.owner,
        now_ms=now_ms if header.created_ms is None else header.created_ms,
        title=header.title,
        agent=header.agent if agent_exists(conn, request, header.agent) else "",
        model=header.model,
    )
    sessions.hide(conn, session)
    return session


def _save_turn(
    conn: Connection, session: Session, imported: ImportedTurn, now_ms: int, saved: list[int]
) -> TurnRow:
    """Save a turn, after the turn that it follows: one of `saved`, the keys of the turns before it."""
    parent: int | UnsetType | None = UNSET
    if imported.follows is not UNSET:
        parent = None if imported.follows < 0 else saved[imported.follows]
    return finish.save_imported(
        conn,
        session,
        msgspec.structs.replace(imported.request, parent=parent),
        imported.finished,
        created_ms=now_ms if imported.created_ms is None else imported.created_ms,
    )


def _language(conn: Connection, request: RouteRequest) -> str:
    query: ExportQuery = request.query
    return query.lang or request.gateway.preferences.read(conn, request.owner).language


def _read_text(conn: Connection, request: RouteRequest) -> tuple[tuple[TurnRow, ...], bytes]:
    """Return the turns of the active branch, and their prompts and answers as paragraphs."""
    session, words = request_session(request), Words(_language(conn, request))
    rows = turns.of_branch(conn, session)
    parts = [session.title] if session.title else []
    for row in rows:
        for role, content in contents_of(conn, row.key):
            if role is not Role.TOOL and content:
                speaker = words.text("ai.session.you") if role is Role.USER else row.model
                parts.append(f"{speaker}:\n{content}")
    return rows, ("\n\n".join(parts) + "\n").encode()


def _read_turns(conn: Connection, request: RouteRequest) -> tuple[tuple[StoredTurn, ...], str]:
    """Return the turns to write, those of all branches for JSON, and the language of labels."""
    session, query = request_session(request), request.query
    rows = turns.of_all_branches(conn, session) if query.format == "json" else turns.of_branch(conn, session)
    stored_turns = tuple(
        StoredTurn(
            row,
            turns.request_messages(conn, session.owner, row),
            packed_log(conn, row.key),
            request.grant.thinking_of(row),
        )
        for row in rows
    )
    return stored_turns, _language(conn, request)
