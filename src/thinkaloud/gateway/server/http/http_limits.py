"""uvicorn's HTTP protocol with limits. By itself it accepts headers and trailers of any length and time.

Only bytes without progress are counted: bytes that complete no headers, no body chunk and no message. A
request that is refused here never reaches the application, so its response is written to the transport as
bytes.
"""

import asyncio
from http import HTTPStatus
from typing import Any, Self, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from thinkaloud.gateway.server.http.app import SECURITY_HEADERS
from thinkaloud.gateway.server.http.errors import (
    BadRequest,
    HeadersTooLarge,
    HttpRefusal,
    RequestTimeout,
    error_response,
)
from thinkaloud.gateway.server.http.limits import GatewayLimits
from thinkaloud.gateway.server.http.route import ABORT_EXTENSION, JSON


class LimitedHttpProtocol(HttpToolsProtocol):
    """One client connection with limits on header size and time."""

    limits = GatewayLimits()
    _timeout: asyncio.TimerHandle | None = None
    _bytes_without_progress = 0
    _progressed = False
    _in_headers = False

    @classmethod
    def with_limits(cls, limits: GatewayLimits) -> type[Self]:
        """Return a subclass with these limits. uvicorn takes a class and creates the instances itself."""
        return type(cls.__name__, (cls,), {"limits": limits})

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the timeout for the first headers."""
        super().connection_made(cast(asyncio.Transport, transport))
        self._start_timeout()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout."""
        self._cancel_timeout()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the data. Refuse the connection after too many bytes without progress."""
        self._progressed = False
        super().data_received(data)
        self._bytes_without_progress = 0 if self._progressed else self._bytes_without_progress + len(data)
        if self._bytes_without_progress > self.limits.header_bytes:
            max_bytes = f"{self.limits.header_bytes:,}"
            self._refuse(
                HeadersTooLarge(
                    "The headers are larger than {max_bytes} bytes. Send less.", max_bytes=max_bytes
                )
            )
        elif self._in_headers and self._timeout is None:
            self._start_timeout()

    def on_message_begin(self) -> None:
        """Note that a request has started and its headers follow."""
        self._in_headers = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop the header timeout and check that URL and Host header agree."""
        self._in_headers, self._progressed = False, True
        self._cancel_timeout()
        if not self._host_matches():
            self._refuse(
                BadRequest("The URL and the Host header name different hosts. Send the same in both.")
            )
            return
        super().on_headers_complete()
        self.scope["extensions"] = {ABORT_EXTENSION: {"now": self.transport.abort}}

    def on_body(self, body: bytes) -> None:
        """Note progress: a chunk of a body arrived."""
        self._progressed = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note progress: the request is complete."""
        self._progressed = True
        self._cancel_timeout()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Start a timeout for the rest of a body that was refused before it was read completely."""
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body:
            self._cancel_timeout()
            self._timeout = self.loop.call_later(self.limits.head_s, self.transport.close)

    def send_400_response(self, msg: str) -> None:
        """Refuse data that is not HTTP. Overridden because uvicorn's own response is not JSON."""
        self._refuse(BadRequest("The data is not a valid HTTP/1.1 request. Send one."))

    def _start_timeout(self) -> None:
        seconds = self.limits.head_s
        refusal = RequestTimeout(
            "The headers did not arrive within {seconds} s. Send the request again.", seconds=f"{seconds:g}"
        )
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

    def _host_matches(self) -> bool:
        """Return whether a URL in absolute form names the same host as the Host header."""
        if self.url.startswith((b"/", b"*")):
            return True
        scheme, _, target = self.url.lower().partition(b"://")
        host_headers = [value.lower() for name, value in self.headers if name == b"host"]
        return scheme == b"http" and host_headers == [target.partition(b"/")[0]]


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
