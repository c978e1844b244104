"""The gateways that share a database. Each is alive until its lease ends, by the clock of the database.

The clocks of the gateways are not compared with each other, so one that is wrong changes nothing.
"""

from sqlalchemy import ColumnElement, Connection, delete, exists, insert, select, update

from thinkaloud.store.database_time import DatabaseNowMs
from thinkaloud.store.rows import TurnState
from thinkaloud.store.schema import nodes, turns

LEFT = 0
"""The lease of a gateway that has stopped in order: nobody needs to wait for it."""
_FORGOTTEN_AFTER_MS = 24 * 60 * 60 * 1000


def renew_lease(conn: Connection, node: str, name: str, lease_ms: int) -> None:
    """Say that a gateway is alive. The first call registers it."""
    lease = {"lease_until_ms": DatabaseNowMs() + lease_ms}
    if conn.execute(update(nodes).where(nodes.c.id == node).values(lease)).rowcount == 0:
        conn.execute(insert(nodes).values(id=node, name=name, started_ms=DatabaseNowMs(), **lease))


def leave(conn: Connection, node: str) -> None:
    """End the lease of a gateway that stops. What it left behind can be taken over at once."""
    conn.execute(update(nodes).where(nodes.c.id == node).values(lease_until_ms=LEFT))


def lost_turns(conn: Connection, node: str, running: dict[int, int]) -> list[int]:
    """Return which of these turns, with their epochs, have another writer now, or are deleted.

    One that has just been saved is not lost, though it does not run any more.
    """
    query = select(turns.c.key, turns.c.epoch).where(turns.c.key.in_(list(running)), turns.c.writer == node)
    own = {(key, epoch) for key, epoch in conn.execute(query)}
    return [key for key, epoch in running.items() if (key, epoch) not in own]


def is_gone(writer: ColumnElement[str], *, expired: bool) -> ColumnElement[bool]:
    """Return the condition that a gateway is not alive. With `expired`, one counts whose lease has ended."""
    alive = (nodes.c.lease_until_ms > DatabaseNowMs()) if expired else (nodes.c.lease_until_ms != LEFT)
    return ~exists().where(nodes.c.id == writer, alive)


def lock_node(conn: Connection, node: str) -> bool:
    """Lock the row of a gateway until the end of the transaction.

    False if another gateway takes its turns over now, or it appends at this moment.
    """
    known = conn.scalar(select(nodes.c.id).where(nodes.c.id == node))
    query = select(nodes.c.id).where(nodes.c.id == node).with_for_update(skip_locked=True)
    return known is None or conn.scalar(query) is not None


def forget_old(conn: Connection) -> None:
    """Delete gateways that have been gone for a day and left nothing behind."""
    day_ago_ms = DatabaseNowMs() - _FORGOTTEN_AFTER_MS
    old = (nodes.c.lease_until_ms < day_ago_ms) & (nodes.c.started_ms < day_ago_ms)
    writes = exists().where(turns.c.writer == nodes.c.id, turns.c.state == TurnState.RUNNING)
    conn.execute(delete(nodes).where(old, ~writes))
