"""The search index on SQLite: an FTS5 table without content, which stores only the words of each row.

The column `tags` holds the owner and the kind of a row, so the engine itself searches only within that scope.
A contentless FTS5 table deletes a row only if it is given exactly the words that were inserted.

FTS5 keeps the words of a deleted row, and the places where they stood, until it has merged all segments that
have them. `join_levels` and `merge` make it do so. Its own option for this, `secure-delete`, needs SQLite
3.42 and makes the table unreadable for older versions.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from sqlalchemy import Connection, text

from thinkaloud.gateway.store.engine.many_rows import insert_rows
from thinkaloud.gateway.store.search.normalize import IndexEntry
from thinkaloud.gateway.store.search.query import Phrase

# The `ascii` tokenizer splits normalized text at its spaces and leaves all other characters unchanged.
_CREATE = text(
    "CREATE VIRTUAL TABLE search_text USING fts5"
    "(norm, tags, content = '', columnsize = 0, tokenize = 'ascii', prefix = '2')"
)
_TABLE = "search_text"
_CLEAR = text("INSERT INTO search_text (search_text) VALUES ('delete-all')")
_MERGE = "INSERT INTO search_text (search_text, rank) VALUES ('merge', ?)"
_FIND = text(
    "SELECT rowid FROM search_text WHERE search_text MATCH :wanted AND rowid < :before "
    "ORDER BY rowid DESC LIMIT :most"
)
_STRUCTURE = "SELECT block FROM search_text_data WHERE id = 10"
"""The list of the segments, by level. The highest level has the oldest ones."""
_JOINED_LEVEL = 8
"""Above the levels that new segments reach while the joined ones are merged."""
_COOKIE_BYTES = 4
_HEADER_FIELDS = 3
_SEGMENT_FIELDS = 3
_MERGED_PAGES = 500
"""How many pages one step writes. It takes some 50 milliseconds."""


class _Level(NamedTuple):
    merging: int
    """How many of the segments, from the first, are being merged."""
    fields: list[int]
    """Three for each segment, the oldest segment first."""


def create(conn: Connection) -> None:
    """Make an empty index."""
    conn.execute(_CREATE)


def add(conn: Connection, entries: Sequence[IndexEntry]) -> None:
    """Add rows to the index."""
    rows = [{"rowid": entry["key"], "norm": entry["norm"], "tags": entry["tags"]} for entry in entries]
    insert_rows(conn, _TABLE, rows)


def remove(conn: Connection, entries: Sequence[IndexEntry]) -> None:
    """Remove rows. Each must be exactly as it was added."""
    rows = [
        {_TABLE: "delete", "rowid": entry["key"], "norm": entry["norm"], "tags": entry["tags"]}
        for entry in entries
    ]
    insert_rows(conn, _TABLE, rows)


def clear(conn: Connection) -> None:
    """Remove all rows."""
    conn.execute(_CLEAR)


def matching_keys(
    conn: Connection, tags: Sequence[str], phrases: Sequence[Phrase], before_key: int, limit: int
) -> Sequence[int]:
    """Return the keys of the newest rows that have one of these tags and all the phrases."""
    scope = " OR ".join(tags)
    phrase_query = " AND ".join(map(_quote_phrase, phrases))
    match_query = f"tags : ({scope}) AND norm : ({phrase_query})"
    return conn.scalars(_FIND, {"wanted": match_query, "before": before_key, "most": limit}).all()


def _quote_phrase(phrase: Phrase) -> str:
    # Normalized words have letters and digits only, so no quote needs escaping.
    return f'"{" ".join(phrase.words)}"{" *" if phrase.prefix else ""}'


def join_levels(raw: sqlite3.Connection) -> bool:
    """Put all segments into one level, and begin to make one segment of them; False if that is done.

    FTS5 itself can do this (a negative `merge`), but on SQLite 3.40 each time adds two levels, and a table
    with more than 2,000 cannot be read. The connection must be new and have no other use: FTS5 notices a
    change of the list only if another connection made it.
    """
    raw.execute("BEGIN IMMEDIATE")
    try:
        joined = _with_joined_levels(_read_structure(raw))
        # Before any use of FTS5 on this connection, which would remember the list.
        raw.execute("UPDATE search_text_data SET block = ? WHERE id = 10", (joined,))
        # Two segments of a level are enough to be merged.
        raw.execute("INSERT INTO search_text (search_text, rank) VALUES ('usermerge', 2)")
        # In the same transaction: FTS5 moves small segments of a level down when a new one is written, except
        # those that are being merged.
        merging = _merge_step(raw)
        fields = sum(len(level.fields) for level in _levels(_read_structure(raw)))
        if not merging and fields > _SEGMENT_FIELDS:
            raise sqlite3.DatabaseError("the segments of the search index were not merged")
        raw.execute("COMMIT")
    finally:
        if raw.in_transaction:
            raw.execute("ROLLBACK")
    return merging


def merge(raw: sqlite3.Connection) -> bool:
    """Merge some more pages of the joined segments; False if they are one segment.

    Turns that end meanwhile add segments to lower levels, which are not waited for: they were written after
    the deletion, and with turns that never pause there would be no end.
    """
    raw.execute("BEGIN IMMEDIATE")
    try:
        merging = _merge_step(raw)
        raw.execute("COMMIT")
    finally:
        if raw.in_transaction:
            raw.execute("ROLLBACK")
    return merging


def _merge_step(raw: sqlite3.Connection) -> bool:
    before = _read_structure(raw)
    raw.execute(_MERGE, (_MERGED_PAGES,))
    after = _read_structure(raw)
    levels = _levels(after)
    merging = len(levels) > _JOINED_LEVEL and levels[_JOINED_LEVEL].merging > 0
    if merging and after == before:
        raise sqlite3.DatabaseError("the segments of the search index cannot be merged")
    return merging


def _read_structure(raw: sqlite3.Connection) -> bytes:
    row = raw.execute(_STRUCTURE).fetchone()
    if row is None:
        raise sqlite3.DatabaseError("the search index has no list of its segments")
    structure: bytes = row[0]
    return structure


def _levels(structure: bytes) -> list[_Level]:
    """Return the levels, the newest segments first."""
    numbers = list(_varints(structure[_COOKIE_BYTES:]))
    level_count, segment_count = numbers[:2] if len(numbers) >= _HEADER_FIELDS else (0, -1)
    levels: list[_Level] = []
    start = _HEADER_FIELDS
    while len(levels) < level_count and start + 2 <= len(numbers):
        merging, segments = numbers[start : start + 2]
        end = start + 2 + segments * _SEGMENT_FIELDS
        levels.append(_Level(merging, numbers[start + 2 : end]))
        start = end
    fields = sum(len(level.fields) for level in levels)
    if len(levels) != level_count or fields != segment_count * _SEGMENT_FIELDS:
        raise sqlite3.DatabaseError("the list of the segments of the search index is not as expected")
    return levels


def _with_joined_levels(structure: bytes) -> bytes:
    """Return the list of segments with all of them in one level."""
    levels = _levels(structure)
    _, segment_count, writes, *_ = _varints(structure[_COOKIE_BYTES:])
    segments = chain.from_iterable(level.fields for level in reversed(levels))
    empty_levels = [0, 0] * _JOINED_LEVEL
    joined = [_JOINED_LEVEL + 1, segment_count, writes, *empty_levels, 0, segment_count, *segments]
    return structure[:_COOKIE_BYTES] + b"".join(map(_varint, joined))


def _varints(data: bytes) -> Iterator[int]:
    """Yield numbers of 7 bits per byte, the highest first. The last byte of a number is below 128."""
    number = 0
    for byte in data:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            yield number
            number = 0


def _varint(number: int) -> bytes:
    data = [number & 0x7F]
    while number := number >> 7:
        data.append(number & 0x7F | 0x80)
    return bytes(reversed(data))
