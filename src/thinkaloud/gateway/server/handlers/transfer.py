"""The handler for exports of sessions: text, markdown, JSON and traces.

Text holds prompts and answers, and never thinking, because it is written from the `content` column, which
has none.
"""

import asyncio
import io
import re
from functools import partial
from typing import Any, BinaryIO

import msgspec
from sqlalchemy import Connection

from thinkaloud.core.view import Words
from thinkaloud.gateway.server.files.exports import StoredTurn, write_export
from thinkaloud.gateway.server.files.process_pool import UserPlace
from thinkaloud.gateway.server.handlers.sessions import request_session
from thinkaloud.gateway.server.http.errors import Unprocessable
from thinkaloud.gateway.server.http.route import RouteRequest, RouteResponse
from thinkaloud.gateway.server.schemas.sessions import ExportQuery
from thinkaloud.gateway.store.log.archive import packed_log, unpacked_size
from thinkaloud.gateway.store.queries import turns
from thinkaloud.gateway.store.queries.messages import contents_of
from thinkaloud.gateway.store.rows import Role, TurnRow, TurnState

_MEDIA_TYPES = {"text": "text/plain", "markdown": "text/markdown", "json": "application/json"}
_MEDIA_TYPES["otlp"] = "application/jsonl"
_EXTENSIONS = {"text": "txt", "markdown": "md", "json": "json", "otlp": "otlp.jsonl"}
_ALL_BRANCHES = ("json", "otlp")
_UNSAFE_IN_NAME = re.compile(r"[^A-Za-z0-9]+")
_MAX_NAME_CHARS = 60
MAX_IN_THREAD_BYTES = 128 * 1024
"""A session that is longer, unpacked, is written by a process, which takes half a second to start."""


async def export_session(request: RouteRequest) -> RouteResponse:
    """Export a session. A running turn is left out, and the header Thinkaloud-Left-Out says so."""
    query: ExportQuery = request.query
    gateway, session = request.gateway, request_session(request)
    content: bytes | BinaryIO
    if query.format == "text":
        rows, content = await gateway.database.read_long(partial(_read_text, request=request))
    else:
        # Those who wait for a process have read nothing yet, so they hold no memory.
        with gateway.exports.admit(request.owner.user) as place:
            async with place.lock:
                rows, content = await _write_file(request, place)
    name = _UNSAFE_IN_NAME.sub("-", session.title)[:_MAX_NAME_CHARS].strip("-").lower() or "session"
    headers = [("Content-Disposition", f'attachment; filename="{name}.{_EXTENSIONS[query.format]}"')]
    if any(row.state is TurnState.RUNNING for row in rows):
        headers.append(("Thinkaloud-Left-Out", "running"))
    return RouteResponse(content=content, media_type=_MEDIA_TYPES[query.format], headers=tuple(headers))


async def _write_file(request: RouteRequest, place: UserPlace) -> tuple[tuple[TurnRow, ...], BinaryIO]:
    """Return the turns of the session and its file."""
    gateway, session = request.gateway, request_session(request)
    stored = await gateway.database.read_long(partial(_read_turns, request=request))
    arguments = (session, stored.turns, request.query, stored.language)
    with gateway.body_memory.reservation() as reservation:
        reservation.add(min(stored.packed_bytes, gateway.settings.limits.bodies_bytes))
        if stored.short:
            content: BinaryIO = io.BytesIO(await asyncio.to_thread(_joined_export, *arguments))
        else:
            content = await place.run(write_export, *arguments)
    return tuple(turn.row for turn in stored.turns), content


def _language(conn: Connection, request: RouteRequest) -> str:
    query: ExportQuery = request.query
    return query.lang or request.gateway.preferences.read(conn, request.owner).language


def _read_text(conn: Connection, request: RouteRequest) -> tuple[tuple[TurnRow, ...], bytes]:
    """Return the turns of the active branch, and their prompts and answers as paragraphs."""
    session = request_session(request)
    words = Words(_language(conn, request))
    rows = turns.of_branch(conn, session)
    parts = [session.title] if session.title else []
    for row in rows:
        for role, content in contents_of(conn, row.key):
            if role is not Role.TOOL and content:
                speaker = words.text("ai.session.you") if role is Role.USER else row.model
                parts.append(f"{speaker}:\n{content}")
    return rows, ("\n\n".join(parts) + "\n").encode()


def _joined_export(*arguments: Any) -> bytes:
    return b"".join(write_export(*arguments))


class _StoredSession(msgspec.Struct, frozen=True):
    """What an export is written from."""

    turns: tuple[StoredTurn, ...]
    language: str
    packed_bytes: int
    short: bool


def _read_turns(conn: Connection, request: RouteRequest) -> _StoredSession:
    """Read the turns to write, those of all branches for JSON and traces, and the language of labels."""
    session = request_session(request)
    query: ExportQuery = request.query
    read_rows = turns.of_all_branches if query.format in _ALL_BRANCHES else turns.of_branch
    rows = read_rows(conn, session)
    if query.turn and query.turn not in {row.id for row in rows}:
        raise Unprocessable(
            "The session has no turn {turn}. Use the id of one of its turns.", turn=query.turn
        )
    stored_turns = []
    packed_bytes = 0
    bytes_left = MAX_IN_THREAD_BYTES
    for row in rows:
        asked = turns.request_messages(conn, session.owner, row)
        log = packed_log(conn, row.key)
        stored_turns.append(StoredTurn(row, asked, log, request.grant.thinking_of(row)))
        packed_bytes += sum(len(entries) for _, entries in log)
        if bytes_left >= 0:
            bytes_left -= len(msgspec.json.encode(asked)) + unpacked_size(log, bytes_left)
    return _StoredSession(tuple(stored_turns), _language(conn, request), packed_bytes, bytes_left >= 0)
