"""The time limit for the headers of a request, for both of uvicorn's HTTP protocols.

A request that is refused here never reaches the application, so its response is written to the transport as
bytes.
"""

import asyncio
from http import HTTPStatus
from typing import Any, Self

from thinkaloud.server.app import JSON, SECURITY_HEADERS
from thinkaloud.server.errors import HttpRefusal, RequestTimeout, error_response
from thinkaloud.server.limits import GatewayLimits


class HeaderTimeout(asyncio.Protocol):
    """One client connection that is refused if its headers do not arrive in time.

    A protocol of uvicorn follows as the second base class. It calls `_cancel_timeout` when headers are
    complete, and `_start_timeout` when the next ones begin.
    """

    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    limits = GatewayLimits()
    _timeout: asyncio.TimerHandle | None = None

    @classmethod
    def with_limits(cls, limits: GatewayLimits) -> type[Self]:
        """Return a subclass with these limits. uvicorn takes a class and creates the instances itself."""
        return type(cls.__name__, (cls,), {"limits": limits})

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the timeout for the first headers."""
        super().connection_made(transport)
        self._start_timeout()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout."""
        self._cancel_timeout()
        super().connection_lost(exc)

    def _start_timeout(self) -> None:
        seconds = self.limits.head_s
        refusal = RequestTimeout(f"The headers did not arrive within {seconds:g} s. Send the request again.")
        self._timeout = self.loop.call_later(seconds, self._refuse, refusal)

    def _cancel_timeout(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None

    def _refuse(self, refusal: HttpRefusal) -> None:
        """Send the error and close. If another response has started, only close."""
        if self.transport.is_closing():
            return
        cycle: Any = getattr(self, "cycle", None)  # there is none before the first request
        if cycle is None or not cycle.response_started or cycle.response_complete:
            self.transport.write(_response_bytes(refusal))
        self.transport.close()


def _response_bytes(refusal: HttpRefusal) -> bytes:
    """Return a whole response that closes the connection."""
    response = error_response(refusal)
    body = response.body
    headers = [
        (b"content-type", JSON.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *SECURITY_HEADERS,
    ]
    status_line = f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}\r\n".encode()
    return status_line + b"".join(b"%b: %b\r\n" % pair for pair in headers) + b"\r\n" + body
