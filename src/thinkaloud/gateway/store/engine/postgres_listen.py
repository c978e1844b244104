"""Listens to the notifications of a PostgreSQL server, over a connection of its own.

When the connection breaks it is made again, and whoever listens is told that notifications may be lost.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg

from thinkaloud.gateway.store.engine.database import OnWakeup
from thinkaloud.gateway.store.engine.postgres_connect import TimeLimits, connect_async, read_timeline_async
from thinkaloud.gateway.store.engine.wakeups import CHANNELS, Wakeup, read_wakeup

logger = logging.getLogger(__name__)

RECONNECT_S = 0.5
_LIMITS = TimeLimits()


class PostgresListener:
    """Calls back for every notification. `connected` says whether they arrive at present."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._timeline = ""
        self.connected = False

    @asynccontextmanager
    async def listen(self, on_wakeup: OnWakeup) -> AsyncIterator[None]:
        """Listen until the block ends."""
        task = asyncio.create_task(self._run(on_wakeup), name="thinkaloud-listen")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait((task,))

    async def _run(self, on_wakeup: OnWakeup) -> None:
        reported = False
        while True:
            try:
                async with await connect_async(self._url, _LIMITS, name="listen") as connection:
                    await self._receive(connection, on_wakeup)
            except (psycopg.Error, OSError) as error:
                if self.connected or not reported:
                    logger.warning("notifications of the database are lost: %s. Reconnecting.", error)
                self.connected, reported = False, True
            await asyncio.sleep(RECONNECT_S)

    async def _receive(self, connection: psycopg.AsyncConnection[Any], on_wakeup: OnWakeup) -> None:
        for channel in CHANNELS:
            await connection.execute(f"LISTEN {channel}".encode())
        self.connected = True
        timeline = await read_timeline_async(connection)
        if timeline and self._timeline not in ("", timeline):
            on_wakeup(Wakeup(replaced=True))
        self._timeline = timeline or self._timeline
        on_wakeup(Wakeup())
        on_wakeup(Wakeup(commands=True))
        async for notification in connection.notifies():
            on_wakeup(read_wakeup(notification.channel, notification.payload))
