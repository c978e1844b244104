"""Shared helpers of the log tests: a database in a folder, and turns to write to."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy import Connection
from tests.store.engines import TEMPORARY

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.canon.requests import UserMessage
from thinkaloud.gateway.store.engine.database import Database
from thinkaloud.gateway.store.log.event_log import EventLog, LogWriter
from thinkaloud.gateway.store.queries import sessions, turns, users
from thinkaloud.gateway.store.queries.turns import NewTurnRow
from thinkaloud.gateway.store.rows import Owner, TurnRow

NOW_MS = 1_700_000_000_000
TURN_REQUEST = NewTurnRow(messages=(UserMessage("How much is 17 * 3?"),), model="demo")


@asynccontextmanager
async def temporary_database(folder: Path) -> AsyncIterator[Database]:
    """Open the database of a folder: SQLite, or the engine of the fixture `each_engine`."""
    async with TEMPORARY.open(folder) as database:
        yield database


async def new_turn(database: Database, request: NewTurnRow = TURN_REQUEST) -> TurnRow:
    """Start a turn in a new session."""

    def begin(conn: Connection) -> TurnRow:
        owner: Owner = users.ensure_local(conn, NOW_MS)
        session = sessions.create(conn, owner, now_ms=NOW_MS)
        return turns.start_turn(conn, session, request, now_ms=NOW_MS, writer="w").turn

    return await database.write(begin)


def entries(events: Iterable[Event], first: int = 0) -> list[Entry]:
    return [Entry(seq, event, NOW_MS + seq) for seq, event in enumerate(events, first)]


def turn_events(*texts: str, thought: str = "51") -> list[Event]:
    """Return the events of a turn with one thought and these pieces of text."""
    return [
        TurnStarted("openai_chat", "demo"),
        BlockStarted(0, Kind.REASONING),
        BlockGrew(0, thought),
        BlockEnded(0),
        BlockStarted(1, Kind.TEXT),
        *(BlockGrew(1, piece) for piece in texts),
        BlockEnded(1),
        TurnEnded(Finish.STOP),
    ]


def append_all(writer: LogWriter, new_entries: Iterable[Entry]) -> None:
    for entry in new_entries:
        writer.append(entry)


async def read_all(log: EventLog, turn: int, after: int = -1) -> list[bytes]:
    """Read a log to its end."""
    lines: list[bytes] = []
    while True:
        span = await log.read(turn, after)
        assert span.first == after + 1
        lines += span.lines
        after = span.last
        if span.ended:
            return lines
        await log.wait_for_change(turn, after)
