"""Turns that a gateway left behind are brought to an end when the next one starts."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, insert, select, update
from tests.store.keeping import ASKED, NOW_MS, a_turn, entries, kept, say, story

from thinkaloud.canon import Entry
from thinkaloud.store import people, search, sessions
from thinkaloud.store import turns as turn_queries
from thinkaloud.store.folding import keep_finished
from thinkaloud.store.log import EventLog
from thinkaloud.store.messages import messages_of
from thinkaloud.store.recovering import LEASE_MS, Left, recover, renew
from thinkaloud.store.rows import Message, Owner, SearchKind, Session, State, TurnRow
from thinkaloud.store.schema import log as log_rows
from thinkaloud.store.schema import sessions as session_rows
from thinkaloud.store.schema import turns
from thinkaloud.store.sqlite import Sqlite
from thinkaloud.transcript import Status

LATER_MS = NOW_MS + 60_000


async def left_behind(database: Sqlite, told: list[Entry]) -> TurnRow:
    row = await a_turn(database)
    async with EventLog(database) as log:
        say(log.writer(row.key, row.epoch), told)
    return row


async def now(database: Sqlite, row: TurnRow) -> tuple[TurnRow, Message]:
    found = await database.read(lambda conn: turn_queries.get(conn, Owner(1, 1), row.id))
    said = await database.read(lambda conn: messages_of(conn, [row.key]))
    assert found is not None
    return found, said[row.key][-1]


WHOLE = entries(story("It is ", "51."))


@pytest.mark.parametrize("said", range(len(WHOLE) + 1))
def test_wherever_it_stopped_the_turn_has_an_end_and_keeps_its_words(tmp_path: Path, said: int) -> None:
    async def told() -> None:
        async with kept(tmp_path) as database:
            row = await left_behind(database, WHOLE[:said])
        async with kept(tmp_path) as database:
            assert await recover(database, now_ms=LATER_MS) == Left((row.id,))
            found, message = await now(database, row)
            whole = said == len(WHOLE)
            assert found.state == (State.DONE if whole else State.INTERRUPTED)
            assert found.epoch == row.epoch + 1
            assert message.content == "".join(["It is ", "51."][: max(0, said - 5)])
            assert message.outcome is not None
            assert whole or message.outcome.cause == "interrupted"
            assert all(block.status is not Status.RUNNING for block in message.parts)
            assert await recover(database, now_ms=LATER_MS) == Left()

    asyncio.run(told())


def test_a_log_that_cannot_be_read_ends_where_it_can(tmp_path: Path) -> None:
    async def told() -> None:
        async with kept(tmp_path) as database:
            row = await left_behind(database, WHOLE[:3])
            damage = insert(log_rows).values(turn=row.key, first_seq=3, last_seq=3, entries=b'{"seq":')
            await database.write(lambda conn: conn.execute(damage).rowcount)
            await recover(database, now_ms=LATER_MS)
            found, message = await now(database, row)
            assert found.state is State.FAILED
            assert message.thinking == "51"
            assert message.outcome is not None
            assert "cannot be read" in message.outcome.message

    asyncio.run(told())


class Shared(Sqlite):
    """An engine on which others may be writing, too."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, exclusive=False)


def test_where_others_write_a_lease_is_respected(tmp_path: Path) -> None:
    async def told() -> None:
        async with kept(tmp_path) as database:
            row, stale = await left_behind(database, WHOLE[:3]), await left_behind(database, WHOLE[:3])
            other = update(turns).where(turns.c.key == stale.key).values(writer="another")
            await database.write(lambda conn: conn.execute(other).rowcount)
            await database.write(lambda conn: renew(conn, "w", LATER_MS))
            shared = Shared(database.path)
            assert await recover(shared, now_ms=LATER_MS + LEASE_MS) == Left((stale.id,))
            assert await recover(shared, now_ms=LATER_MS + LEASE_MS + 1) == Left((row.id,))
            shared.close()

    asyncio.run(told())


def test_an_import_is_seen_when_it_is_whole_and_gone_when_it_stayed_half(tmp_path: Path) -> None:
    """What was read in halfway is neither listed nor found, and the next start takes it away."""
    me = Owner(1, 1)

    def begin(conn: Connection) -> Session:
        people.ensure_local(conn, NOW_MS)
        session = sessions.create(conn, me, now_ms=NOW_MS, title="Half")
        sessions.begin_import(conn, session)
        keep_finished(conn, session, ASKED, WHOLE, created_ms=NOW_MS)
        return session

    def seen(conn: Connection) -> tuple[int, int]:
        hits = search.find(conn, me, "17", kinds=frozenset(SearchKind), limit=5)
        return len(sessions.listed(conn, me, limit=5).items), len(hits.items)

    async def told() -> None:
        async with kept(tmp_path) as database:
            half, whole = await database.write(begin), await database.write(begin)
            assert await database.read(seen) == (0, 0)
            assert await database.read(lambda conn: sessions.get(conn, me, half.id)) is None
            await database.write(lambda conn: sessions.end_import(conn, whole, LATER_MS))
            assert await database.read(seen) == (1, 1)
        async with kept(tmp_path) as database:
            await recover(database, now_ms=LATER_MS)
            assert await database.read(seen) == (1, 1)
            assert await database.write(sessions.drop_imports) == 0
            count = select(func.count()).select_from(session_rows)
            rows = await database.read(lambda conn: conn.scalar(count))
            assert rows == 1

    asyncio.run(told())
