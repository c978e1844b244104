"""The branches of a session: each turn follows one other turn, and a replaced question starts a new branch.

The active branch ends with the newest turn. Nothing is deleted when a question is replaced.
"""

from collections.abc import Iterable

from sqlalchemy import CTE, ColumnElement, Connection, bindparam, literal, select

from thinkaloud.core.canon import Refused
from thinkaloud.gateway.store.engine.many_rows import padded
from thinkaloud.gateway.store.engine.prepared import PreparedStatement
from thinkaloud.gateway.store.rows import Session, TurnRow
from thinkaloud.gateway.store.schema import turns

_NEWEST_TURN = PreparedStatement(
    select(turns.c.key).where(turns.c.session == bindparam("of")).order_by(turns.c.position.desc()).limit(1)
)


def branch_before(leaf: ColumnElement[int]) -> CTE:
    """Return the keys of a turn and of all turns before it, as a table for queries."""
    start = select(turns.c.key, turns.c.parent).where(turns.c.key == leaf).cte("branch", recursive=True)
    earlier = turns.alias()
    return start.union_all(select(earlier.c.key, earlier.c.parent).where(earlier.c.key == start.c.parent))


def newest_turn(conn: Connection, session: Session) -> int | None:
    """Return the key of the newest turn, with which the active branch ends; None if there is no turn."""
    newest: int | None = _NEWEST_TURN.scalar(conn, {"of": session.key})
    return newest


def newest_leaf(conn: Connection, turn: TurnRow) -> int:
    """Return the key of the newest turn that follows this one, directly or not; its own if none does."""
    start = select(turns.c.key, turns.c.position).where(turns.c.key == turn.key).cte("later", recursive=True)
    next_turn = turns.alias()
    # The session is named for the index.
    followers = (next_turn.c.session == turn.session) & (next_turn.c.parent == start.c.key)
    later = start.union_all(select(next_turn.c.key, next_turn.c.position).where(followers))
    query = select(later.c.key).order_by(later.c.position.desc()).limit(1)
    leaf: int = conn.execute(query).scalar_one()
    return leaf


def in_branch(conn: Connection, turn: TurnRow, leaf: int) -> bool:
    """Return whether a turn is in the branch that ends with `leaf`."""
    branch = branch_before(literal(leaf))
    return conn.execute(select(branch.c.key).where(branch.c.key == turn.key)).first() is not None


def parent_of_next(
    conn: Connection, session: Session, *, replaces: str = "", follows: str = ""
) -> int | None:
    """Return the turn that a new one follows: the given one, the one before a replaced one, or the newest."""
    if replaces and follows:
        raise Refused("A turn either replaces another one or follows it. Send `replaces` or `follows`.")
    if not replaces and not follows:
        return newest_turn(conn, session)
    columns = select(turns.c.key, turns.c.parent)
    row = conn.execute(
        columns.where(turns.c.session == session.key, turns.c.id == (replaces or follows))
    ).one_or_none()
    if row is None:
        raise Refused(
            "The session has no turn {replaces}. GET /api/sessions/ID/messages lists its turns.",
            replaces=repr(replaces or follows),
        )
    followed: int | None = row.parent if replaces else row.key
    return followed


def versions_of(conn: Connection, session: Session, rows: Iterable[TurnRow]) -> dict[int, tuple[str, ...]]:
    """Return the ids of the versions of each turn by its key, the oldest first; for those with several."""
    parents = {row.parent for row in rows}
    of_parents: ColumnElement[bool] = turns.c.parent.in_(padded(parents - {None}))
    if None in parents:  # the first turns of the conversation; SQL compares no null
        of_parents = of_parents | turns.c.parent.is_(None)
    query = select(turns.c.key, turns.c.id, turns.c.parent)
    query = query.where(turns.c.session == session.key, of_parents).order_by(turns.c.position)
    siblings: dict[int | None, list[str]] = {}
    parent_of: dict[int, int | None] = {}
    for row in conn.execute(query):
        siblings.setdefault(row.parent, []).append(row.id)
        parent_of[row.key] = row.parent
    versions: dict[int, tuple[str, ...]] = {}
    for key, parent in parent_of.items():
        if len(siblings[parent]) > 1:
            versions[key] = tuple(siblings[parent])
    return versions
