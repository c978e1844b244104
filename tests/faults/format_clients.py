"""Clients of the compatible endpoints, one of each format. What they are told must be what is stored."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import aiohttp
from tests.faults.checker import WHOLE
from tests.faults.fault_run import FaultRun, stored_text, until
from tests.faults.history import ClientHistory
from tests.gateway.gateway_process import bearer_headers
from tests.gateway.paced_provider import expected

from thinkaloud.core.canon import Entry
from thinkaloud.core.dialects.reader import Reader
from thinkaloud.core.transcript import Turn, apply

_QUESTION = [{"role": "user", "content": "Go on."}]


class ClientFormat(NamedTuple):
    """How a client of a format asks, and by what it is told how its answer ended."""

    path: str
    dialect: str
    body: dict[str, object]
    whole_mark: bytes
    """The first of what says that the answer is whole."""
    error_mark: bytes


FORMATS = (
    ClientFormat(
        "/v1/chat/completions", "openai_chat", {"messages": _QUESTION}, b'"finish_reason":"', b'{"error":'
    ),
    ClientFormat(
        "/v1/messages",
        "anthropic_messages",
        {"messages": _QUESTION, "max_tokens": 1000},
        b'"stop_reason":"',
        b"event: error",
    ),
    ClientFormat(
        "/v1/responses",
        "openai_responses",
        {"input": "Go on."},
        b"event: response.completed",
        b"response.failed",
    ),
    ClientFormat("/api/chat", "ollama", {"messages": _QUESTION}, b'"done":true', b'{"error":'),
)


class FormatClient:
    """One request to a compatible endpoint, and what came of it."""

    def __init__(self, client_format: ClientFormat, http: aiohttp.ClientSession, model: str) -> None:
        self._format = client_format
        self._http = http
        self._model = model
        self.data = b""
        self._refused = False
        """Whether the response is an HTTP error, and no stream."""
        self.turn = ""
        """The id of the turn, once the response has begun."""

    async def ask(self, url: str, token: str = "") -> None:
        """Read a streamed response to its end, or until the connection breaks."""
        body = {"model": self._model, "stream": True, **self._format.body}
        path = url + self._format.path
        try:
            async with self._http.post(path, json=body, headers=bearer_headers(token)) as response:
                self._refused = not response.ok
                self.turn = response.headers.get("x-thinkaloud-context", "/////").split("/")[3]
                async for chunk in response.content.iter_any():
                    self.data += chunk
        except (aiohttp.ClientError, ConnectionError):
            return

    @property
    def name(self) -> str:
        """The path of the endpoint."""
        return self._format.path

    @property
    def ends(self) -> tuple[str, ...]:
        """The ends that the client was told, found without any reader of our own."""
        compact = self.data.replace(b'": ', b'":')  # bytes of the provider are passed on with their spaces
        whole = (WHOLE,) if self._format.whole_mark in compact else ()
        told_error = self._refused or self._format.error_mark in self.data
        return (*whole, "error") if told_error else whole

    async def history(self, run: FaultRun, *, may_break: bool) -> ClientHistory:
        """Return what the client received and was told, and what is stored of its turn."""
        received = self._received_turn()
        sent_thought, sent_answer = expected(self._model)
        state = stored_thought = stored_answer = ""
        if self.turn:
            path, headers = f"{run.gateway.url}/api/turns/{self.turn}", bearer_headers(run.token)
            async with run.caller.http.get(path, headers=headers) as response:
                if response.ok:
                    stored = stored_text(await response.json())
                    state, stored_thought, stored_answer = stored
        return ClientHistory(
            name=self._format.path,
            turn=self.turn,
            sent_thought=sent_thought,
            sent_answer=sent_answer,
            thought=received.reasoning,
            answer=received.answer,
            ends=self.ends,
            may_break=may_break,
            state=state,
            stored_thought=stored_thought,
            stored_answer=stored_answer,
        )

    def _received_turn(self) -> Turn:
        """Return what a reader makes of the bytes."""
        turn, reader = Turn(), Reader(self._format.dialect)
        if self._refused:
            return turn
        events = [*reader.feed(self.data), *reader.close()]
        for seq, event in enumerate(events):
            apply(turn, Entry(seq, event))
        return turn


class FormatClients:
    """Clients of all formats at one gateway, with a token if it needs one."""

    def __init__(
        self, run: FaultRun, url: str, pick_model: Callable[[], str], *, each: int = 1, token: str = ""
    ) -> None:
        self._run = run
        formats = [one for one in FORMATS for _ in range(each)]
        self.clients = [FormatClient(one, run.caller.http, f"paced/{pick_model()}") for one in formats]
        self._tasks = [asyncio.create_task(client.ask(url, token or run.token)) for client in self.clients]

    async def until_begun(self) -> None:
        """Wait until every client has a part of its answer."""
        await until(lambda: all(client.data for client in self.clients))

    async def read_all(self) -> list[FormatClient]:
        """Wait for all clients and return them, unchecked."""
        await asyncio.gather(*self._tasks)
        return self.clients

    async def finish(self, *, may_break: bool) -> list[ClientHistory]:
        """Wait for all clients, then let the checker compare what they were told with what is stored.

        With `may_break` a client may have been told no end, because it was cut off.
        """
        clients = await self.read_all()
        histories = [await client.history(self._run, may_break=may_break) for client in clients]
        self._run.take(histories)
        return histories
