"""A gateway on a port, in a thread of its own, and a client that sends bytes as they are."""

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

from thinkaloud.catalog import builtin
from thinkaloud.server.gateway import Gateway, Settings
from thinkaloud.server.routing import Access, Call, Reply, Resource, Route
from thinkaloud.server.serving import HERE, Address, listening
from thinkaloud.store.sqlite import opened

T = TypeVar("T")
NOW_MS = 1_700_000_000_000


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the table's routes take and give."""

    text: str = ""
    count: int = 0


class Anything(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A body with a place for any JSON."""

    value: Any


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A query with a parameter that must be there."""

    q: str
    most: int = 3


class Who(msgspec.Struct, frozen=True):
    """Whom the door let in."""

    user: str
    workspace: int
    found: str


async def who(call: Call) -> Who:
    granted = call.granted
    found = granted.session or granted.turn or granted.agent
    return Who(
        "" if granted.user is None else granted.user.name,
        0 if granted.owner is None else granted.owner.workspace,
        "" if found is None else found.id,
    )


async def say(call: Call) -> Said:
    assert isinstance(call.body, Said)
    return call.body


async def ask(call: Call) -> Said:
    return Said(call.query.q, call.query.most)


async def take(call: Call) -> Said:
    return Said(call.raw[:40].decode(), len(call.raw))


async def end(call: Call) -> None:
    return None


async def boom(call: Call) -> Said:
    raise RuntimeError("SELECT secret FROM inside: Authorization: Bearer tka_" + "s" * 43)


async def plain(call: Call) -> Reply:
    return Reply(content=b"text", media_type="text/plain", headers=(("X-Note", "kept"),))


TABLE = (
    Route(method="GET", path="/open", handler=who, summary="", access=Access.PUBLIC, returns=Who),
    Route(method="GET", path="/who", handler=who, summary="", returns=Who),
    Route(method="POST", path="/who", handler=who, summary="", returns=Who),
    Route(method="POST", path="/say", handler=say, summary="", body=Said, returns=Said),
    Route(method="POST", path="/any", handler=who, summary="", body=Anything, returns=Who),
    Route(method="GET", path="/ask", handler=ask, summary="", query=Wanted, returns=Said),
    Route(
        method="POST",
        path="/take",
        handler=take,
        summary="",
        media_types=("application/json", "text/markdown"),
        returns=Said,
    ),
    Route(method="DELETE", path="/end", handler=end, summary="", status=204),
    Route(method="GET", path="/boom", handler=boom, summary="", returns=Said),
    Route(method="GET", path="/plain", handler=plain, summary=""),
    Route(method="GET", path="/of/{session}", handler=who, summary="", resource=Resource.SESSION),
    Route(method="GET", path="/turn/{turn}", handler=who, summary="", resource=Resource.TURN),
    Route(method="GET", path="/agent/{agent}", handler=who, summary="", resource=Resource.AGENT),
    Route(method="PUT", path="/agent/{agent}", handler=who, summary="", resource=Resource.OWN_AGENT),
)


class Answer(NamedTuple):
    """A response as it came."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a refusal; empty where there was none."""
        return str(self.json["error"]["code"]) if self.status >= 400 else ""


Headers = Sequence[tuple[str, str]]


class House:
    """The gateway, from outside and from inside."""

    def __init__(self, gateway: Gateway, port: int, token: str) -> None:
        self.gateway = gateway
        self.port = port
        self.token = token
        self._loop = asyncio.get_running_loop()

    def ask(
        self,
        path: str,
        headers: Headers = (),
        *,
        method: str = "GET",
        body: bytes | None = None,
        host: str | None = None,
    ) -> Answer:
        """One request; `Host` is ours unless another is given, and left out where it is empty."""
        named = f"localhost:{self.port}" if host is None else host
        lines = [f"{method} {path} HTTP/1.1", *([f"Host: {named}"] if named else [])]
        lines += [f"{name}: {value}" for name, value in headers]
        if body is not None and not any(name.lower() == "transfer-encoding" for name, _ in headers):
            lines.append(f"Content-Length: {len(body)}")
        data = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b"")
        return self.send(data, bodiless=method == "HEAD")

    def send(self, data: bytes, *, bodiless: bool = False) -> Answer:
        """The first response to these bytes."""
        with self.connected() as connection:
            connection.sendall(data)
            return read(connection, bodiless=bodiless)

    @contextmanager
    def connected(self) -> Iterator[socket.socket]:
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S) as connection:
            yield connection

    def write(self, change: Callable[[Connection], T]) -> T:
        """Change something in the database."""
        done = asyncio.run_coroutine_threadsafe(self.gateway.database.write(change), self._loop)
        return done.result(PATIENCE_S)


def read(connection: socket.socket, *, bodiless: bool = False) -> Answer:
    """One response of known length, or all until the connection ends."""
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
    return Answer(status, headers, body)


@contextmanager
def house(
    folder: Path,
    address: Address = HERE,
    *,
    routes: Sequence[Route] = TABLE,
    settings: Settings | None = None,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> Iterator[House]:
    """A gateway until the block ends."""
    ready, over = threading.Event(), threading.Event()
    found: list[House] = []
    failed: list[BaseException] = []

    async def serve() -> None:
        async with (
            opened(folder / "thinkaloud.db") as database,
            Gateway(database, builtin(), settings=settings or Settings()) as gateway,
            listening(gateway, address, routes=routes) as place,
        ):
            found.append(House(gateway, place.port, place.token))
            ready.set()
            await asyncio.to_thread(over.wait)

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=loop_factory) as runner:
                runner.run(serve())
        except BaseException as error:
            failed.append(error)
            ready.set()
            raise

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(PATIENCE_S), "the gateway does not listen"
    assert not failed, failed
    try:
        yield found[0]
    finally:
        over.set()
        thread.join(PATIENCE_S)
    assert not thread.is_alive(), "the gateway does not stop"


def bearer(token: str) -> tuple[str, str]:
    return ("Authorization", f"Bearer {token}")


def api_key(token: str) -> tuple[str, str]:
    return ("X-Api-Key", token)


JSON = ("Content-Type", "application/json")
