"""Deletes a session in slices, so that a long one does not keep running turns from being saved.

The session is hidden first. If the process stops in between, the next start deletes the rest.

Deleted rows leave their words in the files of a database. So each deletion is noted, and `erase_deleted`
erases them, also after a restart.
"""

from functools import partial

from sqlalchemy import Connection, delete, func, select

from thinkaloud.gateway.store.engine.database import Database
from thinkaloud.gateway.store.engine.many_rows import padded
from thinkaloud.gateway.store.queries import sessions
from thinkaloud.gateway.store.queries.values import (
    DELETION_FACT,
    ERASES_FACT,
    forget_deletion,
    read_fact,
    store_fact,
)
from thinkaloud.gateway.store.rows import Owner, Session
from thinkaloud.gateway.store.schema import log, messages, turns
from thinkaloud.gateway.store.search import index as search_index
from thinkaloud.gateway.store.search.normalize import IndexEntry

TURNS_PER_WRITE = 50
ENTRIES_PER_WRITE = 128
BYTES_PER_WRITE = 64 * 1024
"""Of compressed logs, about 300,000 characters. Removing them from the index takes some 50 milliseconds."""


async def delete_session(database: Database, owner: Owner, session_id: str) -> bool:
    """Delete a session with all its turns. Refused while a turn runs; False if not found."""
    hide = partial(sessions.hide_for_deletion, owner=owner, session_id=session_id)
    session = await database.write(hide)
    if session is not None:
        await delete_hidden(database, session)
    return session is not None


async def delete_hidden(database: Database, session: Session) -> None:
    """Delete a hidden session."""
    while turn_keys := await database.read(partial(_some_turns, session=session)):
        entries = await database.read(partial(_index_entries, turn_keys=turn_keys))
        for start in range(0, len(entries), ENTRIES_PER_WRITE):
            removed = entries[start : start + ENTRIES_PER_WRITE]
            await database.write(partial(search_index.remove_entries, entries=removed))
        await database.write(partial(_delete_turns, turn_keys=turn_keys))
    await database.write(partial(sessions.drop_partial_imports, session=session))


async def erase_deleted(database: Database) -> bool:
    """Erase from the files what was deleted; False if a reader holds it up. Then try again."""
    mark = await database.read(partial(read_fact, name=DELETION_FACT))
    if mark is None:
        return True
    if not await database.erase_deleted(mark):
        return False
    await database.write(partial(forget_deletion, mark=mark))
    return True


async def erase_once(database: Database) -> bool:
    """Erase what earlier versions left of deletions, if no version did yet; False if a reader holds it up.

    It can take as long as a copy of the database, so call it before any turn runs.
    """
    if await database.read(partial(read_fact, name=ERASES_FACT)) is not None:
        return True
    if not await database.erase_deleted("", old=True):
        return False
    await database.write(partial(store_fact, name=ERASES_FACT, value="1"))
    return True


def _some_turns(conn: Connection, session: Session) -> list[int]:
    size = func.coalesce(func.sum(func.length(log.c.entries)), 0)
    query = select(turns.c.key, size).outerjoin(log).where(turns.c.session == session.key)
    keys: list[int] = []
    bytes_left = BYTES_PER_WRITE
    for key, size_bytes in conn.execute(query.group_by(turns.c.key).limit(TURNS_PER_WRITE)):
        bytes_left -= size_bytes
        if keys and bytes_left < 0:
            break
        keys.append(key)
    return keys


def _index_entries(conn: Connection, turn_keys: list[int]) -> list[IndexEntry]:
    """Return what the index holds of these turns. It is normalized here, in a reader thread."""
    message_keys = conn.scalars(select(messages.c.key).where(messages.c.turn.in_(padded(turn_keys)))).all()
    return search_index.index_entries(conn, message_keys)


def _delete_turns(conn: Connection, turn_keys: list[int]) -> None:
    conn.execute(delete(turns).where(turns.c.key.in_(padded(turn_keys))))
