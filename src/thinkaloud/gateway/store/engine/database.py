"""The interface of a database engine: read, write, and append to logs. Writes are durable on return.

Queries are plain functions of a connection. The engine decides where they run, for example SQLite in threads.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Protocol, TypeVar

import msgspec
from sqlalchemy import Connection

from thinkaloud.core.canon import Refused, ThinkaloudError
from thinkaloud.gateway.store.engine.coordination import Wakeup

T = TypeVar("T")
Query = Callable[[Connection], T]
OnWakeup = Callable[[Wakeup], None]


class NotSaved(ThinkaloudError):
    """A write failed because the disk is full, read-only or broken. The data is still in memory."""

    @property
    def reason(self) -> str:
        """The reason, without the rest of the message; empty if it is not known."""
        return str(self.wording.fields.get("reason", ""))


class DatabaseReplaced(NotSaved):
    """Another server has taken the place of the database, such as a replica. It may lack the last commits."""


class FailureLog:
    """Logs when something begins to fail, and when it works again: not each of the tries in between."""

    def __init__(self, logger: logging.Logger, work: str) -> None:
        self._logger = logger
        self._work = work
        self.failing = False
        """Whether the last attempt has failed."""

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Try something that is tried again later: any failure may pass. What fails ends the block only.

        The traceback of a failure is logged too, unless it is known what it means.
        """
        try:
            yield
        except Exception as error:
            if not self.failing:
                trace = None if isinstance(error, NotSaved) else error
                self._logger.warning("%s fails: %s Retrying.", self._work, error, exc_info=trace)
            self.failing = True
        else:
            if self.failing:
                self._logger.warning("%s works again", self._work)
            self.failing = False


class DatabaseInUse(Refused):
    """Another gateway has opened this database."""


class Batch(msgspec.Struct, frozen=True):
    """Entries of one turn that are appended to the log together, as lines of JSON."""

    turn: int
    epoch: int
    first_seq: int
    last_seq: int
    entries: bytes
    start: Query[object] | None = None
    """Saves the turn itself, where that was put off until its first commit."""


class Database(Protocol):
    """A database engine."""

    @property
    def exclusive(self) -> bool:
        """Whether no other process can write turns. Then a turn that runs at the start is abandoned."""

    @property
    def stuck_s(self) -> float:
        """How long the change that runs now has taken; 0 if the engine itself limits that."""

    async def read(self, query: Query[T]) -> T:
        """Run a query on one snapshot, read-only."""

    async def read_long(self, query: Query[T]) -> T:
        """Run a query that may take seconds, such as an export, so that other reads do not wait for it."""

    async def write(self, change: Query[T]) -> T:
        """Run a change in one transaction. Raises `NotSaved` if it did not reach the disk."""

    async def write_urgent(self, change: Query[T]) -> T:
        """Run a short change that must not wait for other queries: the renewal of a lease."""

    def listen(self, on_wakeup: OnWakeup) -> AbstractAsyncContextManager[None]:
        """Call back within this context when another process has changed turns. Calls may be lost."""

    async def write_short(self, change: Query[T]) -> T:
        """Run a change that takes less than a millisecond: as `write`, in one commit with others that wait.

        A change that fails is undone by itself.
        """

    async def append(self, batches: Sequence[Batch]) -> tuple[int, ...]:
        """Append to the logs in one commit. Returns the keys of turns that another writer has taken over.

        Raises `NotSaved` if nothing reached the disk, and `DatabaseReplaced` once after a failover.
        """

    async def erase_deleted(self, mark: str, *, old: bool = False) -> bool:
        """Erase the words of deleted rows from the files, in short steps. `mark` is of the last deletion.

        With `old` also what earlier versions left: once, before any turn runs. Returns False if a reader
        holds it up. Then try again.
        """


def in_sequence(first: Query[object], second: Query[T]) -> Query[T]:
    """Return a change that makes both, and returns what the second one returns."""

    def both(conn: Connection) -> T:
        first(conn)
        return second(conn)

    return both
