"""A gateway in a thread, and a client that sends raw bytes."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from sqlalchemy import Connection
from tests.patience import PATIENCE_S

from thinkaloud.core.catalog import builtin_catalog
from thinkaloud.gateway.server.gateway import Gateway, Settings
from thinkaloud.gateway.server.http.route import Access, ApiRoute, Resource, RouteRequest, RouteResponse
from thinkaloud.gateway.server.run import LOCAL_ONLY, ServeOptions, start_server
from thinkaloud.gateway.store.engine.sqlite import open_database

T = TypeVar("T")
NOW_MS = 1_700_000_000_000


class EchoBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of the test routes."""

    text: str = ""
    count: int = 0


class AnyJsonBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A body with a field for any JSON."""

    value: Any


class RequiredQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A query with a required parameter."""

    q: str
    most: int = 3


class CallerBody(msgspec.Struct, frozen=True):
    """The authenticated caller, as a response body."""

    user: str
    workspace: int
    resource: str


async def describe_caller(request: RouteRequest) -> CallerBody:
    grant = request.grant
    resource = grant.session or grant.turn or grant.agent
    return CallerBody(
        "" if grant.user is None else grant.user.name,
        0 if grant.owner is None else grant.owner.workspace,
        "" if resource is None else resource.id,
    )


async def echo_body(request: RouteRequest) -> EchoBody:
    assert isinstance(request.body, EchoBody)
    return request.body


async def echo_query(request: RouteRequest) -> EchoBody:
    return EchoBody(request.query.q, request.query.most)


async def echo_raw_body(request: RouteRequest) -> EchoBody:
    return EchoBody(request.raw_body[:40].decode(), len(request.raw_body))


async def answer_nothing(request: RouteRequest) -> None:
    return None


async def raise_error(request: RouteRequest) -> EchoBody:
    raise RuntimeError("SELECT secret FROM inside: Authorization: Bearer tka_" + "s" * 43)


async def answer_text(request: RouteRequest) -> RouteResponse:
    return RouteResponse(content=b"text", media_type="text/plain", headers=(("X-Note", "kept"),))


TEST_ROUTES = (
    ApiRoute(
        method="GET",
        path="/open",
        handler=describe_caller,
        summary="",
        access=Access.PUBLIC,
        response_body=CallerBody,
    ),
    ApiRoute(method="GET", path="/who", handler=describe_caller, summary="", response_body=CallerBody),
    ApiRoute(method="POST", path="/who", handler=describe_caller, summary="", response_body=CallerBody),
    ApiRoute(
        method="POST", path="/say", handler=echo_body, summary="", body=EchoBody, response_body=EchoBody
    ),
    ApiRoute(
        method="POST",
        path="/any",
        handler=describe_caller,
        summary="",
        body=AnyJsonBody,
        response_body=CallerBody,
    ),
    ApiRoute(
        method="GET", path="/ask", handler=echo_query, summary="", query=RequiredQuery, response_body=EchoBody
    ),
    ApiRoute(
        method="POST",
        path="/take",
        handler=echo_raw_body,
        summary="",
        media_types=("application/json", "text/markdown"),
        response_body=EchoBody,
    ),
    ApiRoute(method="DELETE", path="/end", handler=answer_nothing, summary="", status=204),
    ApiRoute(method="GET", path="/boom", handler=raise_error, summary="", response_body=EchoBody),
    ApiRoute(method="GET", path="/plain", handler=answer_text, summary=""),
    ApiRoute(
        method="GET", path="/of/{session}", handler=describe_caller, summary="", resource=Resource.SESSION
    ),
    ApiRoute(method="GET", path="/turn/{turn}", handler=describe_caller, summary="", resource=Resource.TURN),
    ApiRoute(
        method="GET", path="/agent/{agent}", handler=describe_caller, summary="", resource=Resource.AGENT
    ),
    ApiRoute(
        method="PUT", path="/agent/{agent}", handler=describe_caller, summary="", resource=Resource.OWN_AGENT
    ),
)


class HttpResponse(NamedTuple):
    """A parsed HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The error code; empty for a success."""
        return str(self.json["error"]["code"]) if self.status >= 400 else ""


Headers = Sequence[tuple[str, str]]


class GatewayThread:
    """A running gateway: its port and token, and the object itself."""

    def __init__(self, gateway: Gateway, port: int, token: str) -> None:
        self.gateway = gateway
        self.port = port
        self.token = token
        self._loop = asyncio.get_running_loop()

    def request(
        self,
        path: str,
        headers: Headers = (),
        *,
        method: str = "GET",
        body: bytes | None = None,
        host: str | None = None,
    ) -> HttpResponse:
        """Send one request. The default `Host` is the gateway's own; an empty one leaves the header out."""
        host_header = f"localhost:{self.port}" if host is None else host
        lines = [f"{method} {path} HTTP/1.1", *([f"Host: {host_header}"] if host_header else [])]
        lines += [f"{name}: {value}" for name, value in headers]
        if body is not None and not any(name.lower() == "transfer-encoding" for name, _ in headers):
            lines.append(f"Content-Length: {len(body)}")
        data = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b"")
        return self.send(data, bodiless=method == "HEAD")

    def send(self, data: bytes, *, bodiless: bool = False) -> HttpResponse:
        """Send raw bytes and return the first response."""
        with self.connect() as connection:
            connection.sendall(data)
            return read_response(connection, bodiless=bodiless)

    @contextmanager
    def connect(self) -> Iterator[socket.socket]:
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S) as connection:
            yield connection

    def write(self, change: Callable[[Connection], T]) -> T:
        """Run a write in the database."""
        future = asyncio.run_coroutine_threadsafe(self.gateway.database.write(change), self._loop)
        return future.result(PATIENCE_S)


def read_response(connection: socket.socket, *, bodiless: bool = False) -> HttpResponse:
    """Read one response by its length, or to the end of the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        assert more, f"the connection ended before the headers: {data!r}"
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    status = int(first.split()[1])
    length = 0 if bodiless or status == 204 else int(headers.get("content-length", 1 << 40))
    while len(body) < length and (more := connection.recv(65536)):
        body += more
    return HttpResponse(status, headers, body)


@contextmanager
def run_gateway(
    folder: Path,
    options: ServeOptions = LOCAL_ONLY,
    *,
    routes: Sequence[ApiRoute] = TEST_ROUTES,
    settings: Settings | None = None,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> Iterator[GatewayThread]:
    """Run a gateway until the block ends."""
    started, stop_event = threading.Event(), threading.Event()
    threads: list[GatewayThread] = []
    errors: list[BaseException] = []

    async def serve() -> None:
        async with (
            open_database(folder / "thinkaloud.db") as database,
            Gateway(database, builtin_catalog(), settings=settings or Settings()) as gateway,
            start_server(gateway, options, routes=routes) as server,
        ):
            threads.append(GatewayThread(gateway, server.port, server.token))
            started.set()
            await asyncio.to_thread(stop_event.wait)

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=loop_factory) as runner:
                runner.run(serve())
        except BaseException as error:
            errors.append(error)
            started.set()
            raise

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert started.wait(PATIENCE_S), "the gateway does not listen"
    assert not errors, errors
    try:
        yield threads[0]
    finally:
        stop_event.set()
        thread.join(PATIENCE_S)
    assert not thread.is_alive(), "the gateway does not stop"


def bearer(token: str) -> tuple[str, str]:
    return ("Authorization", f"Bearer {token}")


def api_key(token: str) -> tuple[str, str]:
    return ("X-Api-Key", token)


JSON = ("Content-Type", "application/json")
