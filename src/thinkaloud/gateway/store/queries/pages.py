"""Pages of long lists. A cursor holds the sort values of the last row of a page.

Rows that are inserted meanwhile do not shift the pages. A cursor grants no access: every page is queried with
its owner, so a forged cursor returns the caller's own rows only.
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from sqlalchemy import Row

from thinkaloud.core.canon import Refused
from thinkaloud.gateway.store.rows import Page

MAX_PAGE_ITEMS = 200
"""The maximum number of items of one page."""

T = TypeVar("T")
SortKey = tuple[int, ...]
_sort_key_decoder = msgspec.json.Decoder(tuple[Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)], ...])


def rows_to_fetch(limit: int) -> int:
    """Return the number of rows to query: the page, and one more to see whether it is the last page."""
    if not 1 <= limit <= MAX_PAGE_ITEMS:
        raise Refused(
            "A page has 1 to {max_page_items} items, not {limit}. Change `limit`.",
            max_page_items=MAX_PAGE_ITEMS,
            limit=limit,
        )
    return limit + 1


def sort_key_after(cursor: str, length: int) -> SortKey | None:
    """Decode a cursor of `length` sort values; None for an empty cursor, the first page."""
    if not cursor:
        return None
    try:
        sort_key = _sort_key_decoder.decode(
            urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        )
    except (UnicodeEncodeError, binascii.Error, msgspec.MsgspecError, UnicodeDecodeError):
        sort_key = ()
    if len(sort_key) != length:
        raise Refused(
            "This `after` is not a cursor of this list. Send the `next` of the previous page unchanged, or "
            "leave it out for the first page."
        )
    return sort_key


def make_page(
    rows: Sequence[Row[Any]],
    limit: int,
    convert: Callable[[Row[Any]], T],
    sort_key: Callable[[Row[Any]], SortKey],
) -> Page[T]:
    """Return the page of these rows, which were queried with `rows_to_fetch(limit)`."""
    more = len(rows) > limit
    next_cursor = encode_cursor(sort_key(rows[limit - 1])) if more else ""
    return Page(tuple(map(convert, rows[:limit])), next_cursor)


def encode_cursor(sort_key: SortKey) -> str:
    """Return the cursor of the page after these sort values."""
    return urlsafe_b64encode(msgspec.json.encode(sort_key)).rstrip(b"=").decode()
