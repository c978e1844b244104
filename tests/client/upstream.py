"""A provider made of bytes: a TCP server that runs a test's script and records the requests it gets."""

import asyncio
import contextlib
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tests.patience import PATIENCE_S

from thinkaloud.client import Client, ClientEnvironment, PreparedRequest, RetryPolicy, Timeouts
from thinkaloud.core.canon.requests import Request, UserMessage
from thinkaloud.core.catalog.rows import (
    AuthScheme,
    Model,
    Provider,
    ReplayForm,
    ReplayRow,
    Route,
    RowSource,
    ThinkingSupport,
)

KEY = "sk-canary-7f3a91d2"
FACT = RowSource(as_of="2026-01-01", source="a test")
ResultT = TypeVar("ResultT")

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
"""The headers of a stream that ends with its connection."""
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def sse_event(data: str) -> bytes:
    return f"data: {data}\n\n".encode()


def chat_delta(**fields: str) -> bytes:
    return sse_event(json.dumps({"choices": [{"delta": fields}]}, ensure_ascii=False))


STORY = [
    sse_event('{"model":"m-1","choices":[{"delta":{"role":"assistant","reasoning_content":"Two"}}]}'),
    chat_delta(reasoning_content=" and two → ?"),
    chat_delta(content="Fo"),
    chat_delta(content="ur."),
    sse_event('{"choices":[{"delta":{},"finish_reason":"stop"}]}'),
    sse_event("[DONE]"),
]


def http_chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def http_response(status: str, body: bytes = b"", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass
class UpstreamRequest:
    """One request as received, and its connection."""

    head: str
    body: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    connection: int

    async def send(self, *pieces: bytes, pause_s: float = 0.0) -> None:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            if pause_s:
                await asyncio.sleep(pause_s)

    def reset(self) -> None:
        """End the connection with a TCP reset."""
        linger = struct.pack("ii", 1, 0)
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.writer.transport.abort()

    async def wait_closed(self) -> None:
        """Wait until the client has closed its side."""
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(65536):
                pass


RequestHandler = Callable[[UpstreamRequest], Awaitable[None]]


@dataclass
class Upstream:
    """The requests a server got, and its address."""

    port: int = 0
    requests: list[UpstreamRequest] = field(default_factory=list)
    scheme: str = "http"

    @property
    def base_url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/v1"

    def provider(self, dialect: str = "openai_chat", auth: AuthScheme = AuthScheme.BEARER) -> Provider:
        return Provider(
            name="acme", dialect=dialect, base_url=self.base_url, key="env:ACME_KEY", auth=auth, fact=FACT
        )

    def route(self, dialect: str = "openai_chat") -> Route:
        model = Model(id="m-1", thinking=ThinkingSupport.OPTIONAL, fact=FACT)
        replay = ReplayRow(name="none", form=ReplayForm.NONE)
        return Route(provider=self.provider(dialect), model=model, model_id="m-1", replay=replay)


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, bytes] | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    length = [line.split(":")[1] for line in head.split("\r\n") if line.lower().startswith("content-length")]
    return head, await reader.readexactly(int(length[0]) if length else 0)


@asynccontextmanager
async def serve_upstream(
    *handlers: RequestHandler, keep: bool = False, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Upstream]:
    """Serve with one action per request, the last one for all that follow; `keep` keeps connections."""
    upstream = Upstream(scheme="http" if tls is None else "https")
    running: set[asyncio.Task[None]] = set()
    writers: list[asyncio.StreamWriter] = []
    connections = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        connection_number = connections
        with contextlib.suppress(ConnectionError):
            while (head_and_body := await _read_request(reader)) is not None:
                request = UpstreamRequest(*head_and_body, reader, writer, connection_number)
                upstream.requests.append(request)
                await handlers[min(len(upstream.requests), len(handlers)) - 1](request)
                if not keep:
                    break
        writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        task = asyncio.create_task(handle(reader, writer))
        running.add(task)
        task.add_done_callback(running.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    upstream.port = server.sockets[0].getsockname()[1]
    try:
        yield upstream
    finally:
        server.close()
        for task in list(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for writer in writers:
            if not writer.transport.is_closing():  # a closed transport cannot be aborted
                writer.transport.abort()
        await asyncio.sleep(0.01)


@dataclass(frozen=True)
class WrittenRequest:
    path: str = "/chat/completions"
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    body: bytes = b'{"stream":true}'


def write_request(route: Route, request: Request) -> WrittenRequest:
    return WrittenRequest()


REQUEST = Request(model="m-1", messages=(UserMessage("2 + 2?"),))


def prepared(route: Route) -> PreparedRequest:
    return PreparedRequest(route, REQUEST)


@dataclass
class FakeSleep:
    """A sleep that takes no time and records its durations."""

    durations_s: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.durations_s.append(seconds)


def make_client(
    sleep: FakeSleep | None = None,
    *,
    timeouts: Timeouts | None = None,
    retries: RetryPolicy | None = None,
    environ: dict[str, str] | None = None,
) -> Client:
    environment = ClientEnvironment(
        environ={"ACME_KEY": KEY} if environ is None else environ,
        sleep=sleep or FakeSleep(),
        jitter=lambda: 0.5,
        now_s=lambda: 1_700_000_000.0,
    )
    return Client(
        timeouts=timeouts or Timeouts(PATIENCE_S, PATIENCE_S, PATIENCE_S),
        retries=retries or RetryPolicy(),
        environment=environment,
    )


def run(coroutine: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run a test's coroutine within the time limit."""
    return asyncio.run(asyncio.wait_for(coroutine, PATIENCE_S))
