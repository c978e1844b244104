"""From a prompt and a model's name to an answer: route, thinking, context and request are found on the way.

What could not be honoured is told as notices right after the turn starts, and nothing falls back in silence.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import Literal

import msgspec

from thinkaloud.canon import Entry, Event, KeyMissing, NoticeGiven, Refused
from thinkaloud.canon.requests import Image, Level, ThinkingSetting, Tool, UserMessage
from thinkaloud.catalog import Catalog, Provider, Route, builtin, key_missing, route, solve, wants_thinking
from thinkaloud.client import asking
from thinkaloud.client.http import Client
from thinkaloud.client.keys import resolve
from thinkaloud.context import Built, ContextMode, Conversation, Terms, Unsupported, build
from thinkaloud.transcript import Turn, apply

HaveKey = Callable[[Provider], bool]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one may say beside the prompt, the model and how hard to think."""

    system: str = ""
    tools: tuple[Tool, ...] = ()
    images: tuple[Image, ...] = ()
    tool_choice: str = ""
    max_tokens: int | None = None
    stream: bool = True
    context_mode: ContextMode = ContextMode.PROVIDER_DEFAULT
    unsupported: Unsupported = Unsupported.METADATA
    on_thinking_unavailable: Literal["error", "warn"] = "error"
    catalog: Catalog | None = None
    client: Client | None = None


class Prepared(msgspec.Struct, frozen=True):
    """A request ready to go: where to, what exactly, and what could not be honoured."""

    route: Route
    built: Built
    notes: tuple[str, ...]


def setting(thinking: str | int | None) -> ThinkingSetting:
    """What a person writes, "high" or 4096, as a setting; None leaves it to the model."""
    if thinking is None or thinking == "":
        return ThinkingSetting()
    if isinstance(thinking, int) or thinking.isdecimal():
        return ThinkingSetting(budget_tokens=int(thinking))
    try:
        return ThinkingSetting(level=Level(thinking))
    except ValueError:
        levels = ", ".join(Level)
        raise Refused(
            f"{thinking!r} is no way to think. Use one of {levels}, or a number of tokens."
        ) from None


def has_key(provider: Provider) -> bool:
    """Whether the provider's key can be had, or none is needed."""
    try:
        resolve(provider.key, environ=os.environ)
    except KeyMissing:
        return False
    return True


def need_key(way: Route) -> None:
    """Refuse a route whose provider wants a key that cannot be had."""
    if not has_key(way.provider):
        raise key_missing(way)


def prepare(
    prompt: str | Conversation,
    *,
    model: str,
    thinking: str | int | None = None,
    options: Options | None = None,
    have_key: HaveKey = has_key,
) -> Prepared:
    """Choose the route, solve how to ask for thinking, and build the request, without sending anything."""
    options = options or Options()
    wanted = setting(thinking)
    if wants_thinking(model) and wanted == ThinkingSetting():
        wanted = ThinkingSetting(level=Level.MEDIUM)
    on = wanted.level not in (None, Level.OFF) or wanted.budget_tokens is not None
    way = route(options.catalog or builtin(), model, thinking=on, have_key=have_key)
    ask = solve(
        way,
        wanted,
        max_tokens=options.max_tokens,
        tools=bool(options.tools),
        on_unavailable=options.on_thinking_unavailable,
    )
    terms = Terms(
        mode=options.context_mode,
        unsupported=options.unsupported,
        ask=ask,
        max_tokens=ask.max_tokens or options.max_tokens,
        tool_choice=options.tool_choice,
        stream=options.stream,
    )
    built = build(_conversation(prompt, options), way, terms)
    return Prepared(way, built, (*ask.notes, *built.report.notes))


async def entries(
    prompt: str | Conversation,
    *,
    model: str,
    thinking: str | int | None = None,
    options: Options | None = None,
) -> AsyncGenerator[Entry, None]:
    """The answer as stamped entries, with a notice for everything that could not be honoured."""
    ready = prepare(prompt, model=model, thinking=thinking, options=options)
    need_key(ready.route)
    async with aclosing(told(ready, client=options.client if options else None)) as said:
        async for entry in said:
            yield entry


async def told(
    ready: Prepared, *, client: Client | None = None, clock: asking.Clock | None = None
) -> AsyncGenerator[Entry, None]:
    """The answer to a request that was prepared; what could not be honoured is told after its start."""
    seq = 0
    async with aclosing(asking.entries(ready.built.request, ready.route, client=client, clock=clock)) as said:
        async for entry in said:
            notes = [NoticeGiven("not_honoured", note) for note in ready.notes] if seq == 0 else []
            for event in (entry.event, *notes):
                yield Entry(seq, event, entry.at_ms)
                seq += 1


async def stream(
    prompt: str | Conversation,
    *,
    model: str,
    thinking: str | int | None = None,
    options: Options | None = None,
) -> AsyncGenerator[Event, None]:
    """The answer as events, while it arrives."""
    async with aclosing(entries(prompt, model=model, thinking=thinking, options=options)) as told:
        async for entry in told:
            yield entry.event


async def ask(
    prompt: str | Conversation,
    *,
    model: str,
    thinking: str | int | None = None,
    options: Options | None = None,
) -> Turn:
    """The whole answer as a turn, with true times."""
    turn = Turn()
    async with aclosing(entries(prompt, model=model, thinking=thinking, options=options)) as told:
        async for entry in told:
            apply(turn, entry)
    return turn


def ask_sync(
    prompt: str | Conversation,
    *,
    model: str,
    thinking: str | int | None = None,
    options: Options | None = None,
) -> Turn:
    """`ask` for scripts: waits for the whole answer."""
    asking.refuse_in_loop("ask_sync", "await ask(...)", options.client if options else None)
    return asyncio.run(ask(prompt, model=model, thinking=thinking, options=options))


def stream_sync(
    prompt: str | Conversation,
    *,
    model: str,
    thinking: str | int | None = None,
    options: Options | None = None,
) -> Iterator[Event]:
    """`stream` for scripts: events as they arrive, in an ordinary loop."""
    asking.refuse_in_loop(
        "stream_sync", "async for event in stream(...)", options.client if options else None
    )
    return asking.stepped(stream(prompt, model=model, thinking=thinking, options=options))


def _conversation(prompt: str | Conversation, options: Options) -> Conversation:
    if isinstance(prompt, Conversation):
        return prompt
    return Conversation(
        system=options.system, tools=options.tools, steps=(UserMessage(prompt, options.images),)
    )
