"""The ASGI application: every request passes the same checks in the same order.

The order is: header size, host, origin, route, content type, authentication, authorization, body, query,
handler. Ordinary routes respond through Starlette; streams are plain ASGI. Every exception becomes an error
response, so no request can end the process.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.routing import Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thinkaloud.core.canon import Refused, reason_of
from thinkaloud.core.dialects.client_request import refuse_ambiguous_json
from thinkaloud.gateway.server.compatible.respond import error_for_client, respond
from thinkaloud.gateway.server.http import static_files
from thinkaloud.gateway.server.http.auth import Authenticator, Caller, ListenConfig
from thinkaloud.gateway.server.http.errors import (
    BadRequest,
    MethodNotAllowed,
    NotFound,
    Unprocessable,
    UnsupportedMediaType,
    error_response,
)
from thinkaloud.gateway.server.http.request_parts import (
    decode_large,
    drop_body,
    has_body,
    read_body,
    read_headers,
    sent_by_browser,
)
from thinkaloud.gateway.server.http.response import send_response
from thinkaloud.gateway.server.http.route import (
    ABORT_EXTENSION,
    EVENT_STREAM,
    JSON,
    ApiRoute,
    ClientGone,
    Grant,
    RouteRequest,
    RouteResponse,
    StreamHandler,
)
from thinkaloud.gateway.server.http.routes import COMPATIBLE_ROUTES, ROUTES, dialect_of_unknown_path
from thinkaloud.gateway.server.streams.turn_stream import stream_events

if TYPE_CHECKING:
    from thinkaloud.gateway.server.gateway import Gateway

logger = logging.getLogger("thinkaloud.requests")

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
SECURITY_HEADERS = (
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""Sent with every response. There are no CORS headers: no page of another site may read a response."""

UNMATCHED = "unmatched"
CLIENT_CLOSED_REQUEST = 499
"""The status logged for a request whose client disconnected before the response. It is never sent."""
_CONTEXT_KEY = "thinkaloud.context"
_SIMPLE_CONTENT_TYPES = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data")
"""Types that a page may send to another site without a CORS preflight. Refused even with an empty body."""
_METHODS_WITHOUT_BODY = ("GET", "HEAD", "OPTIONS")


class NoBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The only body that a route without a body accepts: an empty object."""


class RequestContext(msgspec.Struct):
    """What is known about a request so far. The request log line is written from it."""

    caller: Caller | None = None
    headers: dict[bytes, bytes] = {}
    grant: Grant = Grant()
    route: str = ""
    """The path template of the route table, never the path that the client sent."""
    dialect: str = ""
    """The dialect in which a compatible endpoint tells about errors."""
    streaming: bool = False
    body_unread: bool = False
    status: int = 0


def create_app(
    gateway: "Gateway",
    config: ListenConfig,
    routes: Sequence[ApiRoute] = ROUTES,
    stream: StreamHandler = stream_events,
) -> ASGIApp:
    """Create the ASGI application of a gateway."""
    return GatewayApp(gateway, config, routes, stream)


class GatewayApp:
    """Runs the common checks, routes the request, and turns every exception into a response."""

    def __init__(
        self, gateway: "Gateway", config: ListenConfig, routes: Sequence[ApiRoute], stream: StreamHandler
    ) -> None:
        self._gateway = gateway
        self._limits = gateway.settings.limits
        self._authenticator = Authenticator(gateway, config)
        endpoints_by_path: dict[str, dict[str, _Endpoint]] = {}
        for route in (*routes, *COMPATIBLE_ROUTES, *static_files.static_routes()):
            endpoints_by_path.setdefault(route.pattern, {})[route.method] = _Endpoint(
                route, gateway, self._authenticator, stream
            )
        self._endpoints_by_path = {
            path: _PathEndpoints(methods) for path, methods in endpoints_by_path.items() if "{" not in path
        }
        starlette_routes = [
            StarletteRoute(path, _PathEndpoints(endpoints)) for path, endpoints in endpoints_by_path.items()
        ]
        self._router = Router(starlette_routes, redirect_slashes=False, default=_path_not_found)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            raise ValueError(f"The gateway serves HTTP only, not {scope['type']}.")
        started_s = time.perf_counter()
        context = scope[_CONTEXT_KEY] = RequestContext()

        def send_secured(message: Message) -> Awaitable[None]:
            # Not a coroutine: a stream calls this for every chunk, and another coroutine would slow it down.
            if message["type"] == "http.response.start":
                context.status = message["status"]
                headers = message["headers"]
                header_names = {name for name, _ in headers}
                message["headers"] = [
                    *headers,
                    *(pair for pair in SECURITY_HEADERS if pair[0] not in header_names),
                ]
            return send(message)

        try:
            context.headers = read_headers(scope, self._limits)
            context.body_unread = has_body(context.headers)
            checked_headers = static_files.headers_to_check(scope["method"], scope["path"], context.headers)
            context.caller = self._authenticator.check_caller(
                checked_headers, scope.get("client"), scope.get("server"), scope["http_version"]
            )
            path_endpoints = self._endpoints_by_path.get(scope["path"])
            if path_endpoints is not None:  # most requests: the router would compare the path with all routes
                scope["path_params"] = {}
                await path_endpoints(scope, receive, send_secured)
            else:
                await self._router(scope, receive, send_secured)
        except ClientGone:
            context.status = context.status or CLIENT_CLOSED_REQUEST
            await _abort_connection(scope)
        except Exception as error:  # noqa: BLE001 the outermost handler: nothing else could send a response
            await self._send_error(error, context, receive, send_secured)
        finally:
            self._log_request(scope["method"], context, time.perf_counter() - started_s)

    async def _send_error(
        self, error: Exception, context: RequestContext, receive: Receive, send: Send
    ) -> None:
        """Send the response for an error. Once a response has started, nothing is sent and the server closes.

        A client of a compatible endpoint gets the error in its own format. If the body is still arriving, the
        rest of it is dropped before the response ends.
        """
        response = error_response(error)
        if context.status:
            return
        if context.dialect:
            response = error_for_client(response, context.dialect)
        headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in response.headers]
        status, body = response.status, response.body
        headers += [(b"content-type", JSON.encode()), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        # A client that waits for `100 Continue` has sent no body, and a read would ask for it.
        body_arrives = context.body_unread and b"expect" not in context.headers
        await send({"type": "http.response.body", "body": body, "more_body": body_arrives})
        if body_arrives:
            await drop_body(receive, self._limits)
            await send({"type": "http.response.body", "body": b""})

    def _log_request(self, method: str, context: RequestContext, seconds: float) -> None:
        user = context.grant.user
        label = f"{method} {context.route}" if context.route else UNMATCHED
        self._gateway.metrics.request_answered(label, context.status, None if context.streaming else seconds)
        logger.info(
            "%s %d",
            label,
            context.status,
            extra={
                "method": method,
                "route": context.route,
                "status": context.status,
                "ms": round(seconds * 1000, 2),
                "user": "" if user is None else user.id,
            },
        )


class _PathEndpoints:
    """The endpoints of one path, by method. Handles HEAD, OPTIONS and methods that are not offered."""

    def __init__(self, endpoints: Mapping[str, "_Endpoint"]) -> None:
        self._endpoints = dict(endpoints)
        if "GET" in endpoints:
            self._endpoints["HEAD"] = endpoints["GET"]
        self._allowed_methods = ", ".join(sorted({*self._endpoints, "OPTIONS"}))
        self._dialect = next(iter(endpoints.values())).dialect

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._endpoints.get(scope["method"])
        if endpoint is not None:
            await endpoint(scope, receive, send)
        elif scope["method"] == "OPTIONS":
            await Response(status_code=204, headers={"Allow": self._allowed_methods})(scope, receive, send)
        else:
            scope[_CONTEXT_KEY].dialect = self._dialect
            raise MethodNotAllowed(scope["method"], self._allowed_methods)


class _Endpoint:
    """A route with its decoders. They are built once, before the first request."""

    def __init__(
        self, route: ApiRoute, gateway: "Gateway", authenticator: Authenticator, stream: StreamHandler
    ) -> None:
        for struct_type in (route.query, route.body):
            if struct_type is not None and not struct_type.__struct_config__.forbid_unknown_fields:
                raise TypeError(f"{struct_type.__name__} of {route.path} must forbid unknown fields")
        self._route = route
        self.dialect = route.dialect
        self._gateway = gateway
        self._authenticator = authenticator
        self._stream = stream
        self._parameters = frozenset(field.encode_name for field in msgspec.structs.fields(route.query))
        self._default_query = None if self._has_required_field(route.query) else route.query()
        self._decode_body = msgspec.json.Decoder(route.body or NoBody).decode
        self._compatible = bool(route.dialect) and route.handler is None
        self._takes_raw_body = route.body is None and (route.media_types != (JSON,) or bool(route.dialect))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context: RequestContext = scope[_CONTEXT_KEY]
        context.route, context.dialect = self._route.path, self._route.dialect
        media_type = self._media_type(scope["method"], context.headers)
        assert context.caller is not None
        context.grant = await self._authenticator.grant_access(
            self._route, context.caller, scope["path_params"]
        )
        if not media_type:
            await self._respond(scope, receive, send, b"", media_type)
            return
        with self._gateway.body_memory.reservation() as reservation:
            limits = self._gateway.settings.limits
            raw_body = await read_body(receive, context.headers, limits, reservation)
            context.body_unread = False
            if not self._compatible:
                await self._respond(scope, receive, send, raw_body, media_type)
        if self._compatible:  # the response takes as long as the turn, which has limits of its own
            await self._respond(scope, receive, send, raw_body, media_type)

    async def _respond(
        self, scope: Scope, receive: Receive, send: Send, raw_body: bytes, media_type: str
    ) -> None:
        context: RequestContext = scope[_CONTEXT_KEY]
        headers = Headers(scope=scope)
        if self._compatible:
            context.streaming = True
            request = RouteRequest(
                gateway=self._gateway, grant=context.grant, headers=headers, raw_body=raw_body
            )
            await respond(request, self._route.dialect, receive, send)
            return
        query = self._route.query() if self._route.dialect else self._query(scope["query_string"])
        body = await decode_large(raw_body, partial(self._body, media_type))
        if self._route.handler is None:
            context.streaming = True
            if scope["method"] == "HEAD":
                await Response(media_type=EVENT_STREAM)(scope, receive, send)
            else:
                await self._stream(self._gateway, context.grant, query, headers, receive, send)
            return
        request = RouteRequest(
            gateway=self._gateway,
            grant=context.grant,
            headers=headers,
            query=query,
            body=body,
            path_params=scope["path_params"],
            raw_body=raw_body,
        )
        allowed: AbstractAsyncContextManager[None] = nullcontext()
        limit: AbstractAsyncContextManager[None] = nullcontext()
        if self._route.ends_with_client:
            allowed = self._gateway.streams.allowed(context.grant.token_hash, receive)
        if self._route.method != "GET" and not self._takes_raw_body:  # reads and imports may take long
            limit = self._gateway.storage_limit()
        async with allowed:
            async with limit:
                result = await self._route.handler(request)
            if not isinstance(result, RouteResponse):
                result = RouteResponse(content=result, status=self._route.status)
            await send_response(self._gateway, result, send)

    def _media_type(self, method: str, headers: Mapping[bytes, bytes]) -> str:
        """Return the media type of the body, or an empty string without a body. Refuse types not accepted."""
        has_no_body = not has_body(headers)
        value, _, parameters = headers.get(b"content-type", b"").decode("latin-1").lower().partition(";")
        media_type, charset = value.strip(), parameters.replace(" ", "").replace('"', "")
        if method in _METHODS_WITHOUT_BODY or (has_no_body and media_type not in _SIMPLE_CONTENT_TYPES):
            return ""
        if self._route.untyped_json and not sent_by_browser(headers):
            media_type = JSON
        if (
            media_type not in self._route.media_types
            or charset not in ("", "charset=utf-8")
            or headers.get(b"content-encoding", b"identity") != b"identity"
        ):
            allowed_types = " or ".join(self._route.media_types)
            raise UnsupportedMediaType(
                "Unsupported body type. Send {allowed_types} in UTF-8, uncompressed, with a matching "
                "Content-Type header.",
                allowed_types=allowed_types,
            )
        return media_type

    def _query(self, query_string: bytes) -> msgspec.Struct:
        if not query_string and self._default_query is not None:
            return self._default_query
        max_parameters = self._gateway.settings.limits.query_parameters
        try:
            pairs = parse_qsl(
                query_string.decode("ascii"),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=max_parameters,
            )
        except ValueError as error:
            raise BadRequest(
                "The query string cannot be read: it is not UTF-8, or has more than {max_parameters} "
                "parameters. Correct it, and send the request again.",
                max_parameters=max_parameters,
            ) from error
        parameters = dict(pairs)
        if unknown := sorted(parameters.keys() - self._parameters):
            raise BadRequest(
                "Unknown query parameter {unknown}. Known parameters: {parameters}.",
                unknown=repr(unknown[0][:40]),
                parameters=_join_names(self._parameters),
            )
        if len(parameters) != len(pairs):
            raise BadRequest("A query parameter was sent twice. Send each parameter once.")
        try:
            return msgspec.convert(parameters, self._route.query, strict=False)
        except msgspec.ValidationError as error:
            raise BadRequest("Invalid query parameter: {reason}.", reason=reason_of(error)) from error

    def _body(self, media_type: str, raw_body: bytes) -> msgspec.Struct | None:
        if self._takes_raw_body or (media_type and media_type != JSON):
            return None
        if not raw_body and self._route.body is None:
            return None
        try:
            body = self._decode_body(raw_body)
            refuse_ambiguous_json(raw_body)
            return body
        except Refused as error:
            raise BadRequest(wording=error.wording) from error
        except msgspec.ValidationError as error:
            raise Unprocessable("Invalid body: {reason}.", reason=reason_of(error)) from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadRequest("The body is not valid JSON: {reason}.", reason=reason_of(error)) from error
        except RecursionError as error:
            raise BadRequest("The body is nested too deeply. Send a flatter one.") from error

    @staticmethod
    def _has_required_field(query: type[msgspec.Struct]) -> bool:
        return any(field.required for field in msgspec.structs.fields(query))


async def _abort_connection(scope: Scope) -> None:
    """Abort the connection, if the server can. A normal close would wait for a client that reads nothing."""
    if abort_extension := scope.get("extensions", {}).get(ABORT_EXTENSION):
        abort_extension["now"]()
        # Let the server see the lost connection first; it would log an incomplete response otherwise.
        await asyncio.sleep(0)


async def _path_not_found(scope: Scope, receive: Receive, send: Send) -> None:
    context: RequestContext = scope[_CONTEXT_KEY]
    context.dialect = dialect_of_unknown_path(scope["path"], context.headers)
    if not context.dialect:
        raise NotFound("No such path. GET /api/openapi.json lists all paths.")
    offered = sorted({route.path for route in COMPATIBLE_ROUTES if route.dialect == context.dialect})
    raise NotFound(
        "No such path. For clients of this kind the gateway has {paths}.", paths=", ".join(offered)
    )


def _join_names(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "none"
