"""Asks a model: turns a prompt, a conversation or a prepared request into events, entries or a turn.

Before the first event, a fault is an exception. After it, the fault ends the turn as `TurnFailed` and the
text received so far is kept. Streamed and non-streamed responses take the same path.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any, TypeVar, Unpack, overload

import msgspec

from thinkaloud.client.errors import ProviderRefused, limit_exceeded, with_advice
from thinkaloud.client.follow import Clock, monotonic_clock
from thinkaloud.client.http import Client
from thinkaloud.client.output import Answer, OutputShape, OutputT, answer_of
from thinkaloud.client.prepared_request import (
    AskOptions,
    Options,
    PreparedRequest,
    prepare,
    require_key,
    with_options,
)
from thinkaloud.client.response import ResponseStream
from thinkaloud.client.user_catalog import load_catalog
from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    NoticeGiven,
    ProviderFault,
    Refused,
    ThinkingNotOffered,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Wording,
)
from thinkaloud.core.canon.requests import ToolDefinition
from thinkaloud.core.catalog import retirement_note
from thinkaloud.core.catalog.rows import Route
from thinkaloud.core.context import Context
from thinkaloud.core.dialects import Reader, build_request
from thinkaloud.core.transcript import Turn, apply
from thinkaloud.core.wire import DEFAULT_LIMITS, WireLimits
from thinkaloud.core.wire.frames import MIB

_MAX_EVENT_CHARS = 32 * 1024
_FEW_EVENTS = 4
_MAX_BATCH_EVENTS = 100
_MAX_BATCH_CHARS = 2 * _MAX_EVENT_CHARS
"""Passed on at once, within some milliseconds. One frame can hold all events of a long response."""
_MAX_WAITING_BATCHES = 16
"""With more of them, a caller that takes one after the other keeps the provider waiting."""
MAX_TEXT_CHARS = 8 * MIB
"""Largest number of characters in one response, about twenty times what any model sends today."""
MAX_DESCRIPTION_CHARS = 500
"""What is told of the description of a tool. Those of MCP servers may be pages long."""

NOT_HONOURED = "not_honoured"
"""The code of the notice about a setting that the model cannot honour."""

Prompt = str | Context | PreparedRequest
_T = TypeVar("_T")


class EventBatch(msgspec.Struct, frozen=True):
    """The events completed by one read of the response, or by several if the first ones completed none."""

    events: list[Event]
    waited_ms: int
    """Time from sending the request to the first byte of the response."""
    data: bytes = b""
    """What was read, if `send` was asked to keep it. Bytes after the end of the turn have no events."""


BatchSink = Callable[[EventBatch], None]
"""Takes the events of a response, in the callback in which their bytes arrive."""


async def send(
    prepared: PreparedRequest,
    *,
    client: Client | None = None,
    limits: WireLimits = DEFAULT_LIMITS,
    keep_bytes: bool = False,
) -> AsyncGenerator[EventBatch, None]:
    """Send a request and yield the events of its response, one batch for each read."""
    async with open_events(prepared, client=client, limits=limits, keep_bytes=keep_bytes) as events:
        async for batch in events.batches():
            yield batch


@asynccontextmanager
async def open_events(
    prepared: PreparedRequest,
    *,
    client: Client | None = None,
    limits: WireLimits = DEFAULT_LIMITS,
    keep_bytes: bool = False,
) -> AsyncIterator["EventStream"]:
    """Send a request and wait for the first byte of its response, which is closed with the block.

    Notices about settings that the model cannot honour follow the first event. An open client is used and
    stays open; a closed client, or a new one if none is passed, is opened for this response only.
    """
    async with AsyncExitStack() as stack:
        if client is None or not client.opened:
            client = await stack.enter_async_context(client or Client())
        route = await _served_route(prepared.route, stack)
        response, notes = await _open_response(client, route, prepared)
        stack.callback(response.close)
        reader = ResponseReader(route, limits, prepared.request.tools)
        yield EventStream(response, reader, notes, keep_bytes=keep_bytes)


async def _served_route(route: Route, stack: AsyncExitStack) -> Route:
    """Return the route. If this program serves its provider, the server runs until the stack is closed."""
    if not route.provider.in_process or route.provider.base_url:
        return route
    from thinkaloud.builtin import SolverEnvironment, run_solver
    from thinkaloud.client.connections import find_connections

    environment = SolverEnvironment(connections=lambda: find_connections(load_catalog()))
    server = await stack.enter_async_context(run_solver(environment=environment))
    provider = msgspec.structs.replace(route.provider, base_url=server.base_url)
    return msgspec.structs.replace(route, provider=provider)


async def _open_response(
    client: Client, route: Route, prepared: PreparedRequest
) -> tuple[ResponseStream, tuple[Wording, ...]]:
    """Send the request, or its fallback if it is refused, and return the response and the notes."""
    try:
        response = await client.send(route.provider, build_request(route, prepared.request))
    except ProviderRefused as error:
        fallback = next((row for row in prepared.fallbacks if row.refusal in error.message), None)
        if fallback is None:
            raise with_advice(error, retirement_note(route)) from None
        if fallback.request is None:
            raise ThinkingNotOffered(wording=fallback.note) from None
        note = Wording("{note} It said: {message}", note=fallback.note, message=error.message)
        response = await client.send(route.provider, build_request(route, fallback.request))
        return response, (*prepared.notes, note)
    return response, prepared.notes


async def entries(
    prompt: Prompt,
    *,
    model: str = "",
    thinking: str | int | None = None,
    options: Options | None = None,
    clock: Clock | None = None,
) -> AsyncGenerator[Entry, None]:
    """Yield the answer as stamped entries.

    The start of the turn is stamped with the time the request was sent, because that is when the wait began.
    """
    now_ms, seq = clock or monotonic_clock(), 0
    prepared = _prepared(prompt, model, thinking, options)
    async with aclosing(send(prepared, client=options.client if options else None)) as batches:
        async for batch in batches:
            at_ms = now_ms()
            for event in batch.events:
                yield Entry(seq, event, at_ms - batch.waited_ms if type(event) is TurnStarted else at_ms)
                seq += 1


async def stream(
    prompt: Prompt,
    *,
    model: str = "",
    thinking: str | int | None = None,
    options: Options | None = None,
    **chosen: Unpack[AskOptions],
) -> AsyncGenerator[Event, None]:
    """Yield the answer as events, as they arrive. `chosen` are options by name."""
    options = chosen_options(prompt, options, chosen)
    prepared = _prepared(prompt, model, thinking, options)
    async with aclosing(send(prepared, client=options.client if options else None)) as batches:
        async for batch in batches:
            for event in batch.events:
                yield event


@overload
async def ask(
    prompt: Prompt,
    *,
    output: type[OutputT],
    model: str = "",
    thinking: str | int | None = None,
    options: Options | None = None,
    **chosen: Unpack[AskOptions],
) -> Answer[OutputT]: ...
@overload
async def ask(
    prompt: Prompt,
    *,
    output: dict[str, Any],
    model: str = "",
    thinking: str | int | None = None,
    options: Options | None = None,
    **chosen: Unpack[AskOptions],
) -> Answer[Any]: ...
@overload
async def ask(
    prompt: Prompt,
    *,
    output: None = None,
    model: str = "",
    thinking: str | int | None = None,
    options: Options | None = None,
    **chosen: Unpack[AskOptions],
) -> Turn: ...
async def ask(
    prompt: Prompt,
    *,
    output: OutputShape | None = None,
    model: str = "",
    thinking: str | int | None = None,
    options: Options | None = None,
    **chosen: Unpack[AskOptions],
) -> Turn | Answer[Any]:
    """Return the whole answer as a turn, with the times at which its events arrived.

    `chosen` are options by name. With `output`, the shape of the answer, return its value and the turn.
    """
    turn, options = Turn(), chosen_options(prompt, options, chosen)
    if output is not None:
        options = with_options(options, {"output": output})
    async with aclosing(entries(prompt, model=model, thinking=thinking, options=options)) as stamped:
        async for entry in stamped:
            apply(turn, entry)
    return turn if output is None else answer_of(turn, output)


def chosen_options(prompt: Prompt, options: Options | None, chosen: AskOptions) -> Options | None:
    """Return the options with those that were passed by name."""
    if not chosen:
        return options
    if isinstance(prompt, PreparedRequest):
        raise Refused(
            "A prepared request has its options already. Nothing was sent. Pass {names} to `prepare`.",
            names=", ".join(chosen),
        )
    return with_options(options, chosen)


class ResponseReader:
    """Reads one response to the end of its turn. A connection fault becomes the end of the turn.

    `tools` are the tools that the model was offered, whose descriptions are told with their calls.
    """

    def __init__(
        self, route: Route, limits: WireLimits = DEFAULT_LIMITS, tools: Sequence[ToolDefinition] = ()
    ) -> None:
        provider = route.provider
        self._reader = Reader(provider.dialect, model=route.model_id, tags=route.model.tags, limits=limits)
        self._description_by_name = {tool.name: tool.description for tool in tools}
        self._chars_left = MAX_TEXT_CHARS
        self.finished = False
        self.ended_by_provider = False
        """Whether the provider itself ended the turn."""

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that these bytes complete."""
        events = self._checked(self._reader.feed(data))
        if self._chars_left < 0 and not self.finished:
            limit = limit_exceeded(Wording("the text of one response, in characters,"), MAX_TEXT_CHARS)
            events += self.close(limit)
        return events

    def close(self, fault: ProviderFault | None = None) -> list[Event]:
        """Return the remaining events. With a fault, the response broke here."""
        if fault is None:
            events = self._checked(self._reader.close())
        else:
            events = self._break(fault.code, fault.wording)
        self.finished = True
        return events

    def _checked(self, events: list[Event]) -> list[Event]:
        """Return the events with short texts and descriptions, and note what they tell about the end."""
        longest = 0
        for index, event in enumerate(events):
            if type(event) is BlockGrew:
                size = len(event.text)
                self._chars_left -= size
                longest = max(longest, size)
            elif type(event) is BlockStarted:
                events[index] = self._described(event)
            elif type(event) is TurnEnded:
                self.ended_by_provider = self.finished = True
            elif type(event) is TurnFailed:
                self.finished = True
        return events if longest <= _MAX_EVENT_CHARS else _with_short_texts(events)

    def _described(self, event: BlockStarted) -> BlockStarted:
        description = self._description_by_name.get(event.name, "")
        if event.kind is not Kind.TOOL_CALL or not description:
            return event
        one_line = " ".join(description.split())
        return msgspec.structs.replace(event, description=one_line[:MAX_DESCRIPTION_CHARS])

    def _break(self, code: str, message: Wording) -> list[Event]:
        """End a turn whose connection broke.

        Open blocks are marked interrupted unless the turn was complete.
        """
        events = self._reader.close()
        match events:
            case [*_, TurnEnded(finish=finish)] if finish is not Finish.UNKNOWN:
                return events
            case [*earlier, TurnEnded() | TurnFailed()]:
                return [*map(_mark_interrupted, earlier), TurnFailed.of(code, message)]
        return events


class EventStream:
    """The events of one response, pushed to a sink in the callback in which their bytes arrive."""

    def __init__(
        self,
        response: ResponseStream,
        reader: ResponseReader,
        notes: tuple[Wording, ...] = (),
        *,
        keep_bytes: bool = False,
    ) -> None:
        self._response = response
        self._reader = reader
        self._notes = notes
        self._keep_bytes = keep_bytes
        self._data: list[bytes] = []
        """The bytes whose events were not passed on yet."""
        self._rest: list[Event] = []
        """Events for the next rounds of the event loop."""
        self._caller_is_slow = False
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        self._sink: BatchSink

    async def deliver(self, sink: BatchSink) -> None:
        """Pass all events to the sink, one batch for each read. What the sink raises is raised here."""
        self._start(sink)
        await self._ended
        if rest := await self._drain():
            sink(rest)

    async def batches(self) -> AsyncGenerator[EventBatch, None]:
        """Yield the events, one batch for each read. A provider that is faster than the caller waits."""
        waiting: deque[EventBatch] = deque()
        changed = asyncio.Event()

        def take(batch: EventBatch) -> None:
            waiting.append(batch)
            if len(waiting) > _MAX_WAITING_BATCHES:
                self._caller_is_slow = True
                self._response.pause()
            changed.set()

        self._ended.add_done_callback(lambda _: changed.set())
        self._start(take)
        while waiting or not self._ended.done():
            while waiting:
                yield waiting.popleft()
            changed.clear()
            self._caller_is_slow = False
            self._resume()
            if not self._ended.done():
                await changed.wait()
        self._ended.result()
        if rest := await self._drain():
            yield rest

    def feed(self, data: bytes) -> bool:
        """Read bytes of the response, and return whether they have events. At its end, `close` is called."""
        if self._keep_bytes:
            self._data.append(data)
        return self._pass_on(self._reader.feed, data)

    def close(self, fault: ProviderFault | None) -> None:
        """Read the end of the response."""
        self._pass_on(self._reader.close, fault)

    def _start(self, sink: BatchSink) -> None:
        self._sink = sink
        self._response.deliver(self)

    def _resume(self) -> None:
        if not self._rest and not self._caller_is_slow:
            self._response.resume()

    async def _drain(self) -> EventBatch | None:
        """Return the bytes after the last event, if they were asked for."""
        rest = b""
        if self._reader.ended_by_provider:
            rest = await self._response.drain()
        return EventBatch([], self._response.waited_ms, rest) if rest and self._keep_bytes else None

    def _pass_on(self, read: Callable[[_T], list[Event]], source: _T) -> bool:
        """Pass on the events that are read; False if there are none. Any failure ends the stream."""
        events: list[Event] = []
        try:
            events = read(source)
            if events:
                if self._notes or type(events[-1]) is TurnFailed:
                    self._add_notes(events)
                self._pass_portion(events)
            elif self._reader.finished:
                self._end()
        except Exception as error:  # noqa: BLE001 the caller of `deliver` gets it, and not the event loop
            self._end(error)
        return bool(events)

    def _add_notes(self, events: list[Event]) -> None:
        last = events[-1]
        if type(last) is TurnFailed:
            events[-1] = _without_key(last, self._response.hide_key)
        if self._notes:
            events[1:1] = [NoticeGiven.of(NOT_HONOURED, note) for note in self._notes]
            self._notes = ()

    def _pass_portion(self, events: list[Event]) -> None:
        """Pass on some events. If there are many, others get their turn before the next ones."""
        if len(events) > _FEW_EVENTS:
            size = _portion_size(events)
            events, self._rest = events[:size], events[size:]
        else:
            self._rest = []
        data = b""
        if self._data and not self._rest:
            data = b"".join(self._data)
            self._data.clear()
        self._sink(EventBatch(events, self._response.waited_ms, data))
        if self._rest:
            self._response.pause()
            self._loop.call_soon(self._pass_rest)
        elif self._reader.finished:
            self._end()

    def _pass_rest(self) -> None:
        if self._ended.done():  # cancelled meanwhile
            return
        try:
            self._pass_portion(self._rest)
        except Exception as error:  # noqa: BLE001 as above
            self._end(error)
        self._resume()

    def _end(self, error: Exception | None = None) -> None:
        if self._ended.done():
            return
        if error is None:
            self._ended.set_result(None)
        else:
            self._ended.set_exception(error)


def _portion_size(events: list[Event]) -> int:
    """Return how many of these events may be passed on at once."""
    chars = 0
    for index, event in enumerate(events[:_MAX_BATCH_EVENTS]):
        if type(event) is BlockGrew:
            chars += len(event.text)
            if chars > _MAX_BATCH_CHARS:
                return index + 1
    return min(len(events), _MAX_BATCH_EVENTS)


def _prepared(
    prompt: Prompt, model: str, thinking: str | int | None, options: Options | None
) -> PreparedRequest:
    if isinstance(prompt, PreparedRequest):
        return prompt
    if not model:
        raise Refused("No model given. Pass `model`, for example model='claude-opus-4.5'.")
    prepared = prepare(prompt, model=model, thinking=thinking, options=options)
    require_key(prepared.route)
    return prepared


def _without_key(event: TurnFailed, hide_key: Callable[[str], str]) -> TurnFailed:
    """Remove the key from a failure: some servers quote a key they refuse, even in mid-stream."""
    wording = event.wording and event.wording.map(hide_key)
    return TurnFailed(hide_key(event.code), hide_key(event.message), wording=wording)


def _with_short_texts(events: list[Event]) -> list[Event]:
    """Return the events with a long text in parts: others can do something between two of them."""
    return [part for event in events for part in _parts(event)]


def _parts(event: Event) -> Iterator[Event]:
    if not isinstance(event, BlockGrew):
        yield event
        return
    for start in range(0, len(event.text), _MAX_EVENT_CHARS):
        yield msgspec.structs.replace(event, text=event.text[start : start + _MAX_EVENT_CHARS])


def _mark_interrupted(event: Event) -> Event:
    return msgspec.structs.replace(event, interrupted=True) if isinstance(event, BlockEnded) else event
