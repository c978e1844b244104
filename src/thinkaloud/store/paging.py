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

MOST = 200
"""So many items fit on one page."""

T = TypeVar("T")
Place = tuple[int, ...]
_place = msgspec.json.Decoder(tuple[Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)], ...])


def bounded(limit: int) -> int:
    """How many rows to ask for: the page, and one more to see whether it is the last."""
    if not 1 <= limit <= MOST:
        raise Refused(f"A page has 1 to {MOST} items, not {limit}. Choose a `limit` in between.")
    return limit + 1


def place_after(cursor: str, values: int) -> Place | None:
    """Where to go on, as so many sort values; None for the beginning."""
    if not cursor:
        return None
    try:
        place = _place.decode(urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4)))
    except (UnicodeEncodeError, binascii.Error, msgspec.MsgspecError, UnicodeDecodeError):
        place = ()
    if len(place) != values:
        raise Refused(
            "This `after` is not a cursor of this list. Send back the `next` of the page before, as it was, "
            "or leave it out to begin at the beginning."
        )
    return place


def page(
    rows: Sequence[Row[Any]], limit: int, item: Callable[[Row[Any]], T], place: Callable[[Row[Any]], Place]
) -> Page[T]:
    """The page that these rows make, when `bounded(limit)` of them were asked for."""
    more = len(rows) > limit
    return Page(tuple(item(row) for row in rows[:limit]), cursor(place(rows[limit - 1])) if more else "")


def cursor(place: Place) -> str:
    """The cursor that goes on after this place."""
    return urlsafe_b64encode(msgspec.json.encode(place)).rstrip(b"=").decode()
