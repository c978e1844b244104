"""uvicorn's HTTP with bounds: by itself it takes headers and trailers of any length, for any time.

What is counted is bytes that nothing comes of: no end of headers, no piece of a body, no end of a message.
What is refused here never becomes a request, so the answer is written as bytes.
"""

import asyncio
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from thinkaloud.server.app import JSON, SECURITY_HEADERS
from thinkaloud.server.endpoint import ABORT_EXTENSION
from thinkaloud.server.errors import (
    BadRequest,
    HeadersTooLarge,
    HttpRefusal,
    RequestTimeout,
    error_response,
)
from thinkaloud.server.limits import GatewayLimits


class LimitedHttpProtocol(HttpToolsProtocol):
    """One connection."""

    limits = GatewayLimits()
    _bytes_without_progress = 0
    _progressed = False
    _in_headers = False
    _timeout: asyncio.TimerHandle | None = None

    @classmethod
    def with_limits(cls, limits: GatewayLimits) -> type["LimitedHttpProtocol"]:
        """Connections that are held to these limits."""
        return type(cls.__name__, (cls,), {"limits": limits})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there, and has so long to say what they want."""
        super().connection_made(transport)
        self._start_timeout()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        self._cancel_timeout()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, unless too much came to nothing."""
        self._progressed = False
        super().data_received(data)
        self._bytes_without_progress = 0 if self._progressed else self._bytes_without_progress + len(data)
        if self._bytes_without_progress > self.limits.header_bytes:
            max_bytes = f"{self.limits.header_bytes:,}"
            self._refuse(HeadersTooLarge(f"The headers are larger than {max_bytes} bytes. Send less."))
        elif self._in_headers and self._timeout is None:
            self._start_timeout()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_headers = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """All headers are there."""
        self._in_headers, self._progressed = False, True
        self._cancel_timeout()
        if not self._host_matches():
            self._refuse(BadRequest("The address names another host than the Host header. Send one of them."))
            return
        super().on_headers_complete()
        self.scope["extensions"] = {ABORT_EXTENSION: {"now": self.transport.abort}}

    def on_body(self, body: bytes) -> None:
        """A piece of a body is there."""
        self._progressed = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """All of the request is there."""
        self._progressed = True
        self._cancel_timeout()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The answer is sent; who was refused before all of a body came may not go on sending for ever."""
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body:
            self._cancel_timeout()
            self._timeout = self.loop.call_later(self.limits.head_s, self.transport.close)

    def send_400_response(self, msg: str) -> None:
        """What came is not HTTP; uvicorn's own words for it are not in the form that ours have."""
        self._refuse(BadRequest("What came is not a request of HTTP/1.1, so it was not read any further."))

    def _host_matches(self) -> bool:
        """Whether the address, where it is written in full, says the same as the header."""
        if self.url.startswith((b"/", b"*")):
            return True
        scheme, _, target = self.url.lower().partition(b"://")
        host_headers = [value.lower() for name, value in self.headers if name == b"host"]
        return scheme == b"http" and host_headers == [target.partition(b"/")[0]]

    def _start_timeout(self) -> None:
        seconds = self.limits.head_s
        refusal = RequestTimeout(f"The headers did not come within {seconds:g} s. Send the request again.")
        self._timeout = self.loop.call_later(seconds, self._refuse, refusal)

    def _cancel_timeout(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None

    def _refuse(self, refusal: HttpRefusal) -> None:
        """Answer and close; where another answer is on its way, just close."""
        if self.transport.is_closing():
            return
        cycle = getattr(self, "cycle", None)  # there is none before the first request
        if cycle is None or not cycle.response_started or cycle.response_complete:
            self.transport.write(_response_bytes(refusal))
        self.transport.close()


def _response_bytes(refusal: HttpRefusal) -> bytes:
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
