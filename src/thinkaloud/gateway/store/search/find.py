"""Search in one owner's prompts, answers, thoughts and tool calls. The newest hits come first.

Thoughts are searched only on request.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row

from thinkaloud.core.canon import Refused
from thinkaloud.gateway.store.engine.many_rows import padded
from thinkaloud.gateway.store.queries.pages import encode_cursor, rows_to_fetch, sort_key_after
from thinkaloud.gateway.store.rows import Owner, Page, SearchHit, SearchKind
from thinkaloud.gateway.store.schema import search_rows, sessions
from thinkaloud.gateway.store.search.index import SEARCH_ROWS, backend_of, owner_tag, searchable_texts
from thinkaloud.gateway.store.search.query import Phrase, parse_query
from thinkaloud.gateway.store.search.snippets import make_snippet

_MAX_KEY = 2**63 - 1


def find_hits(
    conn: Connection, owner: Owner, words: str, *, kinds: frozenset[SearchKind], limit: int, after: str = ""
) -> Page[SearchHit]:
    """Return a page of the owner's texts of these kinds that contain all the words."""
    phrases = parse_query(words)
    if not kinds:
        raise Refused("The search has no scope. Choose one or more of {kinds}.", kinds=", ".join(SearchKind))
    (before_key,) = sort_key_after(after, 1) or (_MAX_KEY,)
    tags = sorted(owner_tag(owner.user, owner.workspace, kind) for kind in kinds)
    keys = backend_of(conn).matching_keys(conn, tags, phrases, before_key, rows_to_fetch(limit))
    conditions = (
        sessions.c.user == owner.user,
        sessions.c.workspace == owner.workspace,
        sessions.c.whole,
        search_rows.c.kind.in_(kinds),
    )
    on_page = search_rows.c.key.in_(padded(keys[:limit]))
    rows = conn.execute(SEARCH_ROWS.where(*conditions, on_page).order_by(search_rows.c.key.desc()))
    next_cursor = encode_cursor((keys[limit - 1],)) if len(keys) > limit else ""
    return Page(tuple(_hit_from_row(row, phrases) for row in rows), next_cursor)


def _hit_from_row(row: Row[Any], phrases: Sequence[Phrase]) -> SearchHit:
    excerpt, marks = make_snippet("\n".join(searchable_texts(row)), phrases)
    return SearchHit(
        SearchKind(row.kind), row.session, row.title, row.turn, row.block, excerpt, marks, row.created_ms
    )
