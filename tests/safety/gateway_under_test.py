"""A gateway in a thread, with simulated providers and several users.

The client is plain and blocking, so that a test controls the exact bytes.
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
from sqlalchemy import ColumnElement, Connection, String, select, type_coerce, types
from tests.patience import PATIENCE_S
from tests.patient_gateway import import_and_export_in_threads
from tests.server.caller import catalog_with, client_without_retries, quick_settings

from thinkaloud.gateway.server.gateway import Gateway, Settings
from thinkaloud.gateway.server.http.route import ApiRoute
from thinkaloud.gateway.server.http.routes import ROUTES
from thinkaloud.gateway.server.run import ServeOptions, start_server
from thinkaloud.gateway.store import schema
from thinkaloud.gateway.store.engine.database import Database
from thinkaloud.gateway.store.engine.postgres import open_postgres
from thinkaloud.gateway.store.engine.sqlite import open_database
from thinkaloud.gateway.store.queries import users
from thinkaloud.gateway.store.rows import Owner, TurnState
from thinkaloud.simulators import Script, ScriptedAnswer, Simulator, run_simulator
from thinkaloud.simulators.script import ReceivedPrompt

T = TypeVar("T")
Pairs = Sequence[tuple[str, str]]
Rows = dict[str, set[tuple[Any, ...]]]

NOW_MS = 1_700_000_000_000
MODEL = "vllm/qwen3-8b"
TOKEN_REQUIRED = ServeOptions(token_required=True)
"""Every caller needs a token, as on a shared server."""
WAIT_S = PATIENCE_S
CREDENTIAL_HEADERS: Mapping[str, Callable[[str], tuple[str, str]]] = {
    "bearer": lambda secret: ("Authorization", f"Bearer {secret}"),
    "x-api-key": lambda secret: ("X-Api-Key", secret),
}
JSON = ("Content-Type", "application/json")


ENDLESS_PROMPT = json.dumps({"thinking": "again and " * 2000, "text": "never", "delay_ms": 20})
"""A prompt whose answer does not end until it is cancelled."""


def session_file(
    title: str, prompt: str, thought: str = "A thought.", answer: str = "An answer."
) -> dict[str, Any]:
    """Return an exported session of one turn, with equal timestamps, so that a replay takes no time."""
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


class PromptScript(Script):
    """Responds with the answer whose JSON is the last line of the prompt."""

    def next_answer(self, prompt: ReceivedPrompt) -> ScriptedAnswer:
        """What the prompt says, or the default."""
        try:
            return msgspec.json.decode(prompt.text.rpartition("\n")[2], type=ScriptedAnswer)
        except msgspec.MsgspecError:
            return super().next_answer(prompt)


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


class Person(NamedTuple):
    """A user with a token, in a workspace."""

    name: str
    owner: Owner
    secret: str
    token_id: str
    workspace_id: str

    @property
    def headers(self) -> list[tuple[str, str]]:
        return [CREDENTIAL_HEADERS["bearer"](self.secret)]


class GatewayUnderTest:
    """A running gateway: its port and token, and the object itself."""

    def __init__(
        self, gateway: Gateway, port: int, token: str, folder: Path, simulators: Mapping[str, Simulator]
    ) -> None:
        self.gateway = gateway
        self.port = port
        self.token = token
        self.folder = folder
        self.simulators = simulators
        self._loop = asyncio.get_running_loop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def request(
        self, method: str, path: str, body: Any = None, headers: Pairs = (), *, host: str | None = None
    ) -> HttpResponse:
        """Send one request. A body that is not bytes is sent as JSON; an empty `host` sends no Host."""
        sent_headers = [*headers]
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent_headers.append(JSON)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        with closing(connection):
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            if host != "":
                connection.putheader("Host", host or f"localhost:{self.port}")
            for name, value in sent_headers:
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            response_headers = {name.lower(): value for name, value in response.getheaders()}
            return HttpResponse(response.status, response_headers, response.read())

    def send(self, data: bytes) -> list[bytes]:
        """Send raw bytes and return the headers of all responses. The last request must ask to close."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S) as connection:
            connection.sendall(data)
            data_received = b""
            while chunk := connection.recv(65536):
                data_received += chunk
        return list(_response_heads(data_received))

    def write(self, change: Callable[[Connection], T]) -> T:
        """Run a write in the database."""
        return asyncio.run_coroutine_threadsafe(self.gateway.database.write(change), self._loop).result(
            WAIT_S
        )

    def read(self, query: Callable[[Connection], T]) -> T:
        """Run a query in the database."""
        return asyncio.run_coroutine_threadsafe(self.gateway.database.read(query), self._loop).result(WAIT_S)

    def create_person(self, name: str, workspace: str = "default") -> Person:
        """Create a user with a token."""

        def create(conn: Connection) -> Person:
            user = users.add_user(conn, name, NOW_MS, workspace)
            member_workspace = users.workspaces_of(conn, user.key)[0]
            token, secret = users.create_token(conn, user.key, "", NOW_MS)
            return Person(name, Owner(user.key, member_workspace.key), secret, token.id, member_workspace.id)

        return self.write(create)

    def create_session(self, credentials: Pairs, **fields: Any) -> str:
        """Create a session and return its id."""
        response = self.request("POST", "/api/sessions", {"model": MODEL, **fields}, credentials)
        assert response.status == 201, response
        return str(response.json["id"])

    def start_turn(
        self, credentials: Pairs, session: str, prompt: str = "How much is 17 * 3 - 9?", **fields: Any
    ) -> str:
        """Start a turn and return its id."""
        response = self.request(
            "POST", f"/api/sessions/{session}/turns", {"prompt": prompt, **fields}, credentials
        )
        assert response.status == 202, response
        return str(response.json["id"])

    def run_turn(
        self, credentials: Pairs, session: str, prompt: str = "How much is 17 * 3 - 9?", **fields: Any
    ) -> str:
        """Run a turn to its end and return its id."""
        turn = self.start_turn(credentials, session, prompt, **fields)
        stream = self.request("GET", f"/api/turns/{turn}/events", headers=credentials)
        assert stream.body.rstrip().rpartition(b"\n\n")[2].startswith(b"event: end\n"), stream
        return turn

    def import_session(self, credentials: Pairs, *texts: str) -> tuple[str, str]:
        """Import a session of one turn and return both ids. `texts` are those of `session_file`."""
        import_response = self.request("POST", "/api/import", session_file(*texts), credentials)
        assert import_response.status == 201, import_response
        session_response = self.request(
            "GET", f"/api/sessions/{import_response.json['id']}", headers=credentials
        )
        return str(session_response.json["id"]), str(session_response.json["turns"][0]["id"])

    def create_agent(self, credentials: Pairs, name: str, **fields: Any) -> str:
        """Create an agent and return its id."""
        response = self.request("POST", "/api/agents", {"name": name, "model": MODEL, **fields}, credentials)
        assert response.status == 201, response
        return str(response.json["id"])

    def all_rows(self) -> Rows:
        """Return every row that users' actions write, to check that nothing changed."""
        return self.read(_read_all_rows)


def _response_heads(data: bytes) -> Iterator[bytes]:
    while data:
        head, _, remainder = data.partition(b"\r\n\r\n")
        yield head
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        data = remainder[int(length[1]) if length else len(remainder) :]


def _as_stored(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """A list is compared as the text that is stored: a set cannot hold lists."""
    return type_coerce(column, String) if isinstance(column.type, types.JSON) else column


def _read_all_rows(conn: Connection) -> Rows:
    """Read all tables, except what a gateway writes by itself.

    That is the log and the lease of a running turn, and the facts: a second after a deletion, one of them
    says that its words are erased.
    """
    of_ended_turns = schema.log.c.turn.in_(
        select(schema.turns.c.key).where(schema.turns.c.state != TurnState.RUNNING)
    )
    rows_by_table: Rows = {}
    for table in schema.metadata.sorted_tables:
        if table is schema.facts:
            continue
        query = select(*(_as_stored(column) for column in table.c if column.name != "lease_until_ms"))
        rows = conn.execute(query.where(of_ended_turns) if table is schema.log else query)
        rows_by_table[table.name] = set(map(tuple, rows.all()))
    return rows_by_table


@contextmanager
def run_gateway(
    place: Path | str,
    options: ServeOptions = TOKEN_REQUIRED,
    *,
    models: Mapping[str, Script] | None = None,
    settings: Settings | None = None,
    routes: Sequence[ApiRoute] = ROUTES,
    rows: str = "",
) -> Iterator[GatewayUnderTest]:
    """Run a gateway until the block ends. `models` are simulators with scripts, `rows` further providers.

    `place` is a folder for SQLite, or the address of a PostgreSQL.
    """
    started, stop_event = threading.Event(), threading.Event()
    gateways: list[GatewayUnderTest] = []
    errors: list[BaseException] = []

    async def serve() -> None:
        async with AsyncExitStack() as stack:
            enter = stack.enter_async_context
            servers = {
                name: await enter(run_simulator(name, script=script)) for name, script in scripts.items()
            }
            database: Database = (
                await enter(open_postgres(place))
                if isinstance(place, str)
                else await enter(open_database(place / "thinkaloud.db"))
            )
            catalog = catalog_with(*servers.values(), extra=rows)
            gateway = Gateway(
                database, catalog, settings=settings or quick_settings(), client=client_without_retries()
            )
            import_and_export_in_threads(gateway)
            await enter(gateway)
            server = await enter(start_server(gateway, options, routes=routes))
            gateways.append(GatewayUnderTest(gateway, server.port, server.token, Path(place), servers))
            started.set()
            await asyncio.to_thread(stop_event.wait)

    scripts = {"vllm": PromptScript()} if models is None else models
    thread = threading.Thread(target=partial(_run, serve, errors, started), daemon=True)
    thread.start()
    assert started.wait(WAIT_S), "the gateway does not listen"
    assert not errors, errors
    try:
        yield gateways[0]
    finally:
        stop_event.set()
        thread.join(WAIT_S)
    assert not errors, errors
    assert not thread.is_alive(), "the gateway does not stop"


def _run(serve: Callable[[], Any], errors: list[BaseException], started: threading.Event) -> None:
    try:
        asyncio.run(serve())
    except BaseException as error:  # noqa: BLE001 re-raised in the thread of the test
        errors.append(error)
        started.set()
