"""The handler for exports of sessions: text, markdown and JSON.

Text holds prompts and answers, and never thinking, because it is written from the `content` column, which
has none.
"""

import re
from functools import partial
from typing import BinaryIO

from sqlalchemy import Connection

from thinkaloud.server.endpoint import RouteRequest, RouteResponse
from thinkaloud.server.handlers.sessions import request_session
from thinkaloud.server.schemas import ExportQuery
from thinkaloud.server.session_files import (
    StoredTurn,
    write_export,
)
from thinkaloud.store import turns
from thinkaloud.store.archive import packed_log
from thinkaloud.store.messages import contents_of
from thinkaloud.store.rows import Role, TurnRow, TurnState
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
            content = await gateway.processes.run(
                write_export, session, stored_turns, query, language, input_bytes=input_bytes * _UNPACKED
            )
    name = _UNSAFE_IN_NAME.sub("-", session.title)[:_MAX_NAME_CHARS].strip("-").lower() or "session"
    headers = [("Content-Disposition", f'attachment; filename="{name}.{_EXTENSIONS[query.format]}"')]
    if any(row.state is TurnState.RUNNING for row in rows):
        headers.append(("Thinkaloud-Left-Out", "running"))
    return RouteResponse(content=content, media_type=_MEDIA_TYPES[query.format], headers=tuple(headers))


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
