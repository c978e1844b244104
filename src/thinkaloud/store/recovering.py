"""Turns that were left behind: their writer is gone, and somebody has to say so.

What they said is kept. One that had come to its end is folded as if nothing had happened, and one that waits
for a person may go on; every other ends here as interrupted, so that nobody waits for it.
"""

from collections.abc import Callable
from functools import partial

import msgspec
from sqlalchemy import Connection, or_, select, update

from thinkaloud.canon import Entry, OutOfOrder, TurnFailed
from thinkaloud.store.database import Database
from thinkaloud.store.folding import INTERRUPTED, Folded, fold_entries, keep
from thinkaloud.store.rows import Session, State, TurnRow
from thinkaloud.store.schema import turns
from thinkaloud.store.sessions import drop_imports
from thinkaloud.store.stored import stored_entries
from thinkaloud.store.turns import with_session
from thinkaloud.transcript import Turn, apply, stopped

MESSAGE = (
    "The gateway stopped before this turn was over. What was said until then is kept; ask again to go on."
)


LEASE_MS = 30_000
"""A writer that has not renewed its lease for so long is gone."""


def renew(conn: Connection, writer: str, now_ms: int) -> None:
    """Say that a writer still lives, for all turns it writes."""
    mine = (turns.c.writer == writer, turns.c.state == State.RUNNING)
    conn.execute(update(turns).where(*mine).values(lease_until_ms=now_ms + LEASE_MS))


class Left(msgspec.Struct, frozen=True):
    """The turns that were left behind, by their ids: those that are over now, and those that can go on."""

    ended: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()


async def recover(
    database: Database, *, now_ms: int, waits: Callable[[Turn], bool] = lambda _: False
) -> Left:
    """Bring every turn that was left behind to an end, but those that wait. Halves of imports go, too."""
    if database.exclusive:
        await database.write(drop_imports)
    left = await database.write(lambda conn: _claim(conn, now_ms, everything=database.exclusive))
    ended, waiting = [], []
    for key, name in left:
        folded = await database.read(partial(_ended, key=key, now_ms=now_ms, waits=waits))
        if folded is None:
            waiting.append(name)
        else:
            await database.write(partial(keep, key=key, folded=folded))
            ended.append(name)
    return Left(tuple(ended), tuple(waiting))


def _claim(conn: Connection, now_ms: int, *, everything: bool) -> list[tuple[int, str]]:
    """Raise the epoch of turns without a writer: if one still lives somewhere, it can add nothing more."""
    expired = or_(turns.c.lease_until_ms.is_(None), turns.c.lease_until_ms < now_ms)
    left = select(turns.c.key, turns.c.id).where(turns.c.state == State.RUNNING)
    found = conn.execute(left if everything else left.where(expired)).all()
    keys = [row.key for row in found]
    conn.execute(update(turns).where(turns.c.key.in_(keys)).values(epoch=turns.c.epoch + 1))
    return [(row.key, row.id) for row in found]


async def give_up(database: Database, key: int, *, now_ms: int, why: str) -> None:
    """End a turn that waits and can never go on."""
    folded = await database.read(partial(_ended, key=key, now_ms=now_ms, why=why))
    if folded is not None:
        await database.write(partial(keep, key=key, folded=folded))


def take_over(conn: Connection, turn: str, writer: str, now_ms: int) -> tuple[TurnRow, Session] | None:
    """Become the writer of a turn that waits; None where it is gone."""
    mine = update(turns).where(turns.c.id == turn, turns.c.state == State.RUNNING)
    conn.execute(mine.values(writer=writer, lease_until_ms=now_ms + LEASE_MS))
    return with_session(conn, turn)


def _ended(
    conn: Connection,
    key: int,
    now_ms: int,
    waits: Callable[[Turn], bool] = lambda _: False,
    why: str = MESSAGE,
) -> Folded | None:
    entries, turn = [], Turn()
    try:
        for entry in stored_entries(conn, key):
            apply(turn, entry)
            entries.append(entry)
        if waits(turn):
            return None
        end = TurnFailed(INTERRUPTED, why)
    except (msgspec.MsgspecError, OutOfOrder) as error:
        end = TurnFailed("unreadable", f"The rest of this turn's log cannot be read: {error}")
    at_ms = max(now_ms, entries[-1].at_ms or 0) if entries else now_ms
    ends = stopped(turn, end)
    entries += [Entry(seq, event, at_ms) for seq, event in enumerate(ends, turn.seq + 1)]
    return fold_entries(entries)
