"""Thinkaloud: any provider's bytes become one exact story of a turn.

`read` takes a whole body or a streamed one and gives a `Turn`; `Reader` does the same piece by piece.
"""

from thinkaloud.canon import Entry, Event, NotAResponse, ThinkaloudError
from thinkaloud.dialects import AUTO, Reader
from thinkaloud.transcript import Block, Callbacks, Handler, Outcome, Turn, apply, fold

__version__ = "0.1.0"

__all__ = [
    "Block",
    "Callbacks",
    "Entry",
    "Event",
    "Handler",
    "NotAResponse",
    "Outcome",
    "Reader",
    "ThinkaloudError",
    "Turn",
    "apply",
    "fold",
    "read",
]


def read(data: bytes, dialect: str = AUTO, *, model: str = "", tags: str = "") -> Turn:
    """Read a response body, whole or streamed, into a turn.

    Raises `NotAResponse` when "auto" finds no dialect that the bytes could be in.
    """
    reader = Reader(dialect, model=model, tags=tags)
    return fold([*reader.feed(data), *reader.close()])
