"""What stays of a turn when it is over: a message with its parts, and its log, compressed and replayable.

The parts are the turn itself, so that it can be had back from them; `content` and `thinking` are texts for
everybody who wants one of the two and must never see the other.
"""

from collections.abc import Iterable

import msgspec
from sqlalchemy import Connection, bindparam, select, update

from thinkaloud.canon import Entry, Event, Finish, TurnEnded, TurnFailed
from thinkaloud.store import search, sessions, turns
from thinkaloud.store.messages import write_message
from thinkaloud.store.rows import Session, State, TurnRow
from thinkaloud.store.schema import turns as turn_rows
from thinkaloud.store.search_folding import fold_text
from thinkaloud.store.stored import Packed, pack, replace_stored, stored_entries
from thinkaloud.store.turns import Asked
from thinkaloud.transcript import Turn, apply, unfold
from thinkaloud.view.texts import title_text

INTERRUPTED = "interrupted"
"""The code of a failure that is the gateway's own: it stopped before the turn was over."""


_STANDS = select(turn_rows.c.state, turn_rows.c.session).where(turn_rows.c.key == bindparam("of"))
_END = update(turn_rows).where(turn_rows.c.key == bindparam("of"))


class Folded(msgspec.Struct, frozen=True):
    """A turn that is over, ready to be kept."""

    turn: Turn
    state: State
    packed: tuple[Packed, ...]
    words: dict[str, str]
    """Its texts as search has them: folding takes long, and nobody may write meanwhile."""


def fold_stored(conn: Connection, turn: int) -> Folded:
    """What the log of a turn that is over comes to; the work of it, apart from the writing."""
    return fold_entries(list(stored_entries(conn, turn)))


def fold_entries(entries: list[Entry]) -> Folded:
    """What these entries come to."""
    turn = Turn()
    for entry in entries:
        apply(turn, entry)
    said = (text for block in turn.blocks for text in (block.text, block.result, block.error) if text)
    words = {text: fold_text(text) for text in said}
    return Folded(turn, state_of(entries[-1].event), tuple(pack(entries)), words)


def keep(conn: Connection, key: int, folded: Folded) -> None:
    """Write what stays of a turn. Done twice, it changes nothing the second time."""
    found = conn.execute(_STANDS, {"of": key}).one_or_none()
    if found is None or found.state != State.RUNNING:
        return
    turn = folded.turn
    search.index(conn, [write_message(conn, key, turn)], folded.words)
    replace_stored(conn, key, folded.packed)
    ended = {"of": key, "state": folded.state, "ended_ms": turn.ended_ms, "lease_until_ms": None}
    conn.execute(_END, ended)
    if title := title_text(turn):
        sessions.title_from_answer(conn, found.session, title)


def keep_finished(
    conn: Connection, session: Session, asked: Asked, entries: Iterable[Entry], *, created_ms: int
) -> TurnRow:
    """Keep a turn that is over already, as an import brings it."""
    started = turns.start(conn, session, asked, now_ms=created_ms, writer="", lease_until_ms=created_ms)
    keep(conn, started.turn.key, fold_entries(list(entries)))
    return started.turn


def forget_timing(conn: Connection, before_ms: int, most: int = 50) -> int:
    """Rewrite some logs of turns that ended before this, all but their pace; how many it were."""
    old = select(turn_rows.c.key).where(
        turn_rows.c.ended_ms < before_ms, turn_rows.c.timing_kept, turn_rows.c.state != State.RUNNING
    )
    keys = conn.scalars(old.limit(most)).all()
    for key in keys:
        told = fold_stored(conn, key).turn
        replace_stored(conn, key, tuple(pack(unfold(told))))
        conn.execute(update(turn_rows).where(turn_rows.c.key == key).values(timing_kept=False))
    return len(keys)


def state_of(end: Event) -> State:
    """Where a turn stands after its last event."""
    match end:
        case TurnFailed(code=code):
            return State.INTERRUPTED if code == INTERRUPTED else State.FAILED
        case TurnEnded(finish=Finish.CANCELLED):
            return State.CANCELLED
    return State.DONE
