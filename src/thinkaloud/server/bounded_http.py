"""uvicorn's HTTP with bounds: by itself it takes headers and trailers of any length, for any time.

What is counted is bytes that nothing comes of: no end of headers, no piece of a body, no end of a message.
What is refused here never becomes a request, so the answer is written as bytes.
"""

import asyncio
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from thinkaloud.server.door import JSON, SAFETY
from thinkaloud.server.limits import Limits
from thinkaloud.server.refusals import BadRequest, Denied, HeadersTooLarge, TooSlow, answer_to
from thinkaloud.server.routing import ABORT


class BoundedHttp(HttpToolsProtocol):
    """One connection."""

    limits = Limits()
    _fruitless_bytes = 0
    _fruit = False
    _in_head = False
    _hurry: asyncio.TimerHandle | None = None

    @classmethod
    def within(cls, limits: Limits) -> type["BoundedHttp"]:
        """Connections that are held to these limits."""
        return type(cls.__name__, (cls,), {"limits": limits})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there, and has so long to say what they want."""
        super().connection_made(transport)
        self._hurry_up()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        self._rest()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, unless too much came to nothing."""
        self._fruit = False
        super().data_received(data)
        self._fruitless_bytes = 0 if self._fruit else self._fruitless_bytes + len(data)
        if self._fruitless_bytes > self.limits.header_bytes:
            most = f"{self.limits.header_bytes:,}"
            self._refuse(HeadersTooLarge(f"The headers are larger than {most} bytes. Send less."))
        elif self._in_head and self._hurry is None:
            self._hurry_up()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """All headers are there."""
        self._in_head, self._fruit = False, True
        self._rest()
        if not self._one_host():
            self._refuse(BadRequest("The address names another host than the Host header. Send one of them."))
            return
        super().on_headers_complete()
        self.scope["extensions"] = {ABORT: {"now": self.transport.abort}}

    def on_body(self, body: bytes) -> None:
        """A piece of a body is there."""
        self._fruit = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """All of the request is there."""
        self._fruit = True
        self._rest()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The answer is sent; who was refused before all of a body came may not go on sending for ever."""
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body:
            self._rest()
            self._hurry = self.loop.call_later(self.limits.head_s, self.transport.close)

    def send_400_response(self, msg: str) -> None:
        """What came is not HTTP; uvicorn's own words for it are not in the form that ours have."""
        self._refuse(BadRequest("What came is not a request of HTTP/1.1, so it was not read any further."))

    def _one_host(self) -> bool:
        """Whether the address, where it is written in full, says the same as the header."""
        if self.url.startswith((b"/", b"*")):
            return True
        scheme, _, rest = self.url.lower().partition(b"://")
        named = [value.lower() for name, value in self.headers if name == b"host"]
        return scheme == b"http" and named == [rest.partition(b"/")[0]]

    def _hurry_up(self) -> None:
        seconds = self.limits.head_s
        late = TooSlow(f"The headers did not come within {seconds:g} s. Send the request again.")
        self._hurry = self.loop.call_later(seconds, self._refuse, late)

    def _rest(self) -> None:
        if self._hurry is not None:
            self._hurry.cancel()
            self._hurry = None

    def _refuse(self, denied: Denied) -> None:
        """Answer and close; where another answer is on its way, just close."""
        if self.transport.is_closing():
            return
        cycle = getattr(self, "cycle", None)  # there is none before the first request
        if cycle is None or not cycle.response_started or cycle.response_complete:
            self.transport.write(_answer(denied))
        self.transport.close()


def _answer(denied: Denied) -> bytes:
    told = answer_to(denied)
    body = told.body
    headers = [
        (b"content-type", JSON.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *SAFETY,
    ]
    first = f"HTTP/1.1 {told.status} {HTTPStatus(told.status).phrase}\r\n".encode()
    return first + b"".join(b"%b: %b\r\n" % pair for pair in headers) + b"\r\n" + body
