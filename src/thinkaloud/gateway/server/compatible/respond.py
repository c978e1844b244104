"""Answers a client's request in its own format: streamed as the turn runs, or whole when it has ended.

A turn that fails before it has shown anything is an HTTP error, with the status that the client's retries
depend on. Afterwards it is the error that the format has within a stream. A client that disconnects ends its
turn, as it would at the provider, and so does one whose token is revoked.

What a client is told is what is stored: the end of a turn is sent after the commit of this end. Text goes out
before its commit, but only while no other gateway can have the turn. A turn that was lost is a failure.
"""

import asyncio
import re
import secrets
from collections.abc import Awaitable, Mapping
from functools import partial

import msgspec
from starlette.types import Receive, Send

from thinkaloud.client.errors import ErrorResponse, may_retry
from thinkaloud.client.response import StallTimer
from thinkaloud.core.canon import BlockStarted, Entry, Finish, Refused, TurnEnded, TurnFailed, Wording
from thinkaloud.core.dialects import CLIENT_FORMATS
from thinkaloud.core.dialects.client_request import ClientRequest
from thinkaloud.core.dialects.relay import ByteRelay
from thinkaloud.core.dialects.writer import ErrorReport, ResponseFormat, ResponseHead, encode_json, request_id
from thinkaloud.core.transcript import Turn, apply
from thinkaloud.gateway.server.compatible.client_identity import session_client
from thinkaloud.gateway.server.compatible.place import start_client_turn
from thinkaloud.gateway.server.compatible.stream_body import StreamBody
from thinkaloud.gateway.server.http.errors import HttpErrorResponse, ServiceUnavailable
from thinkaloud.gateway.server.http.request_parts import decode_large
from thinkaloud.gateway.server.http.response import begin, in_time, send_in_time
from thinkaloud.gateway.server.http.route import ClientGone, RouteRequest
from thinkaloud.gateway.server.streams.entry_feed import EntryFeed, FeedBatch
from thinkaloud.gateway.server.streams.thought_filter import ThoughtFilter
from thinkaloud.gateway.store.engine.database import NotSaved
from thinkaloud.gateway.store.log.archive import decode_entries
from thinkaloud.gateway.store.log.finish import INTERRUPTED
from thinkaloud.gateway.store.rows import ThinkingShown, TurnRow

_PATIENCE_S = 5.0
"""How long the status of a stream is held back, so that an early failure can still be an HTTP error."""
_STATUS_BY_CODE = {"unreachable": 504, "stalled": 504, "refused": 400, "cancelled": 409}
"""The status of failures that are no response of the provider. Its own refusals have its status."""
_FAILED_STATUS = 502
_CANCELLED = TurnFailed.of("cancelled", Wording("The turn was cancelled at the gateway. Ask again."))
_LOST = TurnFailed.of(
    INTERRUPTED,
    Wording(
        "The gateway could not store this answer as it ended, because another one has taken it over, "
        "it was deleted, or the gateway stopped. Ask again."
    ),
)
_STATUS_BY_REFUSAL = {"unknown_model": 404}
"""The status of refusals for which all vendors have the same one. Others that we answer with 422 are 400."""
_ID_HEADERS = (b"request-id", b"x-request-id")
"""The names in which Anthropic's and OpenAI's clients look for the id of a request."""
_FIRST_EVENTS = (BlockStarted, TurnEnded, TurnFailed)
IGNORED_HEADER = b"x-thinkaloud-ignored"
"""What of the request was not honoured."""
CONTEXT_HEADER = b"x-thinkaloud-context"
"""The path of the report on what of the conversation was sent to the provider."""
REASONING_FIELDS_HEADER = "x-thinkaloud-reasoning-fields"
_REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details")


async def respond(request: RouteRequest, dialect: str, receive: Receive, send: Send) -> None:
    """Answer one request of a client that speaks this dialect."""
    parse, response_format = CLIENT_FORMATS[dialect]
    parsed = await decode_large(request.raw_body, parse)
    client_request = _with_model(parsed, request.gateway.settings.model)
    relayed_dialect = dialect if client_request.stream and response_format.relay_rules else ""
    client, feed, started = session_client(request.headers), EntryFeed(relayed_dialect), None
    gateway = request.gateway
    try:
        async with gateway.streams.allowed(request.grant.token_hash, receive):
            async with gateway.storage_limit():
                started = await start_client_turn(gateway, request.owner, client_request, client, feed)
            response = _ClientResponse(request, client_request, started.turn, response_format, send)
            await response.send(feed, stream=client_request.stream)
    except ClientGone:
        if started is not None:
            await gateway.turns.cancel(started.turn)
        raise


def _with_model(request: ClientRequest, default_model: str) -> ClientRequest:
    """Return the request with a model. Front ends need not name one."""
    if request.model:
        return request
    if not default_model:
        raise Refused("The request names no model, and the gateway has no default one. Send `model`.")
    return msgspec.structs.replace(request, model=default_model)


def error_for_client(error: HttpErrorResponse, dialect: str) -> HttpErrorResponse:
    """Return an error as clients of this dialect know it: with an id, and with their vendors' statuses."""
    response_format = CLIENT_FORMATS[dialect].response_format
    status = _STATUS_BY_REFUSAL.get(error.detail.code, 400 if error.status == 422 else error.status)
    error_id = f"req_{error.detail.id or secrets.token_hex(12)}"
    report = ErrorReport(error.detail.code, error.detail.message, status, error_id)
    return HttpErrorResponse(
        status,
        error.detail,
        (*error.headers, *((name.decode(), error_id) for name in _ID_HEADERS)),
        encode_json(response_format.error_body(report)),
    )


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
        self._shown = request.grant.thinking_of(row)
        self._relay = self._make_relay(client_request, response_format)
        self._extra_headers = [(CONTEXT_HEADER, f"/api/turns/{row.id}/context".encode())]
        if client_request.ignored:
            ignored = ", ".join(client_request.ignored).encode("ascii", "replace")
            self._extra_headers.append((IGNORED_HEADER, re.sub(rb"[^ -~]", b"?", ignored)))
        self._format = response_format
        self._filter = ThoughtFilter(self._shown)
        self._send_now = send
        self._send = partial(send_in_time, send, request.gateway.settings.send_timeout_s)
        self._feed: EntryFeed
        self._request_id = request_id(row.id)
        self._last = -1
        self._deleted = False

    @property
    def _lost(self) -> bool:
        """Whether the turn is over, and its end cannot be had: it was not stored, or is deleted."""
        return self._feed.lost or self._deleted

    async def send(self, feed: EntryFeed, *, stream: bool) -> None:
        """Send the turn whose entries the feed gets: as it runs, or whole when it has ended."""
        self._feed = feed
        await (self._send_stream() if stream else self._send_whole())

    def _make_relay(self, request: ClientRequest, response_format: ResponseFormat) -> ByteRelay | None:
        """Return how the bytes of a provider of the same dialect are sent on; None if they may not be."""
        rules, default = response_format.relay_rules, _REASONING_FIELDS[:1]
        changed = request.refers_to_ids or request.text_tools or self._head.reasoning_fields != default
        if rules is None or changed or self._shown is not ThinkingShown.ALL:
            return None
        return ByteRelay(rules, include_usage=request.include_usage)

    async def _send_stream(self) -> None:
        batch = await self._first_batch()
        if self._lost or _early_failure(batch.entries):
            await self._wait_until_stored()
            failure = None if self._lost else _early_failure(batch.entries)
            await self._send_failure(failure or _LOST)
            return
        self._extra_headers += self._format.stream_headers
        await self._send_head(200, self._format.stream_type)
        body = StreamBody(self._format.make_writer(self._head), self._relay)
        await self._send_entries(body, batch)
        await self._send_end(body)

    async def _wait_until_stored(self) -> None:
        """Wait until the turn is saved or lost. Nothing was sent yet, so a full disk can be an HTTP error."""
        settings = self._gateway.settings
        while not await self._feed.wait_until_finished(settings.max_waiting_s / 4):
            if self._gateway.storage_waiting_s > settings.max_waiting_s:
                raise ServiceUnavailable(
                    "The storage accepts no writes, so the answer cannot be given yet. It is stored when "
                    "the storage accepts it; /readyz tells whether it does."
                )

    async def _next_batch(self, timeout_s: float) -> FeedBatch:
        """Return the next entries that the user may see; none if the time is over first.

        They are passed on before they are committed. Only the start and the end of a turn wait for that.
        None are passed on while another gateway may have the turn: they wait where they are.
        """
        feed, node = self._feed, self._gateway.node
        await feed.wait(timeout_s)
        held = feed.saved or feed.lost or await node.wait_until_turns_held(timeout_s)
        if feed.lost or not held:
            return FeedBatch([])
        if feed.waiting or not feed.closed:
            return self._take()
        return FeedBatch(await self._next_published(timeout_s))

    def _take(self) -> FeedBatch:
        """Take what the feed has."""
        batch = self._feed.take()
        if not batch.entries:
            return batch
        last = batch.entries[-1]
        self._last = last.seq
        if self._shown is ThinkingShown.ALL and type(last.event) is not TurnEnded:
            return batch
        return msgspec.structs.replace(batch, entries=self._visible(batch.entries))

    async def _next_published(self, timeout_s: float) -> list[Entry]:
        """Return the next entries from the log, for a client that reads slowly."""
        log, key = self._gateway.log, self._row.key
        try:
            span = await log.read(key, self._last)
            if not span.lines and not span.ended:
                if not await log.wait_for_change(key, self._last, timeout_s):
                    return []
                span = await log.read(key, self._last)
        except NotSaved:  # the database is waited for
            await asyncio.sleep(self._gateway.settings.log_config.retry_s)
            return []
        if self._feed.lost or not (self._feed.saved or self._gateway.node.holds_turns):
            return []
        if span.ended and not span.lines:
            self._deleted = True  # the end is the last line, and the client has not got it
            return []
        self._last = span.last if span.lines else self._last
        return self._visible(list(decode_entries(span.lines)))

    def _visible(self, entries: list[Entry]) -> list[Entry]:
        """Return what the client gets to know of these entries."""
        if entries and type(entries[-1].event) is TurnEnded:
            entries[-1] = _with_failure(entries[-1])
        if self._shown is ThinkingShown.ALL:
            return entries
        visible: list[Entry] = []
        for entry in entries:
            visible += self._filter.feed(entry)
        return visible

    async def _first_batch(self) -> FeedBatch:
        """Return the entries up to the first block or the end, or what there is when patience ends."""
        first = FeedBatch([])
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _PATIENCE_S
        while not any(isinstance(entry.event, _FIRST_EVENTS) for entry in first.entries):
            if self._lost or (left_s := deadline - loop.time()) <= 0:
                break
            batch = await self._next_batch(left_s)
            entries, data = first.entries + batch.entries, first.data + batch.data
            first = msgspec.structs.replace(batch, entries=entries, data=data)
        return first

    async def _send_entries(self, body: StreamBody, batch: FeedBatch) -> None:
        """Send the turn up to its end, which is sent when it is stored."""
        heartbeat_s = self._gateway.settings.heartbeat_s
        clock = asyncio.get_running_loop().time
        sent_s = clock()
        while True:
            # Entries that the user may not see leave a stream as silent as none.
            silent = clock() - sent_s >= heartbeat_s
            data = body.keep_alive() if silent else b""
            data += body.feed(batch)
            if data:
                await self._send_part(data)
            if data or silent:
                sent_s = clock()
            if body.live and not self._lost:
                sent_s = await self._push_entries(body, sent_s)
            if not body.live or self._lost:
                return
            batch = await self._next_batch(max(0.0, sent_s + heartbeat_s - clock()))

    async def _push_entries(self, body: StreamBody, sent_s: float) -> float:
        """Send entries from the callback in which they come, until this task is needed.

        It is needed for all that waits: a client that does not read on, the end, a feed that was closed, a
        lease that has run out, and silence. `sent_s` is when something was sent last, and so is the result.
        """
        feed, node, loop = self._feed, self._gateway.node, asyncio.get_running_loop()
        heartbeat_s = self._gateway.settings.heartbeat_s
        needed: asyncio.Future[Awaitable[None] | None] = loop.create_future()

        def need_task(unsent: Awaitable[None] | None = None) -> None:
            if not needed.done():
                needed.set_result(unsent)

        def push() -> None:
            nonlocal sent_s
            if feed.closed or not node.holds_turns:
                need_task()
            if needed.done() or not feed.waiting:
                return
            try:
                data = body.feed(self._take())
                message = {"type": "http.response.body", "body": data, "more_body": True}
                unsent = begin(self._send_now(message)) if data else None
            except Exception as error:  # noqa: BLE001 the task gets it, and not the event loop
                needed.set_exception(error)
                return
            if data:
                sent_s = loop.time()
                timer.deadline_s = sent_s + heartbeat_s
            if unsent is not None or not body.live:
                need_task(unsent)

        timer = StallTimer(need_task)
        timer.start(sent_s + heartbeat_s - loop.time())
        feed.on_change = push
        try:
            push()
            unsent = await needed
        finally:
            feed.on_change = None
            timer.stop()
        if unsent is not None:
            await in_time(unsent, self._gateway.settings.send_timeout_s)
        return sent_s

    async def _send_end(self, body: StreamBody) -> None:
        """Send the end. The client may send its next request at once, and then the turn must be found."""
        while not await self._feed.wait_until_finished(self._gateway.settings.heartbeat_s):
            await self._send_part(body.keep_alive())
        last = body.fail(_LOST) if self._lost else body.end()
        await self._send({"type": "http.response.body", "body": last})

    async def _send_part(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def _send_whole(self) -> None:
        turn, failure = Turn(), None
        while turn.live and not self._lost:
            for entry in (await self._next_batch(self._gateway.settings.heartbeat_s)).entries:
                apply(turn, entry)
                if isinstance(entry.event, TurnFailed):
                    failure = entry.event
        await self._wait_until_stored()
        if self._lost:
            failure = _LOST
        if failure is not None:
            await self._send_failure(failure)
            return
        assert self._format.write_whole is not None
        body = await asyncio.to_thread(self._format.write_whole, turn, self._head)
        await self._send_head(200, "application/json", len(body))
        await self._send({"type": "http.response.body", "body": body})

    async def _send_failure(self, failure: TurnFailed) -> None:
        status = _STATUS_BY_CODE.get(failure.code, _FAILED_STATUS)
        if failure.status >= 400:
            status = failure.status
        report = ErrorReport(failure.code, failure.message, status, self._request_id)
        body = encode_json(self._format.error_body(report))
        retry = failure.code != _CANCELLED.code and may_retry(ErrorResponse(status, failure.code))
        self._extra_headers.append((b"x-should-retry", b"true" if retry else b"false"))
        if failure.after_ms is not None:
            self._extra_headers.append((b"retry-after", b"%d" % -(-failure.after_ms // 1000)))
            self._extra_headers.append((b"retry-after-ms", b"%d" % failure.after_ms))
        await self._send_head(status, "application/json", len(body))
        await self._send({"type": "http.response.body", "body": body})

    async def _send_head(self, status: int, media_type: str, length: int | None = None) -> None:
        id_value = self._request_id.encode()
        headers = [
            (b"content-type", media_type.encode()),
            *((name, id_value) for name in _ID_HEADERS),
            (b"x-accel-buffering", b"no"),
            *self._extra_headers,
        ]
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
        await self._send({"type": "http.response.start", "status": status, "headers": headers})


def _with_failure(entry: Entry) -> Entry:
    """Return the end of a cancelled turn as a failure: to a client it would look like a complete answer."""
    if isinstance(entry.event, TurnEnded) and entry.event.finish is Finish.CANCELLED:
        return msgspec.structs.replace(entry, event=_CANCELLED)
    return entry


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
        text_tools=request.text_tools,
        client_ids=request.client_ids,
    )


def _reasoning_fields(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the fields for thoughts that the client asks for in a header; else the default."""
    wanted = {name.strip() for name in headers.get(REASONING_FIELDS_HEADER, "").split(",")}
    return tuple(name for name in _REASONING_FIELDS if name in wanted) or _REASONING_FIELDS[:1]
