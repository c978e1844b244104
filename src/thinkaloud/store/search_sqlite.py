"""The search index on SQLite: an FTS5 table without content, which stores only the words of each row.

The column `tags` holds the owner and the kind of a row, so the engine itself searches only within that scope.
A contentless FTS5 table deletes a row only if it is given exactly the words that were inserted.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, text

from thinkaloud.store.many_rows import insert_rows
from thinkaloud.store.search_entry import IndexEntry
from thinkaloud.store.search_query import Phrase

# The `ascii` tokenizer splits normalized text at its spaces and leaves all other characters unchanged.
_CREATE = text(
    "CREATE VIRTUAL TABLE search_text USING fts5"
    "(norm, tags, content = '', columnsize = 0, tokenize = 'ascii', prefix = '2')"
)
_TABLE = "search_text"
_CLEAR = text("INSERT INTO search_text (search_text) VALUES ('delete-all')")
_FIND = text(
    "SELECT rowid FROM search_text WHERE search_text MATCH :wanted AND rowid < :before "
    "ORDER BY rowid DESC LIMIT :most"
)


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
