"""Indexes the texts of a long message in slices, so that the turns of others are saved in between.

A message is saved first and listed as unindexed. Each slice is a short write, and the last one removes the
message from the list. If the process stops in between, the next start indexes the rest.
"""

from collections.abc import Mapping
from functools import partial

import msgspec
from sqlalchemy import Connection, delete, select, update

from thinkaloud.gateway.store.engine.database import Database
from thinkaloud.gateway.store.schema import messages, parts, unindexed
from thinkaloud.gateway.store.search import search
from thinkaloud.gateway.store.search.normalize import normalize_for_index

SLICE_CHARS = 50_000
"""Indexing this many takes some 50 milliseconds. A single text is never divided."""
SLICE_BLOCKS = 128


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
    """Index what is unindexed of one turn, or of all. `normalized` has texts that were normalized before."""
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
        search.index_blocks(conn, index_slice.message, blocks, index_slice.normalized)
