"""Saves a turn that has ended: a message with its parts, and the compressed log.

The parts hold the whole turn, so it can be rebuilt from them. `content` and `thinking` are separate columns,
so a reader of one never sees the other.
"""

from collections.abc import Iterable, Sequence

import msgspec
from sqlalchemy import Connection, bindparam, insert, select, update

from thinkaloud.core.canon import Entry, Event, Finish, TurnEnded, TurnFailed
from thinkaloud.core.transcript import Turn, fold_entries, unfold
from thinkaloud.gateway.store.engine.coordination import wake_readers
from thinkaloud.gateway.store.engine.prepared import PreparedStatement
from thinkaloud.gateway.store.log.archive import (
    LogChunk,
    compress_entries,
    compress_lines,
    decode_entries,
    encode_entry,
    log_lines,
    replace_log,
)
from thinkaloud.gateway.store.queries import turns
from thinkaloud.gateway.store.queries.messages import AnswerRows, answer_rows, write_message
from thinkaloud.gateway.store.queries.turns import NewTurnRow, StartedTurn
from thinkaloud.gateway.store.rows import Owner, Session, TurnState
from thinkaloud.gateway.store.schema import sessions, unindexed
from thinkaloud.gateway.store.schema import turns as turn_rows
from thinkaloud.gateway.store.search import index as search_index
from thinkaloud.gateway.store.search.index import SLICE_BLOCKS, SLICE_CHARS
from thinkaloud.gateway.store.search.normalize import normalize_texts

INTERRUPTED = "interrupted"
"""The failure code of a turn whose gateway stopped before the turn ended."""


_LOCK_RUNNING = PreparedStatement(
    select(turn_rows.c.key, sessions.c.user, sessions.c.workspace)
    .join(sessions)
    .where(
        turn_rows.c.key == bindparam("of"),
        turn_rows.c.epoch == bindparam("written_in"),
        turn_rows.c.state == TurnState.RUNNING,
    )
    .with_for_update(of=turn_rows)
)
_FIND_SAVED = PreparedStatement(
    select(turn_rows.c.key).where(
        turn_rows.c.key == bindparam("of"),
        turn_rows.c.epoch == bindparam("written_in"),
        turn_rows.c.state == bindparam("end_state"),
    )
)
_UPDATE_END = PreparedStatement(
    update(turn_rows)
    .where(turn_rows.c.key == bindparam("of"))
    .values(state=bindparam("end_state"), ended_ms=bindparam("end_ms"))
)


class FinishedTurn(msgspec.Struct, frozen=True):
    """A turn that has ended, ready to be saved: everything is made before the write, which blocks others."""

    turn: Turn
    state: TurnState
    rows: AnswerRows
    chunks: tuple[LogChunk, ...]
    normalized_texts: dict[str, str]
    """Its texts as search indexes them."""

    @property
    def long(self) -> bool:
        """Whether `save_finished` leaves its texts to `index_rest`."""
        blocks = len(self.turn.blocks)
        return blocks > SLICE_BLOCKS or sum(map(len, self.normalized_texts)) > SLICE_CHARS


def finished_from_log(conn: Connection, key: int, turn: Turn | None = None) -> FinishedTurn:
    """Prepare a turn that has ended for saving: all the work except the write.

    `turn` is what the log folds to, where the caller has it. Lines go into the archive as they are.
    """
    lines = list(log_lines(conn, key))
    if turn is None:
        turn = fold_entries(decode_entries(lines))
    (last,) = decode_entries(lines[-1:])
    return finished_from_lines(turn, last.event, lines)


def finished_from_entries(entries: list[Entry]) -> FinishedTurn:
    """Prepare a turn with these entries for saving."""
    return finished_from_lines(fold_entries(entries), entries[-1].event, map(encode_entry, entries))


def finished_from_lines(turn: Turn, end: Event, lines: Iterable[bytes]) -> FinishedTurn:
    """Prepare a turn for saving that was folded from these lines and ended with this event."""
    texts: list[str] = []
    for block in turn.blocks:
        texts += filter(None, (block.name, block.text, block.result, block.error))
    chunks = tuple(compress_lines(lines))
    return FinishedTurn(turn, state_of(end), answer_rows(turn), chunks, normalize_texts(texts))


def save_finished(
    conn: Connection, key: int, finished: FinishedTurn, epoch: int, *, logged: bool = True
) -> bool:
    """Save a turn that has ended. Call `index_rest` after the commit.

    `logged` is false if nothing of its log is stored. False, and nothing is changed, if another writer has
    taken the turn over. One that this writer has saved already stays as it is: the acknowledgement of a
    commit may have been lost.
    """
    row = _LOCK_RUNNING.first(conn, {"of": key, "written_in": epoch})
    if row is None:
        saved = {"of": key, "written_in": epoch, "end_state": finished.state}
        return _FIND_SAVED.first(conn, saved) is not None
    message = write_message(conn, key, finished.rows)
    if finished.long:
        conn.execute(insert(unindexed), {"message": message, "after": -1})
    else:
        owner = Owner(row.user, row.workspace)
        search_index.index_answer(conn, owner, message, finished.turn.blocks, finished.normalized_texts)
    replace_log(conn, key, finished.chunks, stored=logged)
    _UPDATE_END.run(conn, {"of": key, "end_state": finished.state, "end_ms": finished.turn.ended_ms})
    wake_readers(conn, [key])
    return True


def save_lines(
    conn: Connection, key: int, turn: Turn, lines: Sequence[bytes], epoch: int, *, logged: bool
) -> FinishedTurn | None:
    """Save a short turn that was folded from these lines; None if another writer has taken it over."""
    (last,) = decode_entries(lines[-1:])
    finished = finished_from_lines(turn, last.event, lines)
    return finished if save_finished(conn, key, finished, epoch, logged=logged) else None


def save_imported(
    conn: Connection, session: Session, request: NewTurnRow, finished: FinishedTurn, *, created_ms: int
) -> StartedTurn:
    """Save an imported turn, which has ended already. A turn that the session has already is left alone."""
    started = turns.start_turn(conn, session, request, now_ms=created_ms, writer="")
    if started.new:
        save_finished(conn, started.turn.key, finished, started.turn.epoch)
    return started


def drop_timing(conn: Connection, before_ms: int, limit: int = 50) -> int:
    """Remove the timing from up to `limit` logs of turns that ended before this; return their number."""
    query = select(turn_rows.c.key).where(
        turn_rows.c.ended_ms < before_ms, turn_rows.c.timing_kept, turn_rows.c.state != TurnState.RUNNING
    )
    keys = conn.scalars(query.limit(limit)).all()
    for key in keys:
        lines = list(log_lines(conn, key))
        entries = list(decode_entries(lines))
        if len(entries) == len(lines):  # a log with events of a newer version stays as it is
            replace_log(conn, key, tuple(compress_entries(unfold(fold_entries(entries)))))
        conn.execute(update(turn_rows).where(turn_rows.c.key == key).values(timing_kept=False))
    return len(keys)


def state_of(end: Event) -> TurnState:
    """Return the state of a turn after its last event."""
    match end:
        case TurnFailed(code=code):
            return TurnState.INTERRUPTED if code == INTERRUPTED else TurnState.FAILED
        case TurnEnded(finish=Finish.CANCELLED):
            return TurnState.CANCELLED
    return TurnState.DONE
