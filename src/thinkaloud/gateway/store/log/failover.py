"""After a failover: compares running turns with a database that may lack its last commits.

An asynchronous replica that takes over lacks what it had not received. Without this comparison a gateway
would continue the log of a turn after a hole, or the log of another turn that got the same key.
"""

from collections.abc import Collection, Iterable

from sqlalchemy import Connection, select

from thinkaloud.gateway.store.engine.database import Batch
from thinkaloud.gateway.store.log.archive import last_seq
from thinkaloud.gateway.store.log.live_log import LiveLog
from thinkaloud.gateway.store.rows import TurnState
from thinkaloud.gateway.store.schema import turns


def stored_positions(conn: Connection, running: Collection[LiveLog]) -> dict[int, int]:
    """Return the number of the last stored entry of each of these turns that is still the same turn."""
    query = select(turns.c.key, turns.c.id, turns.c.epoch).where(
        turns.c.key.in_([live.turn for live in running]), turns.c.state == TurnState.RUNNING
    )
    stored = {row.key: (row.id, row.epoch) for row in conn.execute(query)}
    return {
        live.turn: last_seq(conn, live.turn)
        for live in running
        if live.turn in stored and stored[live.turn] == (live.id or stored[live.turn][0], live.epoch)
    }


def missing_batches(running: Iterable[LiveLog], positions: dict[int, int]) -> tuple[list[Batch], set[int]]:
    """Return what was saved and has to be saved again, and the turns of which that is not in memory."""
    batches, lost = [], set()
    for live in running:
        position = positions.get(live.turn)
        if position is None or position + 1 < min(live.first_cached, live.saved + 1):
            lost.add(live.turn)
        elif position < live.saved:
            lines = live.span(position, saved=False).lines[: live.saved - position]
            batches.append(Batch(live.turn, live.epoch, position + 1, live.saved, b"\n".join(lines)))
    return batches, lost
