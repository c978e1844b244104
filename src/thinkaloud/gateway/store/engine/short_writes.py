"""Short changes that share one transaction, and the tasks that wait for their results."""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from thinkaloud.gateway.store.engine.database import Query


class ShortWrite(NamedTuple):
    """A short change that waits for the writer thread, and the future of its result."""

    change: Query[Any]
    future: asyncio.Future[Any]


Outcome = tuple[Any, Exception | None]
"""The result of a short change, or its error."""


def set_outcomes(writes: Sequence[ShortWrite], running: asyncio.Future[list[Outcome]]) -> None:
    """Pass the results of a transaction to the tasks that wait for them."""
    error = running.exception()
    outcomes = running.result() if error is None else [(None, error)] * len(writes)
    for write, (result, write_error) in zip(writes, outcomes, strict=True):
        if write.future.done():  # its task was cancelled
            continue
        if write_error is None:
            write.future.set_result(result)
        else:
            write.future.set_exception(write_error)
