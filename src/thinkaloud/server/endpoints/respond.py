"""Answers a client's request in its own format: streamed as the turn runs, or whole when it has ended.

A turn that fails before it has shown anything is an HTTP error, with the status that the client's retries
depend on. Afterwards it is the error that the format has within a stream. A client that disconnects ends its
turn, as it would at the provider.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, TypeVar

from thinkaloud.canon import BlockStarted, Entry, TurnEnded, TurnFailed
from thinkaloud.dialects import DIALECTS
from thinkaloud.dialects.client_request import ClientRequest
from thinkaloud.dialects.writer import ErrorReport, ResponseFormat, ResponseHead, encode_json
from thinkaloud.server.endpoint import ClientGone, RouteRequest
from thinkaloud.server.endpoints.place import start_client_turn
from thinkaloud.server.errors import HttpErrorResponse
from thinkaloud.server.thought_filter import ThoughtFilter
from thinkaloud.store.archive import decode_entries
from thinkaloud.store.rows import TurnRow
from thinkaloud.transcript import Turn, apply

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
_T = TypeVar("_T")

_PATIENCE_S = 5.0
"""How long the status of a stream is held back, so that an early failure can still be an HTTP error."""
_STATUS_BY_CODE = {"unreachable": 504, "stalled": 504, "refused": 400}
"""The status of failures that are no response of the provider. Its own refusals have its status."""
_FAILED_STATUS = 502
_FIRST_EVENTS = (BlockStarted, TurnEnded, TurnFailed)
IGNORED_HEADER = b"x-thinkaloud-ignored"
"""What of the request was not honoured."""
REASONING_FIELDS_HEADER = "x-thinkaloud-reasoning-fields"
_REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details")


async def respond(request: RouteRequest, dialect: str, receive: Receive, send: Send) -> None:
    """Answer one request of a client that speaks this dialect."""
    response_format, parse = DIALECTS[dialect].response_format, DIALECTS[dialect].parse_request
    assert response_format is not None
    assert parse is not None
    client_request = parse(request.raw_body)
    disconnected = asyncio.create_task(_wait_for_disconnect(receive))
    starting = asyncio.create_task(start_client_turn(request.gateway, request.owner, client_request))
    try:
        started = await _unless_gone(starting, disconnected)
        response = _ClientResponse(request, client_request, started.turn, response_format, send)
        sending = response.send_stream() if client_request.stream else response.send_whole()
        try:
            await _unless_gone(asyncio.create_task(sending), disconnected)
        except ClientGone:
            await request.gateway.turns.cancel(started.turn)
            raise
    finally:
        disconnected.cancel()


async def _unless_gone(task: asyncio.Task[_T], disconnected: asyncio.Task[None]) -> _T:
    """Return the result of a task. It is cancelled if the client disconnects first."""
    try:
        await asyncio.wait((disconnected, task), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGone
        return await task
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait((task,))


def error_for_client(error: HttpErrorResponse, dialect: str) -> tuple[int, bytes]:
    """Return the status and the body of an error as clients of this dialect know it: they use 400 for 422."""
    response_format = DIALECTS[dialect].response_format
    assert response_format is not None
    status = 400 if error.status == 422 else error.status
    report = ErrorReport(error.detail.code, error.detail.message, status, error.detail.id)
    return status, encode_json(response_format.error_body(report))


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class _ClientResponse:
    """The response to one request."""

    def __init__(
        self,
        request: RouteRequest,
        client_request: ClientRequest,
        row: TurnRow,
        response_format: ResponseFormat,
        send: Send,
    ) -> None:
        self._gateway = request.gateway
        self._row = row
        self._head = _response_head(row, client_request, request.headers)
        self._ignored = client_request.ignored
        self._format = response_format
        self._filter = ThoughtFilter(request.grant.thinking_of(row))
        self._send = send
        self._request_id = f"req_{row.id}"
        self._last = -1

    async def send_stream(self) -> None:
        """Send the turn as it runs."""
        entries = await self._first_entries()
        if failure := _early_failure(entries):
            await self._send_failure(failure)
            return
        await self._send_head(200, self._format.stream_type)
        async for data in self._stream_data(entries):
            await self._send({"type": "http.response.body", "body": data, "more_body": True})
        await self._send({"type": "http.response.body", "body": b""})

    async def _next_entries(self, timeout_s: float) -> list[Entry] | None:
        """Return the next entries that the user may see; None if the time is over first."""
        log, key = self._gateway.log, self._row.key
        span = await log.read(key, self._last)
        if not span.lines and not span.ended:
            if not await log.wait_for_change(key, self._last, timeout_s):
                return None
            span = await log.read(key, self._last)
        self._last = span.last if span.lines else self._last
        return [visible for entry in decode_entries(span.lines) for visible in self._filter.feed(entry)]

    async def _first_entries(self) -> list[Entry]:
        """Return the entries up to the first block or the end, or what there is when patience ends."""
        entries: list[Entry] = []
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _PATIENCE_S
        while not any(isinstance(entry.event, _FIRST_EVENTS) for entry in entries):
            if (left_s := deadline - loop.time()) <= 0:
                break
            entries += await self._next_entries(left_s) or ()
        return entries

    async def _stream_data(self, entries: list[Entry] | None) -> AsyncIterator[bytes]:
        writer, turn, heartbeat_s = (
            self._format.make_writer(self._head),
            Turn(),
            self._gateway.settings.heartbeat_s,
        )
        loop = asyncio.get_running_loop()
        sent_s = loop.time()
        while True:
            # Entries that the user may not see leave a stream as silent as none.
            data = writer.keep_alive() if loop.time() - sent_s >= heartbeat_s else b""
            for entry in entries or ():
                apply(turn, entry)
                data += writer.feed(entry.event, turn)
            if not turn.live:
                # The client may send its next request at once, and then the turn must be found.
                await self._gateway.turns.wait_until_saved(self._row.key)
            if data:
                yield data
                sent_s = loop.time()
            if not turn.live:
                return
            entries = await self._next_entries(heartbeat_s)

    async def send_whole(self) -> None:
        """Send the turn when it has ended."""
        turn = Turn()
        while turn.live:
            for entry in await self._next_entries(self._gateway.settings.heartbeat_s) or ():
                apply(turn, entry)
                if isinstance(entry.event, TurnFailed):
                    await self._send_failure(entry.event)
                    return
        await self._gateway.turns.wait_until_saved(self._row.key)
        body = await asyncio.to_thread(self._format.write_whole, turn, self._head)
        await self._send_head(200, "application/json", len(body))
        await self._send({"type": "http.response.body", "body": body})

    async def _send_failure(self, failure: TurnFailed) -> None:
        status = _STATUS_BY_CODE.get(failure.code, _FAILED_STATUS)
        if failure.status >= 400:
            status = failure.status
        report = ErrorReport(failure.code, failure.message, status, self._request_id)
        body = encode_json(self._format.error_body(report))
        await self._send_head(status, "application/json", len(body))
        await self._send({"type": "http.response.body", "body": body})

    async def _send_head(self, status: int, media_type: str, length: int | None = None) -> None:
        request_id = self._request_id.encode()
        headers = [
            (b"content-type", media_type.encode()),
            (b"request-id", request_id),
            (b"x-request-id", request_id),
            (b"x-accel-buffering", b"no"),
        ]
        if self._ignored:
            ignored = ", ".join(self._ignored).encode("ascii", "replace")
            headers.append((IGNORED_HEADER, re.sub(rb"[^ -~]", b"?", ignored)))
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
        await self._send({"type": "http.response.start", "status": status, "headers": headers})


def _early_failure(entries: list[Entry]) -> TurnFailed | None:
    """Return how a turn failed before there was anything to show."""
    if any(isinstance(entry.event, BlockStarted) for entry in entries):
        return None
    return next((entry.event for entry in entries if isinstance(entry.event, TurnFailed)), None)


def _response_head(row: TurnRow, request: ClientRequest, headers: Mapping[str, str]) -> ResponseHead:
    return ResponseHead(
        turn=row.id,
        model=request.model,
        created_s=row.created_ms // 1000,
        include_usage=request.include_usage,
        reasoning_fields=_reasoning_fields(headers),
    )


def _reasoning_fields(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the fields for thoughts that the client asks for in a header; else the default."""
    wanted = {name.strip() for name in headers.get(REASONING_FIELDS_HEADER, "").split(",")}
    return tuple(name for name in _REASONING_FIELDS if name in wanted) or _REASONING_FIELDS[:1]
