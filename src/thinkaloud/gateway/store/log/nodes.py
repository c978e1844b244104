"""The gateways that share a database. Each is alive until its lease ends, by the clock of the database.

The clocks of the gateways are not compared with each other, so one that is wrong changes nothing.

A lease counts the time in which the database could be reached. While it is away nobody can renew anything:
when it is back, all gateways have the time to return before one of them is taken for dead. That somebody has
reached it is known from the rows of all gateways, also of dead ones.
"""

from collections.abc import Collection

from sqlalchemy import ColumnElement, Connection, delete, exists, insert, select, update

from thinkaloud.gateway.store.engine.coordination import DatabaseNowMs
from thinkaloud.gateway.store.engine.many_rows import padded
from thinkaloud.gateway.store.rows import TurnState
from thinkaloud.gateway.store.schema import nodes, turns

LEFT = 0
"""The lease of a gateway that has stopped in order: nobody needs to wait for it."""
RENEWALS_PER_LEASE = 3
_LONGEST_GAP = 1.5 / RENEWALS_PER_LEASE
"""Of a lease: between two renewals of a gateway that reaches the database."""
_FORGOTTEN_AFTER_MS = 24 * 60 * 60 * 1000


def renew_lease(conn: Connection, node: str, name: str, lease_ms: int) -> int:
    """Say that a gateway is alive, and return when that was. The first call registers it."""
    lease = {"lease_until_ms": DatabaseNowMs() + lease_ms}
    renewal = update(nodes).where(nodes.c.id == node).values(lease).returning(nodes.c.lease_until_ms)
    until_ms: int | None = conn.scalar(renewal)
    if until_ms is None:
        first = insert(nodes).values(id=node, name=name, started_ms=DatabaseNowMs(), **lease)
        until_ms = conn.execute(first.returning(nodes.c.lease_until_ms)).scalar_one()
    return until_ms - lease_ms


def leave(conn: Connection, node: str) -> None:
    """End the lease of a gateway that stops. What it left behind can be taken over at once."""
    conn.execute(update(nodes).where(nodes.c.id == node).values(lease_until_ms=LEFT))


def lost_turns(conn: Connection, node: str, running: dict[int, int]) -> list[int]:
    """Return which of these turns, with their epochs, have another writer now, or are deleted.

    One that has just been saved is not lost, though it does not run any more.
    """
    query = select(turns.c.key, turns.c.epoch).where(turns.c.key.in_(padded(running)), turns.c.writer == node)
    own = {(key, epoch) for key, epoch in conn.execute(query)}
    return [key for key, epoch in running.items() if (key, epoch) not in own]


def is_gone(writer: ColumnElement[str]) -> ColumnElement[bool]:
    """Return the condition that a gateway has left, or that its lease has ended."""
    return ~exists().where(nodes.c.id == writer, nodes.c.lease_until_ms > DatabaseNowMs())


def gone_nodes(
    conn: Connection, among: Collection[str], lease_ms: int, reached_ms: Collection[int]
) -> list[str]:
    """Return which of these gateways have left, or had the time of a whole lease to renew theirs and did not.

    `reached_ms` is when the caller has reached the database, by the clock of the database. One that has just
    started beside others need not wait. If none ran for more than half a lease, it cannot know whether the
    database was away, and waits for a whole lease after its start.

    All gateways have leases of one length: when one was renewed follows from its end.
    """
    now_ms = conn.execute(select(DatabaseNowMs())).scalar_one()
    rows = conn.execute(select(nodes.c.id, nodes.c.started_ms, nodes.c.lease_until_ms)).all()
    renewed_ms = {row.id: row.lease_until_ms - lease_ms for row in rows if row.lease_until_ms != LEFT}
    reached = {now_ms, *reached_ms, *renewed_ms.values(), *(row.started_ms for row in rows)}
    ordered_ms = sorted(at_ms for at_ms in reached if at_ms <= now_ms)

    def gone(node: str) -> bool:
        since_ms = renewed_ms.get(node)
        if since_ms is None:
            return True
        expired = since_ms + lease_ms <= now_ms
        return expired and _reachable_ms(ordered_ms, since_ms, int(lease_ms * _LONGEST_GAP)) >= lease_ms

    return [node for node in among if gone(node)]


def _reachable_ms(reached_ms: list[int], since_ms: int, longest_gap_ms: int) -> int:
    """Return for how long the database could be reached since then: the sum of the short gaps."""
    total_ms, last_ms = 0, since_ms
    for at_ms in reached_ms:
        if at_ms > last_ms:
            gap_ms = at_ms - last_ms
            if gap_ms <= longest_gap_ms:  # in a longer one nobody reached the database
                total_ms += gap_ms
            last_ms = at_ms
    return total_ms


def lock_node(conn: Connection, node: str) -> None:
    """Lock the row of a gateway until the end of the transaction.

    Whoever takes its turns over at this moment, or appends to them, is waited for: that takes milliseconds.
    """
    conn.execute(select(nodes.c.id).where(nodes.c.id == node).with_for_update())


def forget_old(conn: Connection) -> None:
    """Delete gateways that have been gone for a day and left nothing behind."""
    day_ago_ms = DatabaseNowMs() - _FORGOTTEN_AFTER_MS
    old = (nodes.c.lease_until_ms < day_ago_ms) & (nodes.c.started_ms < day_ago_ms)
    writes = exists().where(turns.c.writer == nodes.c.id, turns.c.state == TurnState.RUNNING)
    conn.execute(delete(nodes).where(old, ~writes))
