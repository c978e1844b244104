"""Long lists in pages. A cursor names the last row that was seen, by the values that the list is sorted by.

Rows that come in between move nothing. A cursor is no key to anything: whoever makes one up still gets only
rows that are theirs.
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from sqlalchemy import Row

from thinkaloud.canon import Refused
from thinkaloud.store.rows import Page

MAX_PAGE_ITEMS = 200
"""So many items fit on one page."""

T = TypeVar("T")
SortKey = tuple[int, ...]
_sort_key_decoder = msgspec.json.Decoder(tuple[Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)], ...])


def rows_to_fetch(limit: int) -> int:
    """How many rows to ask for: the page, and one more to see whether it is the last."""
    if not 1 <= limit <= MAX_PAGE_ITEMS:
        raise Refused(f"A page has 1 to {MAX_PAGE_ITEMS} items, not {limit}. Choose a `limit` in between.")
    return limit + 1


def sort_key_after(cursor: str, length: int) -> SortKey | None:
    """Where to go on, as so many sort values; None for the beginning."""
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
            "This `after` is not a cursor of this list. Send back the `next` of the page before, as it was, "
            "or leave it out to begin at the beginning."
        )
    return sort_key


def make_page(
    rows: Sequence[Row[Any]],
    limit: int,
    convert: Callable[[Row[Any]], T],
    sort_key: Callable[[Row[Any]], SortKey],
) -> Page[T]:
    """The page that these rows make, when `bounded(limit)` of them were asked for."""
    more = len(rows) > limit
    return Page(
        tuple(convert(row) for row in rows[:limit]), encode_cursor(sort_key(rows[limit - 1])) if more else ""
    )


def encode_cursor(sort_key: SortKey) -> str:
    """The cursor that goes on after this place."""
    return urlsafe_b64encode(msgspec.json.encode(sort_key)).rstrip(b"=").decode()
