"""Ask a model: a request and a route become events, stamped entries, or a turn.

Before the first event a fault is an exception. From then on it ends the turn as `TurnFailed`, and what was
said stands. A response that is sent whole takes the same way as one that is streamed.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AsyncExitStack, aclosing
from typing import TypeVar

import msgspec

from thinkaloud.canon import (
    BlockEnded,
    BlockGrew,
    Entry,
    Event,
    Finish,
    ProviderFault,
    Refused,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from thinkaloud.canon.requests import Request
from thinkaloud.catalog.rows import Route
from thinkaloud.client.faults import too_large
from thinkaloud.client.http import Client, Outgoing
from thinkaloud.client.inflate import MIB
from thinkaloud.client.reply import Reply
from thinkaloud.dialects import Reader
from thinkaloud.transcript import Turn, apply
from thinkaloud.wire import LIMITS, Limits

MOST_SAID = 8 * MIB
"""So many characters may be said in one turn: some twenty times what any model gives today."""

Write = Callable[[Route, Request], Outgoing]
Clock = Callable[[], int]
_T = TypeVar("_T")


async def stream(
    request: Request,
    route: Route,
    *,
    client: Client | None = None,
    write: Write | None = None,
    limits: Limits = LIMITS,
) -> AsyncGenerator[Event, None]:
    """The events of the answer, as they arrive.

    A client that is open is used and stays open; another, or none, is opened for this answer alone.
    """
    async with aclosing(_told(request, route, client, write, limits)) as told:
        async for _, events in told:
            for event in events:
                yield event


async def entries(
    request: Request,
    route: Route,
    *,
    client: Client | None = None,
    write: Write | None = None,
    clock: Clock | None = None,
) -> AsyncGenerator[Entry, None]:
    """The events of the answer with place and time, so that durations are true.

    The start of the turn is stamped with the moment the request went out, for that is when the wait began.
    """
    now_ms = clock or steady_clock()
    seq = 0
    async with aclosing(_told(request, route, client, write, LIMITS)) as told:
        async for waited_ms, events in told:
            at_ms = now_ms()
            for event in events:
                sent = type(event) is TurnStarted
                yield Entry(seq, event, at_ms - waited_ms if sent else at_ms)
                seq += 1


async def ask(
    request: Request,
    route: Route,
    *,
    client: Client | None = None,
    write: Write | None = None,
    clock: Clock | None = None,
) -> Turn:
    """The whole answer as a turn, with true times."""
    turn = Turn()
    async with aclosing(entries(request, route, client=client, write=write, clock=clock)) as told:
        async for entry in told:
            apply(turn, entry)
    return turn


def ask_sync(
    request: Request, route: Route, *, client: Client | None = None, write: Write | None = None
) -> Turn:
    """`ask` for scripts: waits for the whole answer."""
    refuse_in_loop("ask_sync", "await ask(...)", client)
    return asyncio.run(ask(request, route, client=client, write=write))


def stream_sync(
    request: Request, route: Route, *, client: Client | None = None, write: Write | None = None
) -> Iterator[Event]:
    """`stream` for scripts: events as they arrive, in an ordinary loop."""
    refuse_in_loop("stream_sync", "async for event in stream(...)", client)
    return stepped(stream(request, route, client=client, write=write))


def steady_clock() -> Clock:
    """A clock of milliseconds that starts at the time of day and never jumps."""
    start_ns = time.time_ns() - time.monotonic_ns()
    return lambda: (start_ns + time.monotonic_ns()) // 1_000_000


def refuse_in_loop(called: str, instead: str, client: Client | None) -> None:
    """Refuse to wait where waiting would stop an event loop, or with a client that belongs to one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        if client is None or not client.is_open:
            return
        raise Refused(
            f"{called} opens its client itself, and this one is open. Pass a closed one, or none."
        ) from None
    raise Refused(
        f"{called} waits, and in a running event loop waiting would stop all else. Use `{instead}` here."
    )


def stepped(told: AsyncGenerator[_T, None]) -> Iterator[_T]:
    """An asynchronous iterator one step at a time, in a loop of its own that runs only during a step."""

    async def step() -> _T | None:
        return await anext(told, None)

    with asyncio.Runner() as runner:
        while (item := runner.run(step())) is not None:
            yield item


async def _told(
    request: Request, route: Route, client: Client | None, write: Write | None, limits: Limits
) -> AsyncGenerator[tuple[int, list[Event]], None]:
    """What each read tells; with the first, how long it was waited for."""
    outgoing = (write or _written)(route, request)
    async with AsyncExitStack() as stack:
        if client is None or not client.is_open:
            client = await stack.enter_async_context(client or Client())
        reply = await client.send(route.provider, outgoing)
        stack.callback(reply.close)
        answer = Answering(route, limits)
        while not answer.over:
            events = await answer.next(reply)
            if events and isinstance(events[-1], TurnFailed):
                events[-1] = await _without_key(events[-1], route, client)
            if events:
                yield reply.waited_ms, events
        if answer.ended:
            await reply.settle()


def _written(route: Route, request: Request) -> Outgoing:
    from thinkaloud.dialects import bodies

    return bodies.write(route, request)


async def _without_key(event: TurnFailed, route: Route, client: Client) -> TurnFailed:
    """Some servers quote the key they refuse, also in the middle of a stream."""
    provider = route.provider
    return TurnFailed(await client.hide(provider, event.code), await client.hide(provider, event.message))


class Answering:
    """Reads one reply to the end of its turn; faults of the connection become the turn's end."""

    def __init__(self, route: Route, limits: Limits = LIMITS) -> None:
        provider = route.provider
        self._reader = Reader(provider.dialect, model=route.model_id, tags=route.model.tags, limits=limits)
        self._left = MOST_SAID
        self.over = False
        self.ended = False
        """Whether the provider itself said that the turn was over."""

    async def next(self, reply: Reply) -> list[Event]:
        """The events that the next piece of the reply completes."""
        try:
            chunk = await reply.read()
        except ProviderFault as fault:
            return self._break(fault.code, str(fault))
        events = self._reader.feed(chunk) if chunk else self._reader.close()
        for event in events:
            if type(event) is BlockGrew:
                self._left -= len(event.text)
            elif type(event) is TurnEnded:
                self.ended = self.over = True
            elif type(event) is TurnFailed:
                self.over = True
        if self._left < 0 and not self.over:
            limit = too_large("what was said in one turn, in characters,", MOST_SAID)
            return [*events, *self._break(limit.code, str(limit))]
        self.over = self.over or not chunk
        return events

    def _break(self, code: str, message: str) -> list[Event]:
        """The end of a turn whose connection broke: what is open was interrupted, unless all was said."""
        self.over = True
        events = self._reader.close()
        match events:
            case [*_, TurnEnded(finish=finish)] if finish is not Finish.UNKNOWN:
                return events
            case [*rest, TurnEnded() | TurnFailed()]:
                return [*map(_interrupted, rest), TurnFailed(code, message)]
        return events


def _interrupted(event: Event) -> Event:
    return msgspec.structs.replace(event, interrupted=True) if isinstance(event, BlockEnded) else event
