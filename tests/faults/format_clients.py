"""Clients of the compatible endpoints, one of each format. What they are told must be what is stored."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import aiohttp
from tests.faults.fault_run import FaultRun, until

_QUESTION = [{"role": "user", "content": "Go on."}]


class ClientFormat(NamedTuple):
    """How a client of a format asks, and by what it is told how its answer ended."""

    path: str
    body: dict[str, object]
    whole_mark: bytes
    """The first of what says that the answer is whole."""
    error_mark: bytes


FORMATS = (
    ClientFormat("/v1/chat/completions", {"messages": _QUESTION}, b'"finish_reason":"', b'{"error":'),
    ClientFormat(
        "/v1/messages", {"messages": _QUESTION, "max_tokens": 1000}, b'"stop_reason":"', b"event: error"
    ),
    ClientFormat("/v1/responses", {"input": "Go on."}, b"event: response.completed", b"response.failed"),
    ClientFormat("/api/chat", {"messages": _QUESTION}, b'"done":true', b'{"error":'),
)


class FormatClient:
    """One request to a compatible endpoint, and what came of it."""

    def __init__(self, client_format: ClientFormat, http: aiohttp.ClientSession) -> None:
        self._format = client_format
        self._http = http
        self.data = b""
        self.turn = ""
        """The id of the turn, once the response has begun."""

    async def ask(self, url: str, model: str) -> None:
        """Read a streamed response to its end, or until the connection breaks."""
        body = {"model": model, "stream": True, **self._format.body}
        try:
            async with self._http.post(url + self._format.path, json=body) as response:
                self.turn = response.headers.get("x-thinkaloud-context", "/////").split("/")[3]
                async for chunk in response.content.iter_any():
                    self.data += chunk
        except (aiohttp.ClientError, ConnectionError):
            return

    @property
    def told_whole(self) -> bool:
        """Whether the client was told that its answer is whole."""
        compact = self.data.replace(b'": ', b'":')  # bytes of the provider are passed on with their spaces
        return self._format.whole_mark in compact

    @property
    def told_error(self) -> bool:
        """Whether the client was told that its answer failed."""
        return self._format.error_mark in self.data

    @property
    def name(self) -> str:
        """The path of the endpoint."""
        return self._format.path


class FormatClients:
    """Clients of all formats at one gateway."""

    def __init__(self, run: FaultRun, url: str, pick_model: Callable[[], str], each: int = 1) -> None:
        self._run = run
        self.clients = [FormatClient(one, run.caller.http) for one in FORMATS for _ in range(each)]
        self._tasks = [
            asyncio.create_task(client.ask(url, f"paced/{pick_model()}")) for client in self.clients
        ]

    async def until_begun(self) -> None:
        """Wait until every client has a part of its answer."""
        await until(lambda: all(client.data for client in self.clients))

    async def check(self, *, may_break: bool) -> None:
        """Wait for all clients, then compare what they were told with what is stored.

        With `may_break` a client may have been told nothing, because its gateway was killed.
        """
        await asyncio.gather(*self._tasks)
        for client in self.clients:
            run = self._run
            told = f"{client.name} (whole: {client.told_whole}, error: {client.told_error})"
            run.expect(not (client.told_whole and client.told_error), "told", f"two ends of {told}")
            run.expect(may_break or client.told_whole or client.told_error, "told", f"no end of {told}")
            if client.told_whole:
                body = await run.caller.call("GET", f"/api/turns/{client.turn}")
                run.expect(body["state"] == "done", "told", f"{told} is stored as {body['state']}")
