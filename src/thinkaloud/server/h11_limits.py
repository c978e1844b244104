"""uvicorn's HTTP protocol in pure Python, with a time limit for headers. Used if httptools is not installed.

h11 itself limits the size of headers, and uvicorn refuses what is larger.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from thinkaloud.server.errors import RequestTimeout
from thinkaloud.server.limits import GatewayLimits
from thinkaloud.server.raw_response import response_bytes


class TimedH11Protocol(H11Protocol):
    """One client connection with a limit on the time of headers."""

    limits = GatewayLimits()
    _timeout: asyncio.TimerHandle | None = None

    @classmethod
    def with_limits(cls, limits: GatewayLimits) -> type["TimedH11Protocol"]:
        """Return a subclass with these limits. uvicorn takes a class and creates the instances itself."""
        return type(cls.__name__, (cls,), {"limits": limits})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout for the first headers."""
        super().connection_made(transport)
        self._start_timeout()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout."""
        self._cancel_timeout()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the data. The timeout runs from the first byte of a request to the end of its headers."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._cancel_timeout()
        elif self._timeout is None:
            self._start_timeout()

    def _start_timeout(self) -> None:
        self._timeout = self.loop.call_later(self.limits.head_s, self._refuse)

    def _cancel_timeout(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None

    def _refuse(self) -> None:
        if not self.transport.is_closing():
            message = f"The headers did not arrive within {self.limits.head_s:g} s. Send the request again."
            self.transport.write(response_bytes(RequestTimeout(message)))
            self.transport.close()
