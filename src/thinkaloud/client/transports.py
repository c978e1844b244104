"""The two transports of the client: connections of its own, and aiohttp for what they cannot do."""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakSet

import aiohttp

if TYPE_CHECKING:
    from thinkaloud.client.connection import ConnectionPool, HttpResponse
    from thinkaloud.client.response import SizeLimits
    from thinkaloud.client.retry import Timeouts


@dataclass
class ConnectionUse:
    """The connection used by one request, so that it can be dropped, and whether it was reused."""

    connection: aiohttp.connector.Connection | None = None
    response: "HttpResponse | None" = None
    """The response on a connection of our own."""
    used_before: bool = False

    def drop(self) -> None:
        """Drop the connection."""
        if self.response is not None:
            self.response.abort()
        if self.connection is not None:
            if self.connection.transport is not None:
                self.connection.transport.abort()
            self.connection.close()


connection_use: ContextVar[ConnectionUse] = ContextVar("connection_use")
_used_protocols: WeakSet[object] = WeakSet()


class TrackedRequest(aiohttp.ClientRequest):
    """Records the connection it uses, so that a cancelled request can drop it even before it was sent."""

    async def send(self, conn: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        """Send the request and record the connection."""
        use = connection_use.get()
        use.connection, use.used_before = conn, conn.protocol in _used_protocols
        _used_protocols.add(conn.protocol)
        return await super().send(conn)


class AiohttpResponse:
    """A response of aiohttp as an `OpenResponse`."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers = response.headers
        self.content_type = response.content_type

    async def read(self) -> bytes:
        """Return the next bytes of the body."""
        return await self._response.content.readany()

    def take_buffered(self) -> bytes:
        """Return the bytes that arrived before the connection broke."""
        # aiohttp would discard these bytes with its exception.
        self._response.content.set_exception(cast(Any, None))
        return self._response.content.read_nowait()

    def abort(self) -> None:
        """Drop the connection at once, unless the body is complete."""
        connection = self._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()

    def close(self) -> None:
        """Drop the connection, unless the body is complete."""
        self._response.close()


def make_pool(timeouts: "Timeouts", limits: "SizeLimits", most: int) -> "ConnectionPool | None":
    """Return the pool of our own connections; None without `httptools`, which comes with the gateway."""
    try:
        from thinkaloud.client.connection import ConnectionPool
    except ModuleNotFoundError as error:
        if error.name != "httptools":
            raise
        return None
    return ConnectionPool(timeouts.connect_s, limits, most)
