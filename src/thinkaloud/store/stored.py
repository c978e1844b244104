"""The log of a turn as the database has it: rows of lines, compressed once the turn is over."""

import zlib
from collections.abc import Iterable, Iterator

import msgspec
from sqlalchemy import Connection, bindparam, delete, func, insert, select

from thinkaloud.canon import Entry
from thinkaloud.store.live import Span
from thinkaloud.store.rows import State
from thinkaloud.store.schema import log, turns

SPAN_BYTES = 64 * 1024
"""So much is read for one reader at a time, and compressed into one row."""
_ROWS_AT_ONCE = 256

_CLEAR = delete(log).where(log.c.turn == bindparam("of"))
_ADD = insert(log)
_entry = msgspec.json.Decoder(Entry)
_encode = msgspec.json.Encoder().encode


class Packed(msgspec.Struct, frozen=True):
    """One row of a finished log: where it begins and ends, and its lines, compressed."""

    first_seq: int
    last_seq: int
    entries: bytes


def read_stored(conn: Connection, turn: int, after: int = -1) -> Span:
    """Entries after this place, as far as one span reaches."""
    state = conn.scalar(select(turns.c.state).where(turns.c.key == turn))
    start = select(func.max(log.c.first_seq)).where(log.c.turn == turn, log.c.first_seq <= after + 1)
    rows = conn.execute(
        select(log.c.first_seq, log.c.packed, log.c.entries)
        .where(log.c.turn == turn, log.c.first_seq >= start.scalar_subquery())
        .order_by(log.c.first_seq)
        .limit(_ROWS_AT_ONCE + 1)
    )
    lines: list[bytes] = []
    size, over, more = 0, False, False
    for place, (first, packed, entries) in enumerate(rows):
        if place == _ROWS_AT_ONCE or size >= SPAN_BYTES:
            more = True
            break
        told = _unpacked(entries, packed)[max(0, after + 1 - first) :]
        lines += told
        size += sum(map(len, told))
    else:
        over = state != State.RUNNING
    return Span(after + 1, tuple(lines), over, more=more)


def stored_entries(conn: Connection, turn: int) -> Iterator[Entry]:
    """All entries of a turn."""
    rows = conn.execute(
        select(log.c.packed, log.c.entries).where(log.c.turn == turn).order_by(log.c.first_seq)
    )
    for packed, entries in rows:
        for line in _unpacked(entries, packed):
            yield _entry.decode(line)


def replace_stored(conn: Connection, turn: int, packed: Iterable[Packed]) -> None:
    """Make these the log of a turn that is over."""
    conn.execute(_CLEAR, {"of": turn})
    rows = [{"turn": turn, "packed": True, **msgspec.structs.asdict(row)} for row in packed]
    conn.execute(_ADD, rows)


def pack(entries: Iterable[Entry]) -> Iterator[Packed]:
    """Entries as compressed rows, each of about a span's size."""
    lines: list[bytes] = []
    size = first = last = 0
    for entry in entries:
        if not lines:
            first = entry.seq
        last = entry.seq
        lines.append(_encode(entry))
        size += len(lines[-1])
        if size >= SPAN_BYTES:
            yield Packed(first, last, zlib.compress(b"\n".join(lines)))
            lines, size = [], 0
    if lines:
        yield Packed(first, last, zlib.compress(b"\n".join(lines)))


def _unpacked(entries: bytes, packed: bool) -> list[bytes]:
    return (zlib.decompress(entries) if packed else entries).split(b"\n")
