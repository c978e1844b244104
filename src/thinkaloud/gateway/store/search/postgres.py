"""The search index on PostgreSQL: the words of each text as a `tsvector` under a GIN index.

A `tsvector` has no room for more than 1 MB of words, nor for the positions of words in a long text. So it
holds each word once, without positions, to find candidates. The normalized text decides whether the words
of a phrase follow each other. A text with too many words is a candidate of every search in its scope.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, text

from thinkaloud.gateway.store.engine.many_rows import insert_rows
from thinkaloud.gateway.store.search.normalize import IndexEntry
from thinkaloud.gateway.store.search.query import Phrase

_TABLE = "search_text"
_CREATE = (
    text(
        "CREATE TABLE search_text ("
        "key bigint PRIMARY KEY REFERENCES found (key) ON DELETE CASCADE, "
        "norm text NOT NULL, words tsvector NOT NULL, crowded boolean NOT NULL)"
    ),
    text("CREATE INDEX ix_search_text_words ON search_text USING gin (words)"),
)
_REMOVE = text("DELETE FROM search_text WHERE key = ANY(:keys)")
_CLEAR = text("DELETE FROM search_text")
_FIND = (
    "SELECT key FROM search_text WHERE words @@ CAST(:wanted AS tsquery) AND key < :before{phrases} "
    "ORDER BY key DESC LIMIT :most"
)
_PADDED = "(' ' || norm || ' ')"
_TAG = "#"
"""Before a tag. Normalized words have letters and digits only, so no word looks like a tag."""
_CROWDED = "#crowded"
_MAX_WORDS_BYTES = 500_000
_MAX_WORD_CHARACTERS = 255
"""PostgreSQL refuses words of 2 kB. Of a longer word the index has the beginning."""


def create(conn: Connection) -> None:
    """Make an empty index."""
    for statement in _CREATE:
        conn.execute(statement)


def add(conn: Connection, entries: Sequence[IndexEntry]) -> None:
    """Add rows to the index."""
    insert_rows(conn, _TABLE, [_row(entry) for entry in entries], casts={"words": "tsvector"})


def remove(conn: Connection, entries: Sequence[IndexEntry]) -> None:
    """Remove rows."""
    conn.execute(_REMOVE, {"keys": [entry["key"] for entry in entries]})


def clear(conn: Connection) -> None:
    """Remove all rows."""
    conn.execute(_CLEAR)


def matching_keys(
    conn: Connection, tags: Sequence[str], phrases: Sequence[Phrase], before_key: int, limit: int
) -> Sequence[int]:
    """Return the keys of the newest rows that have one of these tags and all the phrases."""
    scope = " | ".join(_lexeme(_TAG + tag) for tag in tags)
    words = " & ".join(_words_query(phrase) for phrase in phrases)
    values: dict[str, object] = {
        "wanted": f"({scope}) & ({words} | {_lexeme(_CROWDED)})",
        "before": before_key,
        "most": limit,
    }
    conditions = ""
    for number, phrase in enumerate(phrases):
        values[f"phrase_{number}"] = _pattern(phrase)
        condition = f"{_PADDED} LIKE :phrase_{number}"
        conditions += f" AND {condition}" if _needs_text(phrase) else f" AND (NOT crowded OR {condition})"
    return conn.scalars(text(_FIND.format(phrases=conditions)), values).all()


def _row(entry: IndexEntry) -> dict[str, object]:
    norm = str(entry["norm"])
    words = {word[:_MAX_WORD_CHARACTERS] for word in norm.split(" ")}
    words.discard("")
    crowded = sum(len(word.encode()) for word in words) > _MAX_WORDS_BYTES
    lexemes = {_CROWDED} if crowded else words
    tags = {_TAG + tag for tag in str(entry["tags"]).split(" ")}
    return {
        "key": entry["key"],
        "norm": norm,
        "words": " ".join(_lexeme(lexeme) for lexeme in sorted(lexemes | tags)),
        "crowded": crowded,
    }


def _lexeme(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _words_query(phrase: Phrase) -> str:
    *leading, last = (_lexeme(word[:_MAX_WORD_CHARACTERS]) for word in phrase.words)
    return " & ".join((*leading, f"{last}:*" if phrase.prefix else last))


def _needs_text(phrase: Phrase) -> bool:
    """Whether the words alone do not decide: they must follow each other, or one is cut in the index."""
    return len(phrase.words) > 1 or any(len(word) > _MAX_WORD_CHARACTERS for word in phrase.words)


def _pattern(phrase: Phrase) -> str:
    words = " ".join(phrase.words)
    escaped = words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"% {escaped}%" if phrase.prefix else f"% {escaped} %"
