"""A gateway on a port, with a simulated provider behind it and an ordinary HTTP client before it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec
from tests.app.serving import ROWS
from tests.patience import PATIENCE_S

from thinkaloud.agents.builtin_tools import builtin_tools
from thinkaloud.agents.toolbox import Toolbox
from thinkaloud.agents.tools import Tool
from thinkaloud.canon import Entry
from thinkaloud.catalog import Catalog, builtin, builtin_texts, parse
from thinkaloud.client import Client, Retries, Timeouts
from thinkaloud.server.gateway import Gateway, Settings
from thinkaloud.server.limits import Limits
from thinkaloud.server.serving import listening
from thinkaloud.simulators import Simulator, running
from thinkaloud.store.sqlite import Sqlite, opened
from thinkaloud.transcript import Turn, apply

MODELS = {
    "vllm": "vllm/qwen3-8b",
    "anthropic": "anthropic/claude-opus-4-5",
    "deepseek": "deepseek/deepseek-v4-pro",
}
THOUGHT = "17 times 3 is 51, and 51 minus 9 is 42."
ANSWER = "It is 42."
SCRIPT = [{"thinking": THOUGHT, "text": ANSWER}]
SLOW = [{"thinking": "one two three four five six seven eight nine ten", "text": "Done.", "delay_ms": 60}]
"""Half a second and more, a word at a time."""
ACME = """
[providers.acme]
dialect = "openai_chat"
base_url = "{url}"
replay = "none"
local = true
fact = {{ as_of = "2026-01-01", source = "a test" }}
"""
"""A row for a provider that a test plays itself, as `acme/m-1`."""
ENDLESS = [{"thinking": "again and " * 2000, "text": "never", "delay_ms": 20}]

_entry = msgspec.json.Decoder(Entry)


@dataclass
class Told:
    """What a stream said: its entries by id, everything else by name, in order."""

    status: int = 200
    entries: dict[int, Entry] = field(default_factory=dict)
    named: list[tuple[str, Any]] = field(default_factory=list)
    comments: int = 0
    data: bytes = b""

    @property
    def turn(self) -> Turn:
        """The fold of the entries."""
        turn = Turn()
        for entry in self.entries.values():
            apply(turn, entry)
        return turn

    @property
    def state(self) -> str:
        """How the stream said that the turn came out."""
        return str(dict(self.named)["end"]["state"])


class Caller:
    """Asks the gateway, as any program would."""

    def __init__(
        self,
        url: str,
        http: aiohttp.ClientSession,
        gateway: Gateway,
        simulator: Simulator,
        database: Sqlite,
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
        """The answer's JSON, after a look at its status."""
        async with self.http.request(method, self.url + path, json=body, headers=headers) as response:
            told = await response.read()
            assert response.status == status, (response.status, told)
            return msgspec.json.decode(told) if told else None

    async def refused(self, method: str, path: str, body: Any = None, *, status: int) -> str:
        """The words of a refusal."""
        told = await self.call(method, path, body, status=status)
        assert told["error"]["code"]
        return str(told["error"]["message"])

    async def session(self, **body: Any) -> str:
        """A new session's id."""
        made = await self.call("POST", "/api/sessions", {"model": self.model, **body}, status=201)
        return str(made["id"])

    async def begin(self, session: str, prompt: str = "How much is 17 * 3 - 9?", **body: Any) -> str:
        """The id of a turn that has begun."""
        asked = {"prompt": prompt, **body} if prompt else body
        begun = await self.call("POST", f"/api/sessions/{session}/turns", asked, status=202)
        assert begun["state"] == "running"
        assert begun["events"] == f"/api/turns/{begun['id']}/events"
        return str(begun["id"])

    async def read(self, turn: str, query: str = "", **headers: str) -> Told:
        """A turn's stream to its end."""
        told = Told()
        async for _ in self.follow(turn, told, query, **headers):
            pass
        return told

    async def follow(self, turn: str, told: Told, query: str = "", **headers: str) -> AsyncIterator[None]:
        """A turn's stream, one event at a time; leaving the loop drops the connection."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.http.get(f"{self.url}/api/turns/{turn}/events{query}", headers=sent) as response:
            told.status = response.status
            buffer = b""
            async for chunk in response.content.iter_any():
                told.data += chunk
                *events, buffer = (buffer + chunk).split(b"\n\n")
                for event in events:
                    if _hear(event, told):
                        yield

    async def thinking(self, turn: str, words: str) -> Any:
        """A turn as it can be read, once its thought begins with these words."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                told = await self.call("GET", f"/api/turns/{turn}")
                if (told["reasoning_content"] or "").startswith(words):
                    return told
                await asyncio.sleep(0.01)

    async def set_read_only(self, on: bool) -> None:
        """Let the disk take nothing, or take it again; as the engine sees it, at its next commit."""

        def change() -> None:
            with self.database._writer.connect() as conn:
                raw = conn.connection.driver_connection
                assert raw is not None
                raw.execute(f"PRAGMA query_only = {'ON' if on else 'OFF'}")

        await asyncio.get_running_loop().run_in_executor(self.database._writing, change)

    async def answered(self, session: str, prompt: str = "How much is 17 * 3 - 9?", **body: Any) -> Told:
        """A turn begun and read to its end."""
        return await self.read(await self.begin(session, prompt, **body))


def _hear(event: bytes, told: Told) -> bool:
    fields = dict(line.split(b": ", 1) for line in event.split(b"\n"))
    if b"" in fields:
        told.comments += 1
    elif b"id" in fields:
        number = int(fields[b"id"])
        assert number not in told.entries, f"entry {number} came twice"
        told.entries[number] = _entry.decode(fields[b"data"])
        assert told.entries[number].seq == number
    elif b"event" in fields:
        told.named.append((fields[b"event"].decode(), msgspec.json.decode(fields[b"data"])))
        if told.named[-1][0] == "reset":
            told.entries.clear()
    else:
        return False
    return True


def pointing_at(*servers: Simulator, extra: str = "") -> Catalog:
    """The catalog with these simulators in place of their providers."""
    rows = [extra]
    for server in servers:
        row = builtin().providers[ROWS[server.api.name]]
        rows.append(f'[providers.{row.name}]\nbase_url = "{server.url}{urlsplit(row.base_url).path}"\n')
    return parse(*builtin_texts(), "\n".join(rows))


@asynccontextmanager
async def calling(
    folder: Path,
    provider: str = "vllm",
    script: list[Any] | None = None,
    *,
    settings: Settings | None = None,
    client: Client | None = None,
    more: Sequence[Tool] | str = (),
) -> AsyncIterator[Caller]:
    """A caller of a gateway with its database in that folder, and more tools, or more rows of the catalog."""
    rows, tools = (more, ()) if isinstance(more, str) else ("", more)
    async with AsyncExitStack() as stack:
        simulator = await stack.enter_async_context(
            running(provider, script=SCRIPT if script is None else script)
        )
        database = await stack.enter_async_context(opened(folder / "thinkaloud.db"))
        gateway = Gateway(
            database,
            pointing_at(simulator, extra=rows),
            settings=settings or quick(),
            client=client or impatient(),
            toolbox=Toolbox(builtin_tools() | {tool.definition.name: tool for tool in tools}),
        )
        await stack.enter_async_context(gateway)
        place = await stack.enter_async_context(listening(gateway))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        yield Caller(place.url, http, gateway, simulator, database)


def impatient(**timeouts: float) -> Client:
    """A client that asks once."""
    return Client(retries=Retries(most=0), timeouts=Timeouts(**timeouts))


def quick(**given: Any) -> Settings:
    """Settings for impatient tests."""
    limits = {name: given.pop(name) for name in tuple(given) if name in Limits.__struct_fields__}
    return Settings(limits=Limits(**limits), **({"grace_s": 0.2, "heartbeat_s": 5.0} | given))


async def eventually(true: Any, seconds: float = PATIENCE_S) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.005)
