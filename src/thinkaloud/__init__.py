"""Thinkaloud reads the responses of any model provider and sends requests to it.

`read` turns a response body, whole or streamed, into a `Turn`; `Reader` does the same chunk by chunk.
`ask` and `stream` send a prompt or a conversation. They are imported on first use, so that reading alone does
not load the HTTP client.
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

    Raises `NotAResponse` if `dialect` is "auto" and the bytes match no known dialect.
    """
    reader = Reader(dialect, model=model, tags=tags)
    return fold([*reader.feed(data), *reader.close()])


def __getattr__(name: str) -> object:
    if name in _LAZY_NAMES:
        from thinkaloud.client import api

        return getattr(api, name)
    raise AttributeError(f"module 'thinkaloud' has no attribute {name!r}")
