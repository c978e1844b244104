"""Saves a turn that has ended: a message with its parts, and the compressed log.

The parts hold the whole turn, so it can be rebuilt from them. `content` and `thinking` are separate columns,
so a reader of one never sees the other.
"""

from collections.abc import Iterable

import msgspec
from sqlalchemy import Connection, bindparam, insert, select, update

from thinkaloud.canon import Entry, Event, Finish, TurnEnded, TurnFailed
from thinkaloud.store import search, turns
from thinkaloud.store.archive import (
    LogChunk,
    compress_entries,
    compress_lines,
    decode_entries,
    encode_entry,
    log_lines,
    replace_log,
)
from thinkaloud.store.index_slices import SLICE_BLOCKS, SLICE_CHARS
from thinkaloud.store.messages import write_message
from thinkaloud.store.rows import Session, TurnRow, TurnState
from thinkaloud.store.schema import turns as turn_rows
from thinkaloud.store.schema import unindexed
from thinkaloud.store.search_normalize import normalize_texts
from thinkaloud.store.turns import TurnRequest
from thinkaloud.transcript import Turn, fold_entries, unfold

INTERRUPTED = "interrupted"
"""The failure code of a turn whose gateway stopped before the turn ended."""


_SELECT_STATE = select(turn_rows.c.state, turn_rows.c.session).where(turn_rows.c.key == bindparam("of"))
_UPDATE_END = update(turn_rows).where(turn_rows.c.key == bindparam("of"))


class FinishedTurn(msgspec.Struct, frozen=True):
    """A turn that has ended, ready to be saved."""

    turn: Turn
    state: TurnState
    chunks: tuple[LogChunk, ...]
    normalized_texts: dict[str, str]
    """Its texts as search indexes them. They are normalized before the write, which blocks other writers."""

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
    texts = (
        text for block in turn.blocks for text in (block.name, block.text, block.result, block.error) if text
    )
    return FinishedTurn(turn, state_of(end), tuple(compress_lines(lines)), normalize_texts(texts))


def save_finished(conn: Connection, key: int, finished: FinishedTurn) -> None:
    """Save a turn that has ended. A second call changes nothing. Call `index_rest` after the commit."""
    row = conn.execute(_SELECT_STATE, {"of": key}).one_or_none()
    if row is None or row.state != TurnState.RUNNING:
        return
    turn = finished.turn
    message = write_message(conn, key, turn)
    if finished.long:
        conn.execute(insert(unindexed), {"message": message, "after": -1})
    else:
        search.index_messages(conn, [message], finished.normalized_texts)
    replace_log(conn, key, finished.chunks)
    values = {"of": key, "state": finished.state, "ended_ms": turn.ended_ms, "lease_until_ms": None}
    conn.execute(_UPDATE_END, values)


def save_imported(
    conn: Connection, session: Session, request: TurnRequest, finished: FinishedTurn, *, created_ms: int
) -> TurnRow:
    """Save an imported turn, which has ended already."""
    started = turns.start_turn(
        conn, session, request, now_ms=created_ms, writer="", lease_until_ms=created_ms
    )
    save_finished(conn, started.turn.key, finished)
    return started.turn


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
