"""Queries for turns of compatible endpoints, found by the fingerprint of the history that they answered."""

from collections.abc import Iterable

from sqlalchemy import Connection, or_, select

from thinkaloud.gateway.store.engine.many_rows import padded
from thinkaloud.gateway.store.queries.sessions import visible_to
from thinkaloud.gateway.store.queries.turns import turn_from_row
from thinkaloud.gateway.store.rows import Owner, TurnRow, TurnState
from thinkaloud.gateway.store.schema import sessions, turns

MAX_CANDIDATES = 1000
"""The newest turns that are compared with one history. A client that asks the same more often starts anew."""


def find_answers(
    conn: Connection, owner: Owner, fingerprints: Iterable[bytes], turn_ids: Iterable[str]
) -> list[tuple[TurnRow, bytes]]:
    """Return this owner's ended turns with one of these fingerprints or ids, the newest first."""
    wanted = or_(turns.c.client_history.in_(padded(fingerprints)), turns.c.id.in_(padded(turn_ids)))
    query = (
        select(turns)
        .join(sessions)
        .where(visible_to(owner), wanted, turns.c.state != TurnState.RUNNING)
        .order_by(turns.c.key.desc())
        .limit(MAX_CANDIDATES)
    )
    return [(turn_from_row(row), row.client_history or b"") for row in conn.execute(query)]
