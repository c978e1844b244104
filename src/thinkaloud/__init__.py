"""Thinkaloud: any provider's bytes become one exact story of a turn, and any model is asked the way it takes.

`read` takes a whole body or a streamed one and gives a `Turn`; `Reader` does the same piece by piece.
`ask` and `stream` send a prompt or a conversation; what they need is imported when they are first used.
"""

from typing import TYPE_CHECKING

from thinkaloud.canon import Entry, Event, NotAResponse, ThinkaloudError
from thinkaloud.dialects import AUTO, Reader
from thinkaloud.transcript import Block, Callbacks, Handler, Outcome, Turn, apply, fold

if TYPE_CHECKING:
    from thinkaloud.client.api import ask, ask_sync, stream, stream_sync
    from thinkaloud.client.prepare import Options
    from thinkaloud.context import Conversation

__version__ = "0.1.0"

__all__ = [
    "Block",
    "Callbacks",
    "Conversation",
    "Entry",
    "Event",
    "Handler",
    "NotAResponse",
    "Options",
    "Outcome",
    "Reader",
    "ThinkaloudError",
    "Turn",
    "apply",
    "ask",
    "ask_sync",
    "fold",
    "read",
    "stream",
    "stream_sync",
]

_LAZY_NAMES = ("Conversation", "Options", "ask", "ask_sync", "stream", "stream_sync")


def read(data: bytes, dialect: str = AUTO, *, model: str = "", tags: str = "") -> Turn:
    """Read a response body, whole or streamed, into a turn.

    Raises `NotAResponse` when "auto" finds no dialect that the bytes could be in.
    """
    reader = Reader(dialect, model=model, tags=tags)
    return fold([*reader.feed(data), *reader.close()])


def __getattr__(name: str) -> object:
    if name in _LAZY_NAMES:
        from thinkaloud.client import api

        return getattr(api, name)
    raise AttributeError(f"module 'thinkaloud' has no attribute {name!r}")
