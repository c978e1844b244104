"""A gateway on a port with simulated providers behind it, in a thread of its own, and people before it.

What asks is a plain blocking client, so that a test says exactly what goes over the wire.
"""

import asyncio
import http.client
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from sqlalchemy import Connection, select
from tests.patience import PATIENCE_S
from tests.server.calling import impatient, pointing_at, quick

from thinkaloud.server.gateway import Gateway, Settings
from thinkaloud.server.routes import ROUTES
from thinkaloud.server.routing import Route
from thinkaloud.server.serving import Address, listening
from thinkaloud.simulators import Answer as Told
from thinkaloud.simulators import Script, Simulator, running
from thinkaloud.simulators.script import Heard
from thinkaloud.store import people, schema
from thinkaloud.store.rows import Owner, State
from thinkaloud.store.sqlite import opened

T = TypeVar("T")
Pairs = Sequence[tuple[str, str]]
Rows = dict[str, set[tuple[Any, ...]]]

NOW_MS = 1_700_000_000_000
MODEL = "vllm/qwen3-8b"
SHARED = Address(token_required=True)
"""Everybody needs a token, as on a server that several people use."""
WAIT_S = PATIENCE_S
FORMS: Mapping[str, Callable[[str], tuple[str, str]]] = {
    "bearer": lambda secret: ("Authorization", f"Bearer {secret}"),
    "x-api-key": lambda secret: ("X-Api-Key", secret),
}
JSON = ("Content-Type", "application/json")


ENDLESS = json.dumps({"thinking": "again and " * 2000, "text": "never", "delay_ms": 20})
"""A prompt that the puppet goes on answering until somebody stops it."""


def file(title: str, prompt: str, thought: str = "A thought.", answer: str = "An answer.") -> dict[str, Any]:
    """An exported session of one turn, all of it at one moment, so that a replay takes no time."""
    events: list[dict[str, Any]] = [{"type": "turn.started", "dialect": "openai_chat", "model": "qwen3-8b"}]
    for block, (kind, text) in enumerate((("reasoning", thought), ("text", answer))):
        events += (
            {"type": "block.started", "block": block, "kind": kind},
            {"type": "block.grew", "block": block, "text": text},
            {"type": "block.ended", "block": block},
        )
    events.append({"type": "turn.ended", "finish": "stop"})
    entries = [{"seq": seq, "event": event, "at_ms": NOW_MS} for seq, event in enumerate(events)]
    exchange = {"asked": [{"role": "user", "text": prompt}], "model": MODEL, "entries": entries}
    return {"thinkaloud": 1, "title": title, "created_ms": NOW_MS, "exchanges": [exchange]}


class Puppet(Script):
    """Answers as the last line of the prompt tells it to, where that is the JSON of an answer."""

    def next(self, heard: Heard) -> Told:
        """What the prompt says, or the default."""
        try:
            return msgspec.json.decode(heard.said.rpartition("\n")[2], type=Told)
        except msgspec.MsgspecError:
            return super().next(heard)


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


class Person(NamedTuple):
    """Somebody with a token, in a workspace."""

    name: str
    owner: Owner
    secret: str
    token_id: str
    workspace_id: str

    @property
    def headers(self) -> list[tuple[str, str]]:
        return [FORMS["bearer"](self.secret)]


class Ground:
    """The gateway, from outside and from inside."""

    def __init__(
        self, gateway: Gateway, port: int, token: str, folder: Path, models: Mapping[str, Simulator]
    ) -> None:
        self.gateway = gateway
        self.port = port
        self.token = token
        self.folder = folder
        self.models = models
        self._loop = asyncio.get_running_loop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, method: str, path: str, body: Any = None, headers: Pairs = (), *, host: str | None = None
    ) -> Answer:
        """One request. A body that is not bytes goes as JSON; an empty `host` leaves the header out."""
        sent = [*headers]
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent.append(JSON)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        with closing(connection):
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            if host != "":
                connection.putheader("Host", host or f"localhost:{self.port}")
            for name, value in sent:
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            told = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, told, response.read())

    def send(self, data: bytes) -> list[bytes]:
        """The heads of all responses to these bytes; the last request in them asks to close."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S) as connection:
            connection.sendall(data)
            told = b""
            while more := connection.recv(65536):
                told += more
        return list(_heads(told))

    def write(self, change: Callable[[Connection], T]) -> T:
        """Change something in the database, behind the gateway's back."""
        return asyncio.run_coroutine_threadsafe(self.gateway.database.write(change), self._loop).result(
            WAIT_S
        )

    def read(self, query: Callable[[Connection], T]) -> T:
        """Look at something in the database."""
        return asyncio.run_coroutine_threadsafe(self.gateway.database.read(query), self._loop).result(WAIT_S)

    def person(self, name: str, workspace: str = "default") -> Person:
        """A new user with a token."""

        def make(conn: Connection) -> Person:
            user = people.add_user(conn, name, NOW_MS, workspace)
            place = people.workspaces_of(conn, user.key)[0]
            token, secret = people.create_token(conn, user.key, "", NOW_MS)
            return Person(name, Owner(user.key, place.key), secret, token.id, place.id)

        return self.write(make)

    def session(self, who: Pairs, **given: Any) -> str:
        """The id of a new session."""
        told = self.ask("POST", "/api/sessions", {"model": MODEL, **given}, who)
        assert told.status == 201, told
        return str(told.json["id"])

    def begun(self, who: Pairs, session: str, prompt: str = "How much is 17 * 3 - 9?", **given: Any) -> str:
        """The id of a turn that has begun."""
        told = self.ask("POST", f"/api/sessions/{session}/turns", {"prompt": prompt, **given}, who)
        assert told.status == 202, told
        return str(told.json["id"])

    def answered(
        self, who: Pairs, session: str, prompt: str = "How much is 17 * 3 - 9?", **given: Any
    ) -> str:
        """The id of a turn that is over."""
        turn = self.begun(who, session, prompt, **given)
        stream = self.ask("GET", f"/api/turns/{turn}/events", headers=who)
        assert stream.body.rstrip().rpartition(b"\n\n")[2].startswith(b"event: end\n"), stream
        return turn

    def imported(self, who: Pairs, *texts: str) -> tuple[str, str]:
        """The ids of a session with one finished turn, and of that turn; `texts` as `file` takes them."""
        told = self.ask("POST", "/api/import", file(*texts), who)
        assert told.status == 201, told
        found = self.ask("GET", f"/api/sessions/{told.json['id']}", headers=who)
        return str(found.json["id"]), str(found.json["turns"][0]["id"])

    def agent(self, who: Pairs, name: str, **given: Any) -> str:
        """The id of a new agent."""
        told = self.ask("POST", "/api/agents", {"name": name, "model": MODEL, **given}, who)
        assert told.status == 201, told
        return str(told.json["id"])

    def everything(self) -> Rows:
        """Every row that people's doings leave, to see that something changed nothing."""
        return self.read(_everything)


def _heads(told: bytes) -> Iterator[bytes]:
    while told:
        head, _, rest = told.partition(b"\r\n\r\n")
        yield head
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        told = rest[int(length[1]) if length else len(rest) :]


def _everything(conn: Connection) -> Rows:
    """All tables, but for what a running turn writes by itself: its log, and how long its lease is."""
    over = schema.log.c.turn.in_(select(schema.turns.c.key).where(schema.turns.c.state != State.RUNNING))
    told: Rows = {}
    for table in schema.metadata.sorted_tables:
        query = select(*(column for column in table.c if column.name != "lease_until_ms"))
        rows = conn.execute(query.where(over) if table is schema.log else query)
        told[table.name] = {tuple(row) for row in rows}
    return told


@contextmanager
def ground(
    folder: Path,
    address: Address = SHARED,
    *,
    models: Mapping[str, Script] | None = None,
    settings: Settings | None = None,
    routes: Sequence[Route] = ROUTES,
    rows: str = "",
) -> Iterator[Ground]:
    """A gateway until the block ends; `models` are simulators with their scripts, `rows` more providers."""
    ready, over = threading.Event(), threading.Event()
    found: list[Ground] = []
    failed: list[BaseException] = []

    async def serve() -> None:
        async with AsyncExitStack() as stack:
            enter = stack.enter_async_context
            servers = {name: await enter(running(name, script=told)) for name, told in wanted.items()}
            database = await enter(opened(folder / "thinkaloud.db"))
            catalog = pointing_at(*servers.values(), extra=rows)
            gateway = Gateway(database, catalog, settings=settings or quick(), client=impatient())
            await enter(gateway)
            place = await enter(listening(gateway, address, routes=routes))
            found.append(Ground(gateway, place.port, place.token, folder, servers))
            ready.set()
            await asyncio.to_thread(over.wait)

    wanted = {"vllm": Puppet()} if models is None else models
    thread = threading.Thread(target=partial(_run, serve, failed, ready), daemon=True)
    thread.start()
    assert ready.wait(WAIT_S), "the gateway does not listen"
    assert not failed, failed
    try:
        yield found[0]
    finally:
        over.set()
        thread.join(WAIT_S)
    assert not failed, failed
    assert not thread.is_alive(), "the gateway does not stop"


def _run(serve: Callable[[], Any], failed: list[BaseException], ready: threading.Event) -> None:
    try:
        asyncio.run(serve())
    except BaseException as error:  # noqa: BLE001 told to the test, in its own thread
        failed.append(error)
        ready.set()
