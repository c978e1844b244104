"""A gateway on a port, a simulated provider, and an HTTP client that calls the gateway."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec
from tests.cli.environment import CATALOG_ROWS
from tests.patience import PATIENCE_S
from tests.patient_gateway import import_and_export_in_threads

from thinkaloud.agents.builtin_tools import builtin_tools
from thinkaloud.agents.toolbox import Toolbox
from thinkaloud.agents.tools import Tool
from thinkaloud.client import Client, RetryPolicy, Timeouts
from thinkaloud.core.canon import Entry
from thinkaloud.core.catalog import Catalog, builtin_catalog, builtin_texts, parse_catalog
from thinkaloud.core.transcript import Turn, apply
from thinkaloud.gateway.server.gateway import Gateway, Settings
from thinkaloud.gateway.server.http.limits import GatewayLimits
from thinkaloud.gateway.server.run import start_server
from thinkaloud.gateway.store.engine.sqlite import SqliteDatabase, open_database
from thinkaloud.gateway.store.log.event_log import LogConfig
from thinkaloud.simulators import Simulator, run_simulator

MODELS = {
    "vllm": "vllm/qwen3-8b",
    "anthropic": "anthropic/claude-opus-4-5",
    "deepseek": "deepseek/deepseek-v4-pro",
}
THOUGHT = "17 times 3 is 51, and 51 minus 9 is 42."
ANSWER = "It is 42."
SCRIPT = [{"thinking": THOUGHT, "text": ANSWER}]
SLOW_SCRIPT = [
    {"thinking": "one two three four five six seven eight nine ten", "text": "Done.", "delay_ms": 60}
]
"""A response of more than half a second, one word at a time."""
ACME = """
[providers.acme]
dialect = "openai_chat"
base_url = "{url}"
replay = "none"
local = true
fact = {{ as_of = "2026-01-01", source = "a test" }}
"""
"""A catalog row for a provider that a test serves itself, as `acme/m-1`."""
ENDLESS_SCRIPT = [{"thinking": "again and " * 2000, "text": "never", "delay_ms": 20}]

_entry_decoder = msgspec.json.Decoder(Entry)


@dataclass
class StreamResult:
    """What a stream sent: entries by id, other events by name, in order."""

    status: int = 200
    entries: dict[int, Entry] = field(default_factory=dict)
    events: list[tuple[str, Any]] = field(default_factory=list)
    comments: int = 0
    last_id: str = ""
    """The id with which an EventSource would reconnect."""
    data: bytes = b""

    @property
    def turn(self) -> Turn:
        """The turn folded from the entries."""
        turn = Turn()
        for entry in self.entries.values():
            apply(turn, entry)
        return turn

    @property
    def state(self) -> str:
        """The final state in the `end` event."""
        return str(dict(self.events)["end"]["state"])


class Caller:
    """An HTTP client of the gateway."""

    def __init__(
        self,
        url: str,
        http: aiohttp.ClientSession,
        gateway: Gateway,
        simulator: Simulator,
        database: SqliteDatabase,
    ) -> None:
        self.url = url
        self.http = http
        self.gateway = gateway
        self.simulator = simulator
        self.database = database
        self.model = MODELS[simulator.api.name]

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        status: int = 200,
        headers: dict[str, str] | None = None,
    ) -> Any:
        """Send a request, check the status, and return the JSON."""
        async with self.http.request(method, self.url + path, json=body, headers=headers) as response:
            content = await response.read()
            assert response.status == status, (response.status, content)
            return msgspec.json.decode(content) if content else None

    async def refusal_message(self, method: str, path: str, body: Any = None, *, status: int) -> str:
        """Return the message of an expected error."""
        error_body = await self.call(method, path, body, status=status)
        assert error_body["error"]["code"]
        return str(error_body["error"]["message"])

    async def create_session(self, **body: Any) -> str:
        """Create a session and return its id."""
        created = await self.call("POST", "/api/sessions", {"model": self.model, **body}, status=201)
        return str(created["id"])

    async def start_turn(self, session: str, prompt: str = "How much is 17 * 3 - 9?", **body: Any) -> str:
        """Start a turn and return its id."""
        turn_body = {"prompt": prompt, **body} if prompt else body
        started = await self.call("POST", f"/api/sessions/{session}/turns", turn_body, status=202)
        assert started["state"] == "running"
        assert started["events"] == f"/api/turns/{started['id']}/events"
        return str(started["id"])

    async def read_stream(self, turn: str, query: str = "", **headers: str) -> StreamResult:
        """Read the stream of a turn to its end."""
        result = StreamResult()
        async for _ in self.follow_stream(turn, result, query, **headers):
            pass
        return result

    async def follow_stream(
        self, turn: str, result: StreamResult, query: str = "", **headers: str
    ) -> AsyncIterator[None]:
        """Yield the stream after each event. Leaving the loop drops the connection."""
        sent_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.http.get(
            f"{self.url}/api/turns/{turn}/events{query}", headers=sent_headers
        ) as response:
            result.status = response.status
            buffer = b""
            async for chunk in response.content.iter_any():
                result.data += chunk
                *events, buffer = (buffer + chunk).split(b"\n\n")
                for event in events:
                    if _record_event(event, result):
                        yield

    async def wait_until_saved(self, turn: str) -> None:
        """Poll a turn of a compatible endpoint until it is stored, up to 50 ms after its response begins."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                async with self.http.get(f"{self.url}/api/turns/{turn}") as response:
                    if response.status == 200:
                        return
                await asyncio.sleep(0.01)

    async def wait_for_reasoning(self, turn: str, words: str) -> Any:
        """Poll a turn until its reasoning starts with these words, and return it."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                body = await self.call("GET", f"/api/turns/{turn}")
                if (body["reasoning_content"] or "").startswith(words):
                    return body
                await asyncio.sleep(0.01)

    async def set_read_only(self, on: bool) -> None:
        """Make the database refuse writes, or accept them again, from the next commit on."""

        def change() -> None:
            with self.database._writer_engine.connect() as conn:
                raw = conn.connection.driver_connection
                assert raw is not None
                raw.execute(f"PRAGMA query_only = {'ON' if on else 'OFF'}")

        await asyncio.get_running_loop().run_in_executor(self.database._writer_pool, change)

    async def run_turn(
        self, session: str, prompt: str = "How much is 17 * 3 - 9?", **body: Any
    ) -> StreamResult:
        """Start a turn and read it to its end."""
        return await self.read_stream(await self.start_turn(session, prompt, **body))


def _record_event(event: bytes, result: StreamResult) -> bool:
    fields = dict(line.split(b": ", 1) for line in event.split(b"\n"))
    if b"" in fields:
        result.comments += 1
    elif fields.keys() == {b"id"}:
        result.last_id = fields[b"id"].decode()
    elif b"id" in fields:
        result.last_id = fields[b"id"].decode()
        number = int(fields[b"id"])
        assert number not in result.entries, f"entry {number} was sent twice"
        result.entries[number] = _entry_decoder.decode(fields[b"data"])
        assert result.entries[number].seq == number
    elif b"event" in fields:
        result.events.append((fields[b"event"].decode(), msgspec.json.decode(fields[b"data"])))
        if result.events[-1][0] == "reset":
            result.entries.clear()
    else:
        return False
    return True


def catalog_with(*servers: Simulator, extra: str = "") -> Catalog:
    """Return the catalog with these simulators in place of their providers."""
    rows = [extra]
    for server in servers:
        row = builtin_catalog().providers[CATALOG_ROWS[server.api.name]]
        rows.append(f'[providers.{row.name}]\nbase_url = "{server.url}{urlsplit(row.base_url).path}"\n')
    return parse_catalog(*builtin_texts(), "\n".join(rows))


@asynccontextmanager
async def start_gateway(
    folder: Path,
    provider: str = "vllm",
    script: list[Any] | None = None,
    *,
    settings: Settings | None = None,
    client: Client | None = None,
    extra: Sequence[Tool] | str = (),
) -> AsyncIterator[Caller]:
    """Start a gateway with its database in a folder, and yield a caller of it."""
    rows, tools = (extra, ()) if isinstance(extra, str) else ("", extra)
    async with AsyncExitStack() as stack:
        simulator = await stack.enter_async_context(
            run_simulator(provider, script=SCRIPT if script is None else script)
        )
        database = await stack.enter_async_context(open_database(folder / "thinkaloud.db"))
        gateway = Gateway(
            database,
            catalog_with(simulator, extra=rows),
            settings=settings or quick_settings(),
            client=client or client_without_retries(),
            toolbox=Toolbox(builtin_tools() | {tool.definition.name: tool for tool in tools}),
        )
        import_and_export_in_threads(gateway)
        await stack.enter_async_context(gateway)
        server = await stack.enter_async_context(start_server(gateway))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        yield Caller(server.url, http, gateway, simulator, database)


def client_without_retries(**timeouts: float) -> Client:
    """Return a client without retries."""
    return Client(retries=RetryPolicy(max_retries=0), timeouts=Timeouts(**timeouts))


def quick_settings(**values: Any) -> Settings:
    """Return settings with short timeouts, and with patience for a commit on a busy machine."""
    limits = {name: values.pop(name) for name in tuple(values) if name in GatewayLimits.__struct_fields__}
    defaults: dict[str, Any] = {
        "grace_s": 0.2,
        "heartbeat_s": 5.0,
        "log_config": LogConfig(slow_commit_s=PATIENCE_S),
    }
    return Settings(limits=GatewayLimits(**limits), **(defaults | values))


async def wait_until(condition: Any, seconds: float = PATIENCE_S) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)
