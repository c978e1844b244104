"""Asks a model: turns a prompt, a conversation or a prepared request into events, entries or a turn.

Before the first event, a fault is an exception. After it, the fault ends the turn as `TurnFailed` and the
text received so far is kept. Streamed and non-streamed responses take the same path.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, aclosing, contextmanager
from contextvars import copy_context
from typing import Any, NamedTuple, TypeVar, Unpack, overload

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
MAX_TEXT_CHARS = 8 * MIB
"""Largest number of characters in one response, about twenty times what any model sends today."""
MAX_DESCRIPTION_CHARS = 500
"""What is told of the description of a tool. Those of MCP servers may be pages long."""

NOT_HONOURED = "not_honoured"
"""The code of the notice about a setting that the model cannot honour."""

Prompt = str | Context | PreparedRequest
_T = TypeVar("_T")


class EventBatch(NamedTuple):
    """The events completed by one read of the response, or by several if the first ones completed none."""

    events: list[Event]
    waited_ms: int
    """Time from sending the request to the first byte of the response."""
    data: bytes = b""
    """What was read, if `send` was asked to keep it. Bytes after the end of the turn have no events."""


async def send(
    prepared: PreparedRequest,
    *,
    client: Client | None = None,
    limits: WireLimits = DEFAULT_LIMITS,
    keep_bytes: bool = False,
) -> AsyncGenerator[EventBatch, None]:
    """Send a request and yield the events of its response, one batch for each read.

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
        chunks: list[bytes] = []
        while not reader.finished:
            events = await reader.next_events(response)
            if keep_bytes:
                chunks.append(reader.chunk)
            if not events:
                continue
            if isinstance(events[-1], TurnFailed):
                events[-1] = await _hide_key(events[-1], route, client)
            if notes:
                events[1:1] = [NoticeGiven.of(NOT_HONOURED, note) for note in notes]
                notes = ()
            yield EventBatch(events, response.waited_ms, b"".join(chunks))
            chunks.clear()
        rest = await response.drain() if reader.ended_by_provider else b""
        if keep_bytes and rest:
            yield EventBatch([], response.waited_ms, rest)


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
        async for events, waited_ms, _ in batches:
            at_ms = now_ms()
            for event in events:
                yield Entry(seq, event, at_ms - waited_ms if type(event) is TurnStarted else at_ms)
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
    options = _chosen_options(prompt, options, chosen)
    prepared = _prepared(prompt, model, thinking, options)
    async with aclosing(send(prepared, client=options.client if options else None)) as batches:
        async for events, *_ in batches:
            for event in events:
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
    turn, options = Turn(), _chosen_options(prompt, options, chosen)
    if output is not None:
        options = with_options(options, {"output": output})
    async with aclosing(entries(prompt, model=model, thinking=thinking, options=options)) as stamped:
        async for entry in stamped:
            apply(turn, entry)
    return turn if output is None else answer_of(turn, output)


@overload
def ask_sync(
    prompt: Prompt,
    *,
    output: type[OutputT],
    model: str = "",
    thinking: str | int | None = None,
    options: Options | None = None,
    **chosen: Unpack[AskOptions],
) -> Answer[OutputT]: ...
@overload
def ask_sync(
    prompt: Prompt,
    *,
    output: dict[str, Any],
    model: str = "",
    thinking: str | int | None = None,
    options: Options | None = None,
    **chosen: Unpack[AskOptions],
) -> Answer[Any]: ...
@overload
def ask_sync(
    prompt: Prompt,
    *,
    output: None = None,
    model: str = "",
    thinking: str | int | None = None,
    options: Options | None = None,
    **chosen: Unpack[AskOptions],
) -> Turn: ...
def ask_sync(
    prompt: Prompt,
    *,
    output: Any = None,
    model: str = "",
    thinking: str | int | None = None,
    options: Options | None = None,
    **chosen: Unpack[AskOptions],
) -> Any:
    """Return the whole answer. Blocking form of `ask`, for scripts and notebooks."""
    options = _chosen_options(prompt, options, chosen)
    refuse_open_client("ask_sync", options)
    with loop_runner() as run:
        return run(ask(prompt, output=output, model=model, thinking=thinking, options=options))


def stream_sync(
    prompt: Prompt,
    *,
    model: str = "",
    thinking: str | int | None = None,
    options: Options | None = None,
    **chosen: Unpack[AskOptions],
) -> Iterator[Event]:
    """Iterate over the events as they arrive. Blocking form of `stream`, for scripts and notebooks."""
    options = _chosen_options(prompt, options, chosen)
    refuse_open_client("stream_sync", options)
    return step_through(stream(prompt, model=model, thinking=thinking, options=options))


def _chosen_options(prompt: Prompt, options: Options | None, chosen: AskOptions) -> Options | None:
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
        self.chunk = b""
        """The bytes of the last read; none at the end."""

    async def next_events(self, response: ResponseStream) -> list[Event]:
        """Return the events that the next chunk of the response completes."""
        self.chunk = b""
        try:
            self.chunk = chunk = await response.read()
        except ProviderFault as fault:
            return self._break(fault.code, fault.wording)
        events = _with_short_texts(self._reader.feed(chunk) if chunk else self._reader.close())
        if events:
            response.note_progress()
        for index, event in enumerate(events):
            if type(event) is BlockGrew:
                self._chars_left -= len(event.text)
            elif type(event) is BlockStarted:
                events[index] = self._described(event)
            elif type(event) is TurnEnded:
                self.ended_by_provider = self.finished = True
            elif type(event) is TurnFailed:
                self.finished = True
        if self._chars_left < 0 and not self.finished:
            limit = limit_exceeded(Wording("the text of one response, in characters,"), MAX_TEXT_CHARS)
            return [*events, *self._break(limit.code, limit.wording)]
        self.finished = self.finished or not chunk
        return events

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
        self.finished = True
        events = self._reader.close()
        match events:
            case [*_, TurnEnded(finish=finish)] if finish is not Finish.UNKNOWN:
                return events
            case [*earlier, TurnEnded() | TurnFailed()]:
                return [*map(_mark_interrupted, earlier), TurnFailed.of(code, message)]
        return events


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


async def _hide_key(event: TurnFailed, route: Route, client: Client) -> TurnFailed:
    """Remove the key from a failure: some servers quote a key they refuse, even in mid-stream."""
    hide = await client.key_hider(route.provider)
    wording = event.wording and event.wording.map(hide)
    return TurnFailed(hide(event.code), hide(event.message), wording=wording)


def _with_short_texts(events: list[Event]) -> list[Event]:
    """Return the events with a long text in parts: others can do something between two of them."""
    if not any(type(event) is BlockGrew and len(event.text) > _MAX_EVENT_CHARS for event in events):
        return events
    return [part for event in events for part in _parts(event)]


def _parts(event: Event) -> Iterator[Event]:
    if not isinstance(event, BlockGrew):
        yield event
        return
    for start in range(0, len(event.text), _MAX_EVENT_CHARS):
        yield msgspec.structs.replace(event, text=event.text[start : start + _MAX_EVENT_CHARS])


def _mark_interrupted(event: Event) -> Event:
    return msgspec.structs.replace(event, interrupted=True) if isinstance(event, BlockEnded) else event


def refuse_open_client(function: str, options: Options | None) -> None:
    """Refuse to block with a client that belongs to another event loop."""
    client = options.client if options else None
    if client is not None and client.opened:
        raise Refused(
            "{function} opens its own client, but the client passed is already open. Pass a closed "
            "one, or none.",
            function=function,
        )


@contextmanager
def loop_runner() -> Iterator[Callable[[Coroutine[Any, Any, _T]], _T]]:
    """Give a function that runs coroutines, one after the other, in an event loop of their own.

    Where a loop runs already, as in a notebook, they run in a thread, and the caller waits for it.
    """
    runner = asyncio.Runner()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with runner:
            yield runner.run
        return
    context = copy_context()

    def run(coroutine: Coroutine[Any, Any, _T]) -> _T:
        future = thread.submit(context.run, runner.run, coroutine)
        try:
            return future.result()
        except KeyboardInterrupt:
            loop = runner.get_loop()
            loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(loop)])
            raise

    with ThreadPoolExecutor(1, "thinkaloud") as thread:
        try:
            yield run
        finally:
            thread.submit(runner.close).result()


def step_through(events: AsyncGenerator[_T, None]) -> Generator[_T, None, None]:
    """Run an asynchronous iterator one step at a time, in its own loop that runs only during a step."""

    async def step() -> _T | None:
        return await anext(events, None)

    async def close() -> None:
        await events.aclose()

    with loop_runner() as run:
        try:
            while (item := run(step())) is not None:
                yield item
        finally:
            run(close())
