"""The index of one owner's prompts, answers, thoughts and tool calls for search.

The index stores no text: adding and removing a message both read its rows. So index a message after its rows
are written, and remove it before they change or are deleted.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import msgspec
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
    update,
)

from thinkaloud.core.canon import Kind
from thinkaloud.core.transcript import Block
from thinkaloud.gateway.store.engine.coordination import lock_until_commit
from thinkaloud.gateway.store.engine.database import Database
from thinkaloud.gateway.store.engine.many_rows import padded
from thinkaloud.gateway.store.engine.prepared import PreparedStatement
from thinkaloud.gateway.store.queries.values import read_fact, store_fact
from thinkaloud.gateway.store.rows import Owner, Role, SearchKind
from thinkaloud.gateway.store.schema import messages, parts, search_rows, sessions, turns, unindexed
from thinkaloud.gateway.store.search import postgres as search_postgres
from thinkaloud.gateway.store.search import sqlite as search_sqlite
from thinkaloud.gateway.store.search.normalize import FOLD_VERSION, IndexEntry, normalize_for_index
from thinkaloud.gateway.store.search.query import Phrase

FOLD_VERSION_FACT = "search_fold_version"
BATCH_SIZE = 200
SLICE_CHARS = 50_000
"""Indexing this many takes some 50 milliseconds. A single text is never divided."""
SLICE_BLOCKS = 128


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

SEARCH_ROWS: Select[Any] = (
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
    backend_of(conn).create(conn)
    store_fact(conn, FOLD_VERSION_FACT, FOLD_VERSION)


def index_current(conn: Connection) -> bool:
    """Whether the index was made with the current normalization; if not, call `rebuild_index`."""
    return read_fact(conn, FOLD_VERSION_FACT) == FOLD_VERSION


def rebuild_index(conn: Connection) -> None:
    """Rebuild the index from the stored messages."""
    backend_of(conn).clear(conn)
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
    rows = conn.execute(SEARCH_ROWS.where(condition).order_by(search_rows.c.key)).all()
    if rows:
        backend_of(conn).add(conn, [_index_entry(row, normalized) for row in rows])


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
        "tags": owner_tag(owner.user, owner.workspace, kind),
    }
    backend_of(conn).add(conn, [entry])


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
                "tags": owner_tag(owner.user, owner.workspace, kind),
            }
        )
    if entries:
        backend_of(conn).add(conn, entries)


def _kind_of_block(block: Block) -> SearchKind:
    """Return the kind that `_PART_TEXTS` gives to this block once it is stored."""
    if block.kind is Kind.REASONING:
        return SearchKind.THOUGHT
    return SearchKind.ANSWER if block.kind is Kind.TEXT and block.parent is None else SearchKind.TOOL


def index_entries(conn: Connection, message_keys: Collection[int]) -> list[IndexEntry]:
    """Return what the index holds of these messages. It reads only, so it needs no writer."""
    entries: list[IndexEntry] = []
    for batch in _batches(message_keys):
        rows = conn.execute(SEARCH_ROWS.where(search_rows.c.message.in_(padded(batch))))
        entries += [_index_entry(row, {}) for row in rows]
    return entries


def listed_entries(conn: Connection, keys: Collection[int]) -> list[IndexEntry]:
    """Return what the index holds of these rows of `found`."""
    query = SEARCH_ROWS.where(search_rows.c.key.in_(padded(keys))).order_by(search_rows.c.key)
    rows = conn.execute(query).all()
    return [_index_entry(row, {}) for row in rows]


def add_entries(conn: Connection, entries: Sequence[IndexEntry]) -> None:
    """Add entries to the index. Their rows in `found` must exist."""
    if entries:
        backend_of(conn).add(conn, entries)


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
            backend_of(conn).remove(conn, removed)
            conn.execute(delete(search_rows).where(search_rows.c.key.in_(keys)))


def backend_of(conn: Connection) -> SearchBackend:
    """Return the full-text index of the engine of a connection."""
    return _BACKENDS[conn.dialect.name]


def _batches(keys: Collection[int]) -> Iterator[Sequence[int]]:
    sorted_keys = sorted(keys)
    for start in range(0, len(sorted_keys), BATCH_SIZE):
        yield sorted_keys[start : start + BATCH_SIZE]


def owner_tag(user: int, workspace: int, kind: str) -> str:
    """Return the word that marks an owner's texts of one kind in the index."""
    return f"u{user}w{workspace}{kind}"


def _index_entry(row: Row[Any], normalized: Mapping[str, str]) -> IndexEntry:
    norm = _join_normalized(searchable_texts(row), normalized)
    return {"key": row.key, "norm": norm, "tags": owner_tag(row.user, row.workspace, row.kind)}


def _join_normalized(texts: Iterable[str], normalized: Mapping[str, str]) -> str:
    words = (normalized[text] if text in normalized else normalize_for_index(text) for text in texts)
    return " ".join(filter(None, words))


def searchable_texts(row: Row[Any]) -> list[str]:
    """Return the searchable texts of a row. For a tool: its name, arguments, result and error."""
    values = (row.name, row.text, row.result, row.error) if row.kind == SearchKind.TOOL else (row.text,)
    return list(filter(None, values))


class IndexSlice(msgspec.Struct, frozen=True):
    """Consecutive blocks of a message, those after `after` up to `until`, and their texts, normalized."""

    message: int
    after: int
    until: int
    last: bool
    normalized: dict[str, str]


async def index_rest(
    database: Database, turn: int | None = None, normalized: Mapping[str, str] | None = None
) -> None:
    """Index what is unindexed of one turn, or of all. `normalized` has texts that were normalized before.

    A long message is indexed in slices, so that the turns of others are saved in between. It is saved first
    and listed as unindexed. Each slice is a short write, and the last one removes the message from the list.
    If the process stops in between, the next start indexes the rest.
    """
    read_slice = partial(_next_slice, turn=turn, normalized=normalized or {})
    while (index_slice := await database.read(read_slice)) is not None:
        await database.write(partial(_add_slice, index_slice=index_slice))


def _next_slice(conn: Connection, turn: int | None, normalized: Mapping[str, str]) -> IndexSlice | None:
    """Return the next slice. The texts are normalized here, in a reader thread."""
    query = select(unindexed.c.message, unindexed.c.after)
    if turn is not None:
        query = query.join(messages).where(messages.c.turn == turn)
    row = conn.execute(query.order_by(unindexed.c.message).limit(1)).one_or_none()
    if row is None:
        return None
    columns = parts.c.position, parts.c.name, parts.c.text, parts.c.result, parts.c.error
    blocks = select(*columns).where(parts.c.message == row.message).order_by(parts.c.position)
    texts: dict[str, str] = {}
    until, chars_left = row.after, SLICE_CHARS
    for position, *block_texts in conn.execute(blocks.where(parts.c.position > until).limit(SLICE_BLOCKS)):
        for text in filter(None, block_texts):
            texts[text] = normalized[text] if text in normalized else normalize_for_index(text)
            chars_left -= len(text)
        until = position
        if chars_left < 0:
            break
    more = conn.scalar(blocks.with_only_columns(parts.c.position).where(parts.c.position > until).limit(1))
    return IndexSlice(row.message, row.after, until, more is None, texts)


def _add_slice(conn: Connection, index_slice: IndexSlice) -> None:
    """Add a slice to the index, unless the message is deleted or another task has added the slice."""
    listed = (unindexed.c.message == index_slice.message, unindexed.c.after == index_slice.after)
    progress = update(unindexed).where(*listed).values(after=index_slice.until)
    end = delete(unindexed).where(*listed)
    if conn.execute(end if index_slice.last else progress).rowcount:
        blocks = range(index_slice.after + 1, index_slice.until + 1)
        index_blocks(conn, index_slice.message, blocks, index_slice.normalized)
