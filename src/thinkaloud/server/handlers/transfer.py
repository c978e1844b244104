"""Handlers for export and import of sessions: text, markdown and JSON.

Text holds prompts and answers, and never thinking, because it is written from the `content` column, which
has none. Markdown and JSON can be imported again. An import is saved completely or not at all.
"""

import asyncio
import re
from collections.abc import Iterable
from functools import partial

import msgspec
from msgspec import UNSET, UnsetType
from sqlalchemy import Connection

from thinkaloud.canon import BlockStarted, Entry, Refused, UsageReported
from thinkaloud.export.markdown import ThinkingStyle, write_markdown
from thinkaloud.export.markdown_reader import read_markdown
from thinkaloud.export.record import Exchange, SessionRecord, read_json, write_json
from thinkaloud.server.endpoint import RouteRequest, RouteResponse
from thinkaloud.server.errors import BadRequest, PayloadTooLarge
from thinkaloud.server.handlers.sessions import agent_exists, request_session, session_body
from thinkaloud.server.preferences import PreferenceStore
from thinkaloud.server.prepare import turns_with_messages
from thinkaloud.server.schemas import ExportQuery, SessionBody
from thinkaloud.store import finish, sessions, turns
from thinkaloud.store.archive import decode_entries, log_lines
from thinkaloud.store.database import Query
from thinkaloud.store.delete import delete_hidden
from thinkaloud.store.rows import Role, Session, StoredMessage, TurnRow, TurnState
from thinkaloud.store.turns import TurnRequest
from thinkaloud.view import Words

MAX_TURNS = 2_000
"""Turns in one imported file. Saving this many takes half a minute."""
MAX_NUMBER = 2**53
"""The largest integer that every JSON reader keeps exactly. No valid time or count comes near it."""

_MEDIA_TYPES = {"text": "text/plain", "markdown": "text/markdown", "json": "application/json"}
_EXTENSIONS = {"text": "txt", "markdown": "md", "json": "json"}
_UNSAFE_IN_NAME = re.compile(r"[^A-Za-z0-9]+")
_MAX_NAME_CHARS = 60

_TurnMessages = list[tuple[TurnRow, list[StoredMessage]]]


async def export_session(request: RouteRequest) -> RouteResponse:
    """Export a session. A running turn is left out, and the header Thinkaloud-Left-Out says so."""
    query: ExportQuery = request.query
    session = request_session(request)
    turn_messages, content = await request.gateway.database.read_long(
        partial(_render, session=session, query=query, stored_preferences=request.gateway.preferences)
    )
    name = _UNSAFE_IN_NAME.sub("-", session.title)[:_MAX_NAME_CHARS].strip("-").lower() or "session"
    headers = [("Content-Disposition", f'attachment; filename="{name}.{_EXTENSIONS[query.format]}"')]
    if any(row.state is TurnState.RUNNING for row, _ in turn_messages):
        headers.append(("Thinkaloud-Left-Out", "running"))
    return RouteResponse(content=content, media_type=_MEDIA_TYPES[query.format], headers=tuple(headers))


async def import_session(request: RouteRequest) -> SessionBody:
    """Create a session from an exported markdown or JSON file."""
    async with request.gateway.import_slots:
        return await _import_record(request)


async def _import_record(request: RouteRequest) -> SessionBody:
    max_blocks = request.gateway.settings.limits.blocks_per_turn
    record = await asyncio.to_thread(
        _parse_record, request.headers.get("content-type", ""), request.raw_body, max_blocks
    )
    now_ms, database = request.gateway.now_ms(), request.gateway.database
    session = await database.write(partial(_start_import, request=request, record=record, now_ms=now_ms))
    try:
        saved: list[int] = []
        for exchange in record.exchanges:
            # One short write for each turn, so that running turns are saved in between.
            parent = _parent(exchange, saved)
            save = await asyncio.to_thread(_prepare_save, session, exchange, now_ms, parent)
            saved.append((await database.write(save)).key)
    except BaseException:
        await asyncio.shield(delete_hidden(database, session))
        raise
    return session_body(await database.write(partial(sessions.end_import, session=session, now_ms=now_ms)))


def _start_import(conn: Connection, request: RouteRequest, record: SessionRecord, now_ms: int) -> Session:
    """Create the session. An agent that this workspace lacks is left out."""
    agent = record.agent if agent_exists(conn, request, record.agent) else ""
    model = record.exchanges[-1].model if record.exchanges else ""
    session = sessions.create(
        conn,
        request.owner,
        now_ms=now_ms if record.created_ms is None else record.created_ms,
        title=record.title,
        agent=agent,
        model=model,
    )
    sessions.hide(conn, session)
    return session


def _parent(exchange: Exchange, saved: list[int]) -> int | UnsetType | None:
    """Return the turn that an exchange follows, by the keys of the turns saved before it."""
    if exchange.follows is UNSET:
        return UNSET
    return None if exchange.follows < 0 else saved[exchange.follows]


def _prepare_save(
    session: Session, exchange: Exchange, now_ms: int, parent: int | UnsetType | None
) -> Query[TurnRow]:
    """Return the write that saves an exchange. All work that needs no database is done here."""
    turn_request = TurnRequest(
        messages=exchange.asked,
        model=exchange.model,
        provider=exchange.provider,
        prefix=exchange.prefix,
        parent=parent,
        imported=True,
        normalized_texts=turns.normalized_texts(exchange.asked),
    )
    return partial(
        finish.save_imported,
        session=session,
        request=turn_request,
        finished=finish.finished_from_entries(list(exchange.entries)),
        created_ms=now_ms if exchange.created_ms is None else exchange.created_ms,
    )


def _render(
    conn: Connection, session: Session, query: ExportQuery, stored_preferences: PreferenceStore
) -> tuple[_TurnMessages, bytes]:
    turn_messages = turns_with_messages(conn, session)
    language = query.lang or stored_preferences.read(conn, session.owner).language
    match query.format:
        case "text":
            return turn_messages, _render_text(session, turn_messages, Words(language)).encode()
        case "markdown":
            record = _session_record(conn, session, [row for row, _ in turn_messages])
            return turn_messages, write_markdown(
                record, locale=language, thinking=ThinkingStyle(query.thinking)
            ).encode()
        case "json":
            all_turns = turns.of_all_branches(conn, session)
            return turn_messages, write_json(_session_record(conn, session, all_turns))


def _render_text(session: Session, turn_messages: _TurnMessages, words: Words) -> str:
    """Return prompts and answers as paragraphs, without tools and without thinking."""
    parts = [session.title] if session.title else []
    for row, messages in turn_messages:
        for message in messages:
            if message.role is not Role.TOOL and message.content:
                speaker = words.text("ai.session.you") if message.role is Role.USER else row.model
                parts.append(f"{speaker}:\n{message.content}")
    return "\n\n".join(parts) + "\n"


def _session_record(conn: Connection, session: Session, rows: Iterable[TurnRow]) -> SessionRecord:
    ended_rows = [row for row in rows if row.state is not TurnState.RUNNING]
    indexes = {row.key: index for index, row in enumerate(ended_rows)}
    exchanges = (
        Exchange(
            asked=turns.request_messages(conn, session.owner, row),
            entries=_known_entries(conn, row.key),
            model=row.model,
            provider=row.provider,
            prefix=row.prefix,
            created_ms=row.created_ms,
            follows=_followed_index(row, index, indexes),
        )
        for index, row in enumerate(ended_rows)
    )
    return SessionRecord(session.title, session.created_ms, tuple(exchanges), session.agent)


def _followed_index(row: TurnRow, index: int, indexes: dict[int, int]) -> int | UnsetType:
    followed = -1 if row.parent is None else indexes[row.parent]
    return UNSET if followed == index - 1 else followed


def _known_entries(conn: Connection, turn: int) -> tuple[Entry, ...]:
    """Return the entries of a turn, numbered anew if events of a newer version were left out."""
    entries = decode_entries(log_lines(conn, turn))
    return tuple(msgspec.structs.replace(entry, seq=seq) for seq, entry in enumerate(entries))


def _parse_record(content_type: str, raw_body: bytes, max_blocks: int) -> SessionRecord:
    try:
        as_json = content_type.partition(";")[0].strip().lower() == "application/json"
        record = read_json(raw_body) if as_json else read_markdown(raw_body.decode())
    except UnicodeDecodeError:
        raise BadRequest("The file is not UTF-8 text. Export it again, or convert it to UTF-8.") from None
    _check_record(record, max_blocks)
    return record


def _check_record(record: SessionRecord, max_blocks: int) -> None:
    if len(record.exchanges) > MAX_TURNS:
        raise PayloadTooLarge(f"The file has more than {MAX_TURNS:,} turns. Split it and import the parts.")
    _check_numbers(record.created_ms)
    for number, exchange in enumerate(record.exchanges, 1):
        if [entry.seq for entry in exchange.entries] != list(range(len(exchange.entries))):
            raise Refused(
                f"The entries of exchange {number} are not numbered 0, 1, 2 and so on. "
                "Export the session again."
            )
        _check_numbers(exchange.created_ms, *(entry.at_ms for entry in exchange.entries))
        if sum(isinstance(entry.event, BlockStarted) for entry in exchange.entries) > max_blocks:
            raise PayloadTooLarge(
                f"Exchange {number} has more than {max_blocks:,} blocks (limit blocks_per_turn). "
                "Split the file and import the parts."
            )
        for entry in exchange.entries:
            if isinstance(entry.event, UsageReported):
                _check_numbers(*msgspec.structs.astuple(entry.event.usage))


def _check_numbers(*numbers: int | None) -> None:
    for number in numbers:
        if number is not None and not 0 <= number <= MAX_NUMBER:
            raise Refused(
                f"The file has a time or a count of {number}, which is out of range. Correct it: "
                f"0 to {MAX_NUMBER} is allowed."
            )
