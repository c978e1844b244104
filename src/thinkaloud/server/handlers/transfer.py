"""Sessions out and in as files: text for people, markdown that reads back, and the canonical JSON.

The text holds prompts and answers and never a thought: it is made from the column that holds none. What is
read in is kept whole or not at all.
"""

import asyncio
import re
from functools import partial

import msgspec
from sqlalchemy import Connection

from thinkaloud.canon import Refused, UsageReported
from thinkaloud.server.bodies import ExportQuery, SessionBody
from thinkaloud.server.handlers.sessions import session_body, session_of
from thinkaloud.server.preparing import told_turns
from thinkaloud.server.refusals import BadRequest, TooLarge
from thinkaloud.server.routing import Call, Reply
from thinkaloud.store import folding, preferences, sessions, turns
from thinkaloud.store.rows import Message, Owner, Role, Session, State, TurnRow
from thinkaloud.store.stored import stored_entries
from thinkaloud.store.turns import Asked
from thinkaloud.view import Words
from thinkaloud.view.session_from_markdown import read_markdown
from thinkaloud.view.session_json import read_json, write_json
from thinkaloud.view.session_markdown import Style, write_markdown
from thinkaloud.view.session_record import Exchange, SessionRecord

MOST_TURNS = 2_000
"""Of one file: it takes half a minute to keep them."""
_AT_ONCE = 10
"""So many are written in one transaction: live turns are saved in between."""
LARGEST_NUMBER = 2**53
"""Beyond it JSON itself does not keep a number exactly; no time and no count comes near."""

_MEDIA = {"text": "text/plain", "markdown": "text/markdown", "json": "application/json"}
_ENDINGS = {"text": "txt", "markdown": "md", "json": "json"}
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9]+")
_NAME_CHARACTERS = 60

_Told = list[tuple[TurnRow, list[Message]]]


async def export(call: Call) -> Reply:
    """A session as a file; a turn that runs is left out, and a header says so."""
    query: ExportQuery = call.query
    session = session_of(call)
    told, content = await call.gateway.database.read(partial(_written, session=session, query=query))
    name = _NOT_IN_A_NAME.sub("-", session.title)[:_NAME_CHARACTERS].strip("-").lower() or "session"
    headers = [("Content-Disposition", f'attachment; filename="{name}.{_ENDINGS[query.format]}"')]
    if any(row.state is State.RUNNING for row, _ in told):
        headers.append(("Thinkaloud-Left-Out", "running"))
    return Reply(content=content, media_type=_MEDIA[query.format], headers=tuple(headers))


async def import_(call: Call) -> SessionBody:
    """Make a session from a file of either kind."""
    record = await asyncio.to_thread(_read, call.headers.get("content-type", ""), call.raw)
    now_ms, database = call.gateway.now_ms(), call.gateway.database
    session = await database.write(partial(_begun, owner=call.owner, record=record, now_ms=now_ms))
    try:
        for first in range(0, len(record.exchanges), _AT_ONCE):
            some = record.exchanges[first : first + _AT_ONCE]
            await database.write(partial(_keep, session=session, exchanges=some, now_ms=now_ms))
    except BaseException:
        await asyncio.shield(database.write(partial(sessions.drop_imports, session=session)))
        raise
    return session_body(await database.write(partial(sessions.end_import, session=session, now_ms=now_ms)))


def _begun(conn: Connection, owner: Owner, record: SessionRecord, now_ms: int) -> Session:
    model = record.exchanges[-1].model if record.exchanges else ""
    began_ms = now_ms if record.created_ms is None else record.created_ms
    session = sessions.create(conn, owner, now_ms=began_ms, title=record.title, model=model)
    sessions.begin_import(conn, session)
    return session


def _keep(conn: Connection, session: Session, exchanges: tuple[Exchange, ...], now_ms: int) -> None:
    for one in exchanges:
        asked = Asked(messages=one.asked, model=one.model, provider=one.provider, prefix=one.prefix)
        created_ms = now_ms if one.created_ms is None else one.created_ms
        folding.keep_finished(conn, session, asked, one.entries, created_ms=created_ms)


def _written(conn: Connection, session: Session, query: ExportQuery) -> tuple[_Told, bytes]:
    told = told_turns(conn, session)
    language = query.lang or preferences.read(conn, session.owner).language
    match query.format:
        case "text":
            return told, _text(session, told, Words(language)).encode()
        case "markdown":
            record = _record(conn, session, told)
            return told, write_markdown(record, locale=language, thinking=Style(query.thinking)).encode()
        case "json":
            return told, write_json(_record(conn, session, told))


def _text(session: Session, told: _Told, words: Words) -> str:
    """Who said what, in paragraphs; nothing of tools, and nothing that was thought."""
    parts = [session.title] if session.title else []
    for row, messages in told:
        for message in messages:
            if message.role is not Role.TOOL and message.content:
                who = words.say("ai.session.you") if message.role is Role.USER else row.model
                parts.append(f"{who}:\n{message.content}")
    return "\n\n".join(parts) + "\n"


def _record(conn: Connection, session: Session, told: _Told) -> SessionRecord:
    exchanges = (
        Exchange(
            asked=turns.asked_of(conn, session.owner, row),
            entries=tuple(stored_entries(conn, row.key)),
            model=row.model,
            provider=row.provider,
            prefix=row.prefix,
            created_ms=row.created_ms,
        )
        for row, _ in told
        if row.state is not State.RUNNING
    )
    return SessionRecord(session.title, session.created_ms, tuple(exchanges))


def _read(content_type: str, raw: bytes) -> SessionRecord:
    try:
        json = content_type.partition(";")[0].strip().lower() == "application/json"
        record = read_json(raw) if json else read_markdown(raw.decode())
    except UnicodeDecodeError:
        raise BadRequest("The file is not UTF-8 text. Export it again, or convert it.") from None
    _check(record)
    return record


def _check(record: SessionRecord) -> None:
    if len(record.exchanges) > MOST_TURNS:
        raise TooLarge(f"The file has more than {MOST_TURNS:,} turns. Split it, and import the parts.")
    _check_numbers(record.created_ms)
    for number, exchange in enumerate(record.exchanges, 1):
        if [entry.seq for entry in exchange.entries] != list(range(len(exchange.entries))):
            raise Refused(f"The entries of exchange {number} are not numbered 0, 1, 2 and so on.")
        _check_numbers(exchange.created_ms, *(entry.at_ms for entry in exchange.entries))
        for entry in exchange.entries:
            if isinstance(entry.event, UsageReported):
                _check_numbers(*msgspec.structs.astuple(entry.event.usage))


def _check_numbers(*numbers: int | None) -> None:
    for number in numbers:
        if number is not None and not 0 <= number <= LARGEST_NUMBER:
            raise Refused(f"The file has a time or a count of {number}, which none can be. Correct it.")
