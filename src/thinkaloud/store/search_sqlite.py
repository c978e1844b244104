"""The search index on SQLite: an FTS5 table that holds no text, only which words stand in which row.

Its `tags` say whose row it is and of what kind, so that the engine itself stays within that scope. FTS5
forgets a row only when it is told the very words that it was given.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, text

from thinkaloud.store.search_query import Phrase

IndexEntry = dict[str, int | str]
"""`key`, `norm` (folded text) and `tags`."""

# The `ascii` tokenizer splits folded text at its spaces and leaves all other letters as they are.
_CREATE = text(
    "CREATE VIRTUAL TABLE search_text USING fts5"
    "(norm, tags, content = '', columnsize = 0, tokenize = 'ascii', prefix = '2')"
)
_ADD = text("INSERT INTO search_text (rowid, norm, tags) VALUES (:key, :norm, :tags)")
_REMOVE = text(
    "INSERT INTO search_text (search_text, rowid, norm, tags) VALUES ('delete', :key, :norm, :tags)"
)
_CLEAR = text("INSERT INTO search_text (search_text) VALUES ('delete-all')")
_FIND = text(
    "SELECT rowid FROM search_text WHERE search_text MATCH :wanted AND rowid < :before "
    "ORDER BY rowid DESC LIMIT :most"
)


def create(conn: Connection) -> None:
    """Make an empty index."""
    conn.execute(_CREATE)


def add(conn: Connection, entries: Sequence[IndexEntry]) -> None:
    """Take rows into the index."""
    conn.execute(_ADD, entries)


def remove(conn: Connection, entries: Sequence[IndexEntry]) -> None:
    """Take rows out again; each must be exactly as it was added."""
    conn.execute(_REMOVE, entries)


def clear(conn: Connection) -> None:
    """Take everything out."""
    conn.execute(_CLEAR)


def matching_keys(
    conn: Connection, tags: Sequence[str], phrases: Sequence[Phrase], before_key: int, limit: int
) -> Sequence[int]:
    """The newest rows under one of these tags that have all the phrases."""
    scope = " OR ".join(tags)
    phrase_query = " AND ".join(map(_quote_phrase, phrases))
    match_query = f"tags : ({scope}) AND norm : ({phrase_query})"
    return conn.scalars(_FIND, {"wanted": match_query, "before": before_key, "most": limit}).all()


def _quote_phrase(phrase: Phrase) -> str:
    # Folded words are letters and digits, so that no quote can end early.
    return f'"{" ".join(phrase.words)}"{" *" if phrase.prefix else ""}'
