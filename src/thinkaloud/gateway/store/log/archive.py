"""The log of a turn in the database: rows of JSON lines, compressed when the turn has ended."""

import asyncio
import zlib
from collections.abc import Collection, Iterable, Iterator
from typing import get_args
from weakref import WeakValueDictionary

import msgspec
from sqlalchemy import Connection, bindparam, delete, func, insert, select

from thinkaloud.core.canon import Entry, Event
from thinkaloud.gateway.store.engine.database import Database
from thinkaloud.gateway.store.engine.prepared import PreparedStatement
from thinkaloud.gateway.store.log.live import LiveLog, LogSpan
from thinkaloud.gateway.store.rows import TurnState
from thinkaloud.gateway.store.schema import log, turns

LOG_SPAN_BYTES = 64 * 1024
"""The size of one read, and of one compressed row."""
_ROWS_AT_ONCE = 256


class LogChunk(msgspec.Struct, frozen=True):
    """One row of a finished log: its first and last entry, and its lines, compressed."""

    first_seq: int
    last_seq: int
    entries: bytes


_DELETE_LOG = PreparedStatement(delete(log).where(log.c.turn == bindparam("of")))
_INSERT_LOG = PreparedStatement(insert(log))
_SELECT_LOG = (
    select(log.c.packed, log.c.entries).where(log.c.turn == bindparam("of")).order_by(log.c.first_seq)
)
_decode_entry = msgspec.json.Decoder(Entry).decode
encode_entry = msgspec.json.Encoder().encode
_KNOWN_TYPES = frozenset(event.__struct_config__.tag for event in get_args(Event))


class _EventType(msgspec.Struct, frozen=True):
    """The only field that every version's events have."""

    type: str


class _AnyEntry(msgspec.Struct, frozen=True):
    """An entry of any version of Thinkaloud."""

    seq: int
    event: _EventType


_decode_any_entry = msgspec.json.Decoder(_AnyEntry).decode


PackedLog = tuple[tuple[bool, bytes], ...]
"""The rows of a log as they are stored: whether each is compressed, and its lines."""


def read_log(conn: Connection, turn: int, after: int = -1) -> LogSpan:
    """Read the entries after this number, up to the size of one span."""
    state = conn.scalar(select(turns.c.state).where(turns.c.key == turn))
    start = select(func.max(log.c.first_seq)).where(log.c.turn == turn, log.c.first_seq <= after + 1)
    rows = conn.execute(
        select(log.c.first_seq, log.c.packed, log.c.entries)
        .where(log.c.turn == turn, log.c.first_seq >= start.scalar_subquery())
        .order_by(log.c.first_seq)
        .limit(_ROWS_AT_ONCE + 1)
    )
    lines: list[bytes] = []
    size, ended, truncated = 0, False, False
    for row_index, (first, packed, entries) in enumerate(rows):
        if row_index == _ROWS_AT_ONCE or size >= LOG_SPAN_BYTES:
            truncated = True
            break
        new_lines = decompressed_lines(entries, packed)[max(0, after + 1 - first) :]
        lines += new_lines
        size += sum(map(len, new_lines))
    else:
        ended = state != TurnState.RUNNING
    return LogSpan(after + 1, tuple(lines), ended, truncated=truncated)


def decode_entries(lines: Iterable[bytes]) -> Iterator[Entry]:
    """Yield the entries of these lines, without events of a newer version: a turn is folded around them."""
    return (entry for entry in map(decode_entry, lines) if entry is not None)


def decode_entry(line: bytes) -> Entry | None:
    """Decode one line. None for an event of a type that only a newer version knows."""
    try:
        return _decode_entry(line)
    except msgspec.ValidationError:
        if _decode_any_entry(line).event.type in _KNOWN_TYPES:
            raise
        return None


def log_lines(conn: Connection, turn: int) -> Iterator[bytes]:
    """Yield all entries of a turn as lines of JSON, the first with number 0."""
    return unpack_lines(packed_log(conn, turn))


def packed_log(conn: Connection, turn: int) -> PackedLog:
    """Return all entries of a turn as they are stored. Unpacking them takes longer than this read."""
    return tuple((packed, entries) for packed, entries in conn.execute(_SELECT_LOG, {"of": turn}))


def unpacked_size(rows: PackedLog, max_bytes: int) -> int:
    """Return the size of these rows when they are unpacked, or a number above `max_bytes`."""
    size = 0
    for packed, entries in rows:
        # What a row was packed to says little: a thousand times as much may come out of it.
        size += len(zlib.decompressobj().decompress(entries, max_bytes + 1)) if packed else len(entries)
        if size > max_bytes:
            break
    return size


def unpack_lines(rows: PackedLog) -> Iterator[bytes]:
    """Yield the lines of these rows."""
    for packed, entries in rows:
        yield from decompressed_lines(entries, packed)


def last_seq(conn: Connection, turn: int) -> int:
    """Return the number of the last entry on disk, or -1."""
    last = conn.scalar(select(func.max(log.c.last_seq)).where(log.c.turn == turn))
    return -1 if last is None else last


def stored_positions(conn: Connection, running: Collection[LiveLog]) -> dict[int, int]:
    """Return the number of the last stored entry of each of these turns that is still the same turn."""
    keys = [live.turn for live in running]
    query = select(turns.c.key, turns.c.id, turns.c.epoch).where(
        turns.c.key.in_(keys), turns.c.state == TurnState.RUNNING
    )
    stored = {row.key: (row.id, row.epoch) for row in conn.execute(query)}
    positions = {}
    for live in running:
        if live.turn not in stored:
            continue
        stored_id, epoch = stored[live.turn]
        # A key can be given again after a failover, so the id is compared too, where it is known.
        if epoch == live.epoch and live.id in ("", stored_id):
            positions[live.turn] = last_seq(conn, live.turn)
    return positions


def replace_log(conn: Connection, turn: int, chunks: Iterable[LogChunk], *, stored: bool = True) -> None:
    """Replace the log of a turn that has ended. `stored` is false if there is none yet."""
    if stored:
        _DELETE_LOG.run(conn, {"of": turn})
    for chunk in chunks:
        _INSERT_LOG.run(conn, {"turn": turn, "packed": True, **msgspec.structs.asdict(chunk)})


def compress_entries(entries: Iterable[Entry]) -> Iterator[LogChunk]:
    """Compress entries, which begin with number 0, into rows."""
    return compress_lines(map(encode_entry, entries))


def compress_lines(lines: Iterable[bytes]) -> Iterator[LogChunk]:
    """Compress a whole log into rows, each of about a span's size."""
    chunk: list[bytes] = []
    size = first = 0
    for line in lines:
        chunk.append(line)
        size += len(line)
        if size >= LOG_SPAN_BYTES:
            yield LogChunk(first, first + len(chunk) - 1, zlib.compress(b"\n".join(chunk)))
            first, chunk, size = first + len(chunk), [], 0
    if chunk:
        yield LogChunk(first, first + len(chunk) - 1, zlib.compress(b"\n".join(chunk)))


def decompressed_lines(entries: bytes, packed: bool) -> list[bytes]:
    """Return the lines of one row."""
    return (zlib.decompress(entries) if packed else entries).split(b"\n")


class ArchiveReader:
    """Reads spans from the database. Readers at the same position share one result, which saves memory."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._spans: WeakValueDictionary[tuple[int, int], LogSpan] = WeakValueDictionary()
        self._reads: dict[tuple[int, int], asyncio.Future[LogSpan]] = {}

    async def read(self, turn: int, after: int) -> LogSpan:
        """Return the stored entries of a turn after this number."""
        position = turn, after
        if (known := self._spans.get(position)) is not None:
            return known
        pending_read = self._reads.get(position)
        if pending_read is None:
            query = self._database.read(lambda conn: read_log(conn, turn, after))
            pending_read = self._reads[position] = asyncio.ensure_future(query)
            pending_read.add_done_callback(lambda read: self._forget(position, read))
        span = await asyncio.shield(pending_read)
        if span.truncated or span.ended:  # otherwise the next read may return more
            self._spans[position] = span
        return span

    def _forget(self, position: tuple[int, int], read: asyncio.Future[LogSpan]) -> None:
        del self._reads[position]
        if not read.cancelled():
            read.exception()  # if all readers have left, nobody else looks at it
