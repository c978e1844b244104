"""Abandoned turns are ended when the next gateway starts."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Connection, func, insert, select, update
from tests.store.log_fixtures import (
    NOW_MS,
    TURN_REQUEST,
    append_all,
    entries,
    new_turn,
    temporary_database,
    turn_events,
)

from thinkaloud.canon import Entry
from thinkaloud.store import search, sessions, users
from thinkaloud.store import turns as turn_queries
from thinkaloud.store.finish import finished_from_entries, save_imported
from thinkaloud.store.log import EventLog
from thinkaloud.store.messages import messages_of
from thinkaloud.store.recovery import LEASE_MS, RecoveredTurns, recover, renew_leases
from thinkaloud.store.rows import Owner, SearchKind, Session, StoredMessage, TurnRow, TurnState
from thinkaloud.store.schema import log as log_rows
from thinkaloud.store.schema import sessions as session_rows
from thinkaloud.store.schema import turns
from thinkaloud.store.sqlite import SqliteDatabase
from thinkaloud.transcript import BlockStatus

LATER_MS = NOW_MS + 60_000
IMPORT_REQUEST = msgspec.structs.replace(TURN_REQUEST, imported=True)


async def abandoned_turn(database: SqliteDatabase, log_entries: list[Entry]) -> TurnRow:
    row = await new_turn(database)
    async with EventLog(database) as log:
        append_all(log.writer(row.key, row.epoch), log_entries)
    return row


async def stored_turn(database: SqliteDatabase, row: TurnRow) -> tuple[TurnRow, StoredMessage]:
    stored_row = await database.read(lambda conn: turn_queries.get(conn, Owner(1, 1), row.id))
    messages_by_turn = await database.read(lambda conn: messages_of(conn, [row.key]))
    assert stored_row is not None
    return stored_row, messages_by_turn[row.key][-1]


WHOLE = entries(turn_events("It is ", "51."))


@pytest.mark.parametrize("entry_count", range(len(WHOLE) + 1))
def test_recovery_ends_an_abandoned_turn_at_any_point_and_keeps_its_text(
    tmp_path: Path, entry_count: int
) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            row = await abandoned_turn(database, WHOLE[:entry_count])
        async with temporary_database(tmp_path) as database:
            assert await recover(database, now_ms=LATER_MS) == RecoveredTurns((row.id,))
            stored_row, message = await stored_turn(database, row)
            whole = entry_count == len(WHOLE)
            assert stored_row.state == (TurnState.DONE if whole else TurnState.INTERRUPTED)
            assert stored_row.epoch == row.epoch + 1
            assert message.content == "".join(["It is ", "51."][: max(0, entry_count - 5)])
            assert message.outcome is not None
            assert whole or message.outcome.cause == "interrupted"
            assert all(block.status is not BlockStatus.RUNNING for block in message.parts)
            assert await recover(database, now_ms=LATER_MS) == RecoveredTurns()

    asyncio.run(scenario())


def test_recovery_ends_an_unreadable_log_at_its_last_readable_entry(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            row = await abandoned_turn(database, WHOLE[:3])
            damage = insert(log_rows).values(turn=row.key, first_seq=3, last_seq=3, entries=b'{"seq":')
            await database.write(lambda conn: conn.execute(damage).rowcount)
            await recover(database, now_ms=LATER_MS)
            stored_row, message = await stored_turn(database, row)
            assert stored_row.state is TurnState.FAILED
            assert message.thinking == "51"
            assert message.outcome is not None
            assert "cannot be read" in message.outcome.message

    asyncio.run(scenario())


class SharedDatabase(SqliteDatabase):
    """An engine to which other processes may write."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, exclusive=False)


def test_recovery_respects_leases_of_other_writers(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            row, stale = await abandoned_turn(database, WHOLE[:3]), await abandoned_turn(database, WHOLE[:3])
            other = update(turns).where(turns.c.key == stale.key).values(writer="another")
            await database.write(lambda conn: conn.execute(other).rowcount)
            await database.write(lambda conn: renew_leases(conn, [row.key], LATER_MS))
            shared = SharedDatabase(database.path)
            assert await recover(shared, now_ms=LATER_MS + LEASE_MS) == RecoveredTurns((stale.id,))
            assert await recover(shared, now_ms=LATER_MS + LEASE_MS + 1) == RecoveredTurns((row.id,))
            shared.close()

    asyncio.run(scenario())


def test_import_is_visible_when_complete_and_deleted_when_not(tmp_path: Path) -> None:
    """An incomplete import is neither listed nor searchable, and is deleted at the next start."""
    me = Owner(1, 1)

    def begin(conn: Connection) -> Session:
        users.ensure_local(conn, NOW_MS)
        session = sessions.create(conn, me, now_ms=NOW_MS, title="Half")
        sessions.hide(conn, session)
        save_imported(conn, session, IMPORT_REQUEST, finished_from_entries(WHOLE), created_ms=NOW_MS)
        return session

    def seen(conn: Connection) -> tuple[int, int]:
        hits = search.find(conn, me, "17", kinds=frozenset(SearchKind), limit=5)
        return len(sessions.list_page(conn, me, limit=5).items), len(hits.items)

    async def scenario() -> None:
        async with temporary_database(tmp_path) as database:
            half, whole = await database.write(begin), await database.write(begin)
            assert await database.read(seen) == (0, 0)
            assert await database.read(lambda conn: sessions.get(conn, me, half.id)) is None
            await database.write(lambda conn: sessions.end_import(conn, whole, LATER_MS))
            assert await database.read(seen) == (1, 1)
        async with temporary_database(tmp_path) as database:
            await recover(database, now_ms=LATER_MS)
            assert await database.read(seen) == (1, 1)
            assert await database.write(sessions.drop_partial_imports) == 0
            count = select(func.count()).select_from(session_rows)
            rows = await database.read(lambda conn: conn.scalar(count))
            assert rows == 1

    asyncio.run(scenario())
