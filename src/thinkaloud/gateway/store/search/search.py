"""Search in one owner's prompts, answers, thoughts and tool calls. The newest hits come first.

The index stores no text: adding and removing a message both read its rows. So index a message after its rows
are written, and remove it before they change or are deleted. Thoughts are searched only on request.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Row,
    Select,
    and_,
    case,
    cast,
    delete,
    func,
    insert,
    literal,
    null,
    or_,
    select,
)

from thinkaloud.core.canon import Kind, Refused
from thinkaloud.core.transcript import Block
from thinkaloud.gateway.store.engine.locks import lock_until_commit
from thinkaloud.gateway.store.engine.many_rows import padded
from thinkaloud.gateway.store.engine.prepared import PreparedStatement
from thinkaloud.gateway.store.queries.facts import read_fact, store_fact
from thinkaloud.gateway.store.queries.pages import encode_cursor, rows_to_fetch, sort_key_after
from thinkaloud.gateway.store.rows import Owner, Page, Role, SearchHit, SearchKind
from thinkaloud.gateway.store.schema import messages, parts, search_rows, sessions, turns, unindexed
from thinkaloud.gateway.store.search import postgres as search_postgres
from thinkaloud.gateway.store.search import sqlite as search_sqlite
from thinkaloud.gateway.store.search.entry import IndexEntry
from thinkaloud.gateway.store.search.normalize import FOLD_VERSION, normalize_for_index
from thinkaloud.gateway.store.search.query import Phrase, parse_query
from thinkaloud.gateway.store.search.snippets import make_snippet

FOLD_VERSION_FACT = "search_fold_version"
BATCH_SIZE = 200
_MAX_KEY = 2**63 - 1


class SearchBackend(Protocol):
    """The full-text index of an engine: rows of normalized words, found by tags and phrases."""

    def create(self, conn: Connection) -> None:
        """Create an empty index."""

    def add(self, conn: Connection, entries: Sequence[IndexEntry]) -> None:
        """Add rows to the index."""

    def remove(self, conn: Connection, entries: Sequence[IndexEntry]) -> None:
        """Remove rows. Each must be exactly as it was added."""

    def clear(self, conn: Connection) -> None:
        """Remove all rows."""

    def matching_keys(
        self, conn: Connection, tags: Sequence[str], phrases: Sequence[Phrase], before_key: int, limit: int
    ) -> Sequence[int]:
        """Return the keys of the newest rows that have one of these tags and all the phrases."""


_BACKENDS: Mapping[str, SearchBackend] = {"sqlite": search_sqlite, "postgresql": search_postgres}

_PROMPT_TEXTS = (
    select(
        messages.c.key,
        cast(null(), Integer),
        case((messages.c.role == Role.USER, literal(SearchKind.PROMPT)), else_=literal(SearchKind.TOOL)),
    )
    .where(messages.c.role != Role.ASSISTANT, messages.c.content != "")
    .order_by(messages.c.key)
)

_PART_TEXTS = (
    select(
        parts.c.message,
        parts.c.position,
        case(
            (parts.c.kind == Kind.REASONING, literal(SearchKind.THOUGHT)),
            # The text of an assistant is the result of a call, not an answer to the user.
            (and_(parts.c.kind == Kind.TEXT, parts.c.parent.is_(None)), literal(SearchKind.ANSWER)),
            else_=literal(SearchKind.TOOL),
        ),
    )
    .where(or_(parts.c.text != "", parts.c.name != ""))
    .order_by(parts.c.message, parts.c.position)
)

_INSERT_SEARCH_ROW = PreparedStatement(insert(search_rows).returning(search_rows.c.key))

_SEARCH_ROWS: Select[Any] = (
    select(
        search_rows.c.key,
        search_rows.c.kind,
        search_rows.c.block,
        func.coalesce(parts.c.name, messages.c.name).label("name"),
        func.coalesce(parts.c.text, messages.c.content).label("text"),
        parts.c.result,
        parts.c.error,
        sessions.c.user,
        sessions.c.workspace,
        sessions.c.id.label("session"),
        sessions.c.title,
        turns.c.id.label("turn"),
        turns.c.created_ms,
    )
    .select_from(search_rows.join(messages).join(turns).join(sessions))
    # A block's number is its position in the turn. The join uses `position`, which is in the primary key: by
    # `number` every row would scan all parts of its message.
    .outerjoin(parts, and_(parts.c.message == search_rows.c.message, parts.c.position == search_rows.c.block))
)


def create(conn: Connection) -> None:
    """Create an empty index. For migrations."""
    _backend(conn).create(conn)
    store_fact(conn, FOLD_VERSION_FACT, FOLD_VERSION)


def index_current(conn: Connection) -> bool:
    """Whether the index was made with the current normalization; if not, call `rebuild_index`."""
    return read_fact(conn, FOLD_VERSION_FACT) == FOLD_VERSION


def rebuild_index(conn: Connection) -> None:
    """Rebuild the index from the stored messages."""
    _backend(conn).clear(conn)
    conn.execute(delete(search_rows))
    conn.execute(delete(unindexed))
    query = select(messages.c.key).order_by(messages.c.key).limit(BATCH_SIZE)
    last = 0
    while batch := conn.scalars(query.where(messages.c.key > last)).all():
        index_messages(conn, batch)
        last = batch[-1]
    store_fact(conn, FOLD_VERSION_FACT, FOLD_VERSION)


def rebuild_outdated_index(conn: Connection) -> None:
    """Rebuild the index, unless another gateway did while this one waited for it."""
    lock_until_commit(conn, "search index")
    if not index_current(conn):
        rebuild_index(conn)


def index_messages(
    conn: Connection, message_keys: Collection[int], normalized: Mapping[str, str] | None = None
) -> None:
    """Add messages to the index. `normalized` has texts that were normalized beforehand.

    Call it once per message: a second call would list its texts twice.
    """
    for batch in _batches(message_keys):
        keys = padded(batch)
        _list_texts(conn, _PROMPT_TEXTS.where(messages.c.key.in_(keys)))
        _list_texts(conn, _PART_TEXTS.where(parts.c.message.in_(keys)))
        _index_rows(conn, search_rows.c.message.in_(keys), normalized or {})


def index_blocks(conn: Connection, message_key: int, blocks: range, normalized: Mapping[str, str]) -> None:
    """Add some blocks of a message to the index: as `index_messages`."""
    positions = parts.c.position.between(blocks.start, blocks.stop - 1)
    _list_texts(conn, _PART_TEXTS.where(parts.c.message == message_key, positions))
    listed = search_rows.c.block.between(blocks.start, blocks.stop - 1)
    _index_rows(conn, (search_rows.c.message == message_key) & listed, normalized)


def _list_texts(conn: Connection, texts_query: Select[Any]) -> None:
    conn.execute(insert(search_rows).from_select(["message", "block", "kind"], texts_query))


def _index_rows(conn: Connection, condition: ColumnElement[bool], normalized: Mapping[str, str]) -> None:
    rows = conn.execute(_SEARCH_ROWS.where(condition).order_by(search_rows.c.key)).all()
    if rows:
        _backend(conn).add(conn, [_index_entry(row, normalized) for row in rows])


def index_request(
    conn: Connection,
    owner: Owner,
    message_key: int,
    fields: Mapping[str, str | bool],
    normalized: Mapping[str, str],
) -> None:
    """Add a prompt or a tool result to the index: as `index_messages`, with fewer statements."""
    name, text = str(fields["name"]), str(fields["content"])
    if not text:
        return
    kind = SearchKind.PROMPT if fields["role"] == Role.USER else SearchKind.TOOL
    row = {"message": message_key, "block": None, "kind": kind}
    texts = filter(None, (name, text) if kind is SearchKind.TOOL else (text,))
    entry: IndexEntry = {
        "key": _INSERT_SEARCH_ROW.scalar(conn, row),
        "norm": _join_normalized(texts, normalized),
        "tags": _tag(owner.user, owner.workspace, kind),
    }
    _backend(conn).add(conn, [entry])


def index_answer(
    conn: Connection,
    owner: Owner,
    message_key: int,
    blocks: Iterable[Block],
    normalized: Mapping[str, str],
) -> None:
    """Add the blocks of an answer to the index: as `index_messages`, with fewer statements."""
    entries: list[IndexEntry] = []
    for position, block in enumerate(blocks):
        text = block.text
        if not text and not block.name:
            continue
        kind = _kind_of_block(block)
        row = {"message": message_key, "block": position, "kind": kind}
        values = (block.name, text, block.result, block.error) if kind is SearchKind.TOOL else (text,)
        entries.append(
            {
                "key": _INSERT_SEARCH_ROW.scalar(conn, row),
                "norm": _join_normalized(filter(None, values), normalized),
                "tags": _tag(owner.user, owner.workspace, kind),
            }
        )
    if entries:
        _backend(conn).add(conn, entries)


def _kind_of_block(block: Block) -> SearchKind:
    """Return the kind that `_PART_TEXTS` gives to this block once it is stored."""
    if block.kind is Kind.REASONING:
        return SearchKind.THOUGHT
    return SearchKind.ANSWER if block.kind is Kind.TEXT and block.parent is None else SearchKind.TOOL


def index_entries(conn: Connection, message_keys: Collection[int]) -> list[IndexEntry]:
    """Return what the index holds of these messages. It reads only, so it needs no writer."""
    return [
        _index_entry(row, {})
        for batch in _batches(message_keys)
        for row in conn.execute(_SEARCH_ROWS.where(search_rows.c.message.in_(padded(batch))))
    ]


def listed_entries(conn: Connection, keys: Collection[int]) -> list[IndexEntry]:
    """Return what the index holds of these rows of `found`."""
    query = _SEARCH_ROWS.where(search_rows.c.key.in_(padded(keys))).order_by(search_rows.c.key)
    rows = conn.execute(query).all()
    return [_index_entry(row, {}) for row in rows]


def add_entries(conn: Connection, entries: Sequence[IndexEntry]) -> None:
    """Add entries to the index. Their rows in `found` must exist."""
    if entries:
        _backend(conn).add(conn, entries)


def remove_messages(conn: Connection, message_keys: Collection[int]) -> None:
    """Remove messages from the index. Their rows must still exist unchanged."""
    remove_entries(conn, index_entries(conn, message_keys))


def remove_entries(conn: Connection, entries: Sequence[IndexEntry]) -> None:
    """Remove entries from the index. The rows of their messages must still exist unchanged."""
    for start in range(0, len(entries), BATCH_SIZE):
        batch = entries[start : start + BATCH_SIZE]
        keys = padded(entry["key"] for entry in batch)
        # Entries that are gone already must not be removed again: the index would lose other words.
        present = set(conn.scalars(select(search_rows.c.key).where(search_rows.c.key.in_(keys))))
        if removed := [entry for entry in batch if entry["key"] in present]:
            _backend(conn).remove(conn, removed)
            conn.execute(delete(search_rows).where(search_rows.c.key.in_(keys)))


def find(
    conn: Connection, owner: Owner, words: str, *, kinds: frozenset[SearchKind], limit: int, after: str = ""
) -> Page[SearchHit]:
    """Return a page of the owner's texts of these kinds that contain all the words."""
    phrases = parse_query(words)
    if not kinds:
        raise Refused(f"The search has no scope. Choose one or more of {', '.join(SearchKind)}.")
    (before_key,) = sort_key_after(after, 1) or (_MAX_KEY,)
    tags = sorted(_tag(owner.user, owner.workspace, kind) for kind in kinds)
    keys = _backend(conn).matching_keys(conn, tags, phrases, before_key, rows_to_fetch(limit))
    conditions = (
        sessions.c.user == owner.user,
        sessions.c.workspace == owner.workspace,
        sessions.c.whole,
        search_rows.c.kind.in_(kinds),
    )
    rows = conn.execute(
        _SEARCH_ROWS.where(*conditions, search_rows.c.key.in_(padded(keys[:limit]))).order_by(
            search_rows.c.key.desc()
        )
    )
    next_cursor = encode_cursor((keys[limit - 1],)) if len(keys) > limit else ""
    return Page(tuple(_hit_from_row(row, phrases) for row in rows), next_cursor)


def _backend(conn: Connection) -> SearchBackend:
    return _BACKENDS[conn.dialect.name]


def _batches(keys: Collection[int]) -> Iterator[Sequence[int]]:
    sorted_keys = sorted(keys)
    for start in range(0, len(sorted_keys), BATCH_SIZE):
        yield sorted_keys[start : start + BATCH_SIZE]


def _tag(user: int, workspace: int, kind: str) -> str:
    return f"u{user}w{workspace}{kind}"


def _index_entry(row: Row[Any], normalized: Mapping[str, str]) -> IndexEntry:
    norm = _join_normalized(_searchable_texts(row), normalized)
    return {"key": row.key, "norm": norm, "tags": _tag(row.user, row.workspace, row.kind)}


def _join_normalized(texts: Iterable[str], normalized: Mapping[str, str]) -> str:
    words = (normalized[text] if text in normalized else normalize_for_index(text) for text in texts)
    return " ".join(filter(None, words))


def _searchable_texts(row: Row[Any]) -> list[str]:
    """Return the searchable texts of a row. For a tool: its name, arguments, result and error."""
    values = (row.name, row.text, row.result, row.error) if row.kind == SearchKind.TOOL else (row.text,)
    return list(filter(None, values))


def _hit_from_row(row: Row[Any], phrases: Sequence[Phrase]) -> SearchHit:
    excerpt, marks = make_snippet("\n".join(_searchable_texts(row)), phrases)
    return SearchHit(
        SearchKind(row.kind), row.session, row.title, row.turn, row.block, excerpt, marks, row.created_ms
    )
