"""The one way in: every request passes the same checks in the same order, whatever it asks for.

Size of the headers, host, origin, route, content type, who it is, what they may touch, body, query; then the
handler. Ordinary routes answer through Starlette, streams are plain ASGI and send what they send. Whatever is
raised becomes an answer, and no error ends the process.
"""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl

import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.routing import Route as Place
from starlette.routing import Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thinkaloud.server import page
from thinkaloud.server.access import Entrance, Reception, Visitor
from thinkaloud.server.events import stream_events
from thinkaloud.server.limits import Limits
from thinkaloud.server.refusals import (
    BadRequest,
    HeadersTooLarge,
    NotFound,
    TooLarge,
    TooSlow,
    Unprocessable,
    WrongMethod,
    WrongType,
    answer_to,
)
from thinkaloud.server.routes import ROUTES
from thinkaloud.server.routing import ABORT, Call, Granted, Left, Reply, Route

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway

logger = logging.getLogger("thinkaloud.requests")

JSON = "application/json"
EVENTS = "text/event-stream"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
SAFETY = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""On every response. There are no CORS headers at all: no other site's page may read anything."""

UNMATCHED = "unmatched"
LEFT = 499
"""What the log says of a request whose sender went away before there was an answer."""
_VISIT = "thinkaloud.visit"
_CROOKED = re.compile(rb"%2f|%5c|%00|\\", re.IGNORECASE)
"""Slashes in disguise: what stands before us may read them as others do not."""
_UNASKED = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data")
"""What a page may send to another site without asking: refused also where nothing is in it."""
_READING = ("GET", "HEAD", "OPTIONS")
_ONCE = frozenset(
    b"authorization content-encoding content-length content-type host idempotency-key last-event-id origin "
    b"sec-fetch-site thinkaloud-workspace transfer-encoding x-api-key".split()
)
"""What the gateway goes by. If one came twice, two readers could take it for two different things."""


class Stream(Protocol):
    """What sends a stream: `events.stream_events`."""

    def __call__(
        self,
        gateway: "Gateway",
        granted: Granted,
        query: Any,
        headers: Mapping[str, str],
        receive: Receive,
        send: Send,
    ) -> Awaitable[None]:
        """Send all of it."""


class NoBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a route without a body may be sent all the same: an empty object."""


class Visit(msgspec.Struct):
    """What becomes known of a request on its way; the log tells it in one line."""

    visitor: Visitor | None = None
    headers: dict[bytes, bytes] = {}
    granted: Granted = Granted()
    route: str = ""
    """As the table has it, never as it was asked for."""
    streams: bool = False
    status: int = 0


def application(
    gateway: "Gateway",
    entrance: Entrance,
    routes: Sequence[Route] = ROUTES,
    stream: Stream = stream_events,
) -> ASGIApp:
    """The gateway as an ASGI application."""
    return Door(gateway, entrance, routes, stream)


class Door:
    """Checks what every request has in common, finds its place, and answers for whatever happens there."""

    def __init__(
        self, gateway: "Gateway", entrance: Entrance, routes: Sequence[Route], stream: Stream
    ) -> None:
        self._gateway = gateway
        self._limits = gateway.settings.limits
        self._reception = Reception(gateway, entrance)
        by_path: dict[str, dict[str, _Entry]] = {}
        for route in (*routes, *page.routes()):
            by_path.setdefault(route.path, {})[route.method] = _Entry(route, gateway, self._reception, stream)
        places = [Place(path, _Methods(path, entries)) for path, entries in by_path.items()]
        self._router = Router(places, redirect_slashes=False, default=_nowhere)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise ValueError(f"only HTTP is served here, not {scope['type']}")
        begun = time.perf_counter()
        visit = scope[_VISIT] = Visit()

        def answer(message: Message) -> Awaitable[None]:
            # A plain function: it costs a stream nothing to speak of, whatever it sends.
            if message["type"] == "http.response.start":
                visit.status = message["status"]
                said = message["headers"]
                named = {name for name, _ in said}
                message["headers"] = [*said, *(pair for pair in SAFETY if pair[0] not in named)]
            return send(message)

        try:
            visit.headers = _read_headers(scope, self._limits)
            told = page.judged_by(scope["method"], scope["path"], visit.headers)
            visit.visitor = self._reception.visitor(told, scope.get("client"), scope.get("server"))
            await self._router(scope, receive, answer)
        except Left:
            visit.status = visit.status or LEFT
            await _abort(scope)
        except Exception as error:  # noqa: BLE001 the last place where anything can be answered
            await _refuse(error, visit, answer)
        finally:
            self._tell(scope["method"], visit, time.perf_counter() - begun)

    def _tell(self, method: str, visit: Visit, seconds: float) -> None:
        user = visit.granted.user
        label = f"{method} {visit.route}" if visit.route else UNMATCHED
        self._gateway.metrics.request(label, visit.status, None if visit.streams else seconds)
        logger.info(
            "%s %d",
            label,
            visit.status,
            extra={
                "method": method,
                "route": visit.route,
                "status": visit.status,
                "ms": round(seconds * 1000, 2),
                "user": "" if user is None else user.id,
            },
        )


class _Methods:
    """One path of the table: finds the method, and answers for those that are not there."""

    def __init__(self, path: str, entries: Mapping[str, "_Entry"]) -> None:
        self._entries = dict(entries)
        if "GET" in entries:
            self._entries["HEAD"] = entries["GET"]
        self._allowed = ", ".join(sorted({*self._entries, "OPTIONS"}))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        entry = self._entries.get(scope["method"])
        if entry is not None:
            await entry(scope, receive, send)
        elif scope["method"] == "OPTIONS":
            await Response(status_code=204, headers={"Allow": self._allowed})(scope, receive, send)
        else:
            raise WrongMethod(scope["method"], self._allowed)


class _Entry:
    """A route, ready to be called: what it takes is known before the first request."""

    def __init__(self, route: Route, gateway: "Gateway", reception: Reception, stream: Stream) -> None:
        for taken in (route.query, route.body):
            if taken is not None and not taken.__struct_config__.forbid_unknown_fields:
                raise TypeError(f"{taken.__name__} of {route.path} must forbid unknown fields")
        self._route = route
        self._gateway = gateway
        self._reception = reception
        self._stream = stream
        self._parameters = frozenset(field.encode_name for field in msgspec.structs.fields(route.query))
        self._no_parameters = None if self._required(route.query) else route.query()
        self._decode = msgspec.json.Decoder(route.body or NoBody).decode
        self._raw = route.body is None and route.media_types != (JSON,)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit: Visit = scope[_VISIT]
        visit.route = self._route.path
        media_type = self._media_type(scope["method"], visit.headers)
        assert visit.visitor is not None
        visit.granted = await self._reception.admit(self._route, visit.visitor, scope["path_params"])
        raw = await _read_body(receive, visit.headers, self._gateway.settings.limits) if media_type else b""
        query = self._query(scope["query_string"])
        body = self._body(media_type, raw)
        headers = Headers(scope=scope)
        if self._route.handler is None:
            visit.streams = True
            if scope["method"] == "HEAD":
                await Response(media_type=EVENTS)(scope, receive, send)
            else:
                await self._stream(self._gateway, visit.granted, query, headers, receive, send)
            return
        told = await self._route.handler(
            Call(
                gateway=self._gateway,
                granted=visit.granted,
                headers=headers,
                query=query,
                body=body,
                raw=raw,
            )
        )
        await _response(told, self._route.status)(scope, receive, send)

    def _media_type(self, method: str, headers: Mapping[bytes, bytes]) -> str:
        """The type of the body, which must be one that the route reads; empty where there is no body."""
        empty = headers.get(b"content-length", b"0") == b"0" and not _chunked(headers)
        said, _, parameters = headers.get(b"content-type", b"").decode("latin-1").lower().partition(";")
        media_type, charset = said.strip(), parameters.replace(" ", "").replace('"', "")
        if method in _READING or (empty and media_type not in _UNASKED):
            return ""
        if (
            media_type not in self._route.media_types
            or charset not in ("", "charset=utf-8")
            or headers.get(b"content-encoding", b"identity") != b"identity"
        ):
            wanted = " or ".join(self._route.media_types)
            raise WrongType(
                f"The body must be {wanted}, in UTF-8 and not compressed, and its Content-Type must say so."
            )
        return media_type

    def _query(self, query_string: bytes) -> msgspec.Struct:
        if not query_string and self._no_parameters is not None:
            return self._no_parameters
        most = self._gateway.settings.limits.query_parameters
        try:
            pairs = parse_qsl(
                query_string.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=most
            )
        except ValueError as error:
            raise BadRequest(
                "The query of the address cannot be read: it is not UTF-8, or too long."
            ) from error
        given = dict(pairs)
        if unknown := sorted(given.keys() - self._parameters):
            raise BadRequest(
                f"{unknown[0][:40]!r} is not a parameter here. There is: {_listed(self._parameters)}."
            )
        if len(given) != len(pairs):
            raise BadRequest("A parameter of the address came twice. Send each once.")
        try:
            return msgspec.convert(given, self._route.query, strict=False)
        except msgspec.ValidationError as error:
            raise BadRequest(f"The query of the address is not right: {error}.") from error

    def _body(self, media_type: str, raw: bytes) -> msgspec.Struct | None:
        if self._raw or (media_type and media_type != JSON):
            return None
        if not raw and self._route.body is None:
            return None
        try:
            return self._decode(raw)
        except msgspec.ValidationError as error:
            raise Unprocessable(f"The body is not what is taken here: {error}.") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadRequest(f"The body is not JSON: {error}.") from error
        except RecursionError as error:
            raise BadRequest("The body is nested too deeply to be read.") from error

    @staticmethod
    def _required(query: type[msgspec.Struct]) -> bool:
        return any(field.required for field in msgspec.structs.fields(query))


def _read_headers(scope: Scope, limits: Limits) -> dict[bytes, bytes]:
    """All of them by name, counted; of one that may come often, the last."""
    size = len(scope.get("raw_path") or b"") + len(scope["query_string"])
    found: dict[bytes, bytes] = {}
    repeated = b""
    for name, value in scope["headers"]:
        size += len(name) + len(value) + 4
        if name in found and name in _ONCE:
            repeated = name
        found[name] = value
    if size > limits.header_bytes:
        raise HeadersTooLarge(
            f"The address and the headers are larger than {limits.header_bytes:,} bytes together. Send less."
        )
    if _CROOKED.search(scope.get("raw_path") or b""):
        raise NotFound("There is no such path: slashes are written as slashes here.")
    if repeated:
        raise BadRequest(f"The header {repeated.decode()} came twice. Send it once.")
    return found


def _chunked(headers: Mapping[bytes, bytes]) -> bool:
    return b"transfer-encoding" in headers


async def _read_body(receive: Receive, headers: Mapping[bytes, bytes], limits: Limits) -> bytes:
    """All of it, counted as it comes: what is too large is refused where that is first known."""
    declared = headers.get(b"content-length", b"0")
    if not declared.isdigit():
        raise BadRequest("Content-Length is not a number.")
    too_large = TooLarge(f"The body is larger than {limits.body_bytes:,} bytes. Send less at a time.")
    if len(declared) > len(str(limits.body_bytes)) or int(declared) > limits.body_bytes:
        raise too_large
    pieces: list[bytes] = []
    size, more = 0, True
    try:
        async with asyncio.timeout(limits.body_s):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Left
                pieces.append(message.get("body", b""))
                size += len(pieces[-1])
                more = message.get("more_body", False)
                if size > limits.body_bytes:
                    raise too_large
    except TimeoutError as error:
        raise TooSlow(f"The body did not come within {limits.body_s:g} s. Send it again.") from error
    return b"".join(pieces)


def _response(told: msgspec.Struct | Reply | None, status: int) -> Response:
    if not isinstance(told, Reply):
        told = Reply(content=told, status=status)
    content = told.content
    data = content if isinstance(content, bytes) else b"" if content is None else _encode(content)
    response = Response(data, told.status, media_type=told.media_type if content is not None else None)
    response.raw_headers += [(name.lower().encode(), value.encode("latin-1")) for name, value in told.headers]
    return response


async def _refuse(error: Exception, visit: Visit, send: Send) -> None:
    """Answer with what an error stands for; where an answer has begun, the connection is all that can end."""
    told = answer_to(error)
    if visit.status:
        return
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in told.headers]
    body = told.body
    headers += [(b"content-type", JSON.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": told.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _abort(scope: Scope) -> None:
    """End the connection, where the server can: closing it would wait for a reader who takes nothing."""
    if way := scope.get("extensions", {}).get(ABORT):
        way["now"]()
        await asyncio.sleep(0)  # now the server knows, and does not wonder about an answer without an end


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    raise NotFound("There is no such path. GET /api/openapi.json lists those that there are.")


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "none"


_encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode
