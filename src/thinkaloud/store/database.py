"""What the rest of the gateway asks of an engine: read, write, and append to logs, all durable on return.

Queries are plain functions of a connection. An engine decides where they run: SQLite in threads, PostgreSQL
on the event loop through the same functions.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import msgspec
from sqlalchemy import Connection

from thinkaloud.canon import Refused, ThinkaloudError

T = TypeVar("T")
Query = Callable[[Connection], T]


class NotSaved(ThinkaloudError):
    """The disk took nothing: it is full, read-only or broken. What was to be written is still in memory."""


class DatabaseInUse(Refused):
    """Another gateway writes to this database."""


class Batch(msgspec.Struct, frozen=True, gc=False):
    """Entries of one turn that go to the log together, as lines of JSON."""

    turn: int
    epoch: int
    first_seq: int
    last_seq: int
    entries: bytes


class Database(Protocol):
    """An engine."""

    @property
    def exclusive(self) -> bool:
        """Whether nobody else can be writing turns: then whatever runs at the start was left behind."""

    async def read(self, query: Query[T]) -> T:
        """Look at one snapshot; nothing can be changed."""

    async def write(self, change: Query[T]) -> T:
        """Change something in one transaction. Raises `NotSaved` when it did not reach the disk."""

    async def append(self, batches: Sequence[Batch]) -> tuple[int, ...]:
        """Add to the logs, all in one commit; the keys of turns that another writer has taken over.

        Raises `NotSaved` when nothing reached the disk.
        """
