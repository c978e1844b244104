"""Asks a model and waits for it: the blocking forms of `ask` and `stream`, for scripts and notebooks.

Each call runs an event loop of its own. Where one runs already, as in a notebook, it runs in a thread.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, TypeVar, Unpack, overload

from thinkaloud.client.api import Prompt, ask, chosen_options, stream
from thinkaloud.client.output import Answer, OutputT
from thinkaloud.client.prepared_request import AskOptions, Options
from thinkaloud.core.canon import Event, Refused
from thinkaloud.core.transcript import Turn

_T = TypeVar("_T")


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
    options = chosen_options(prompt, options, chosen)
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
) -> Generator[Event, None, None]:
    """Iterate over the events as they arrive. Blocking form of `stream`, for scripts and notebooks."""
    options = chosen_options(prompt, options, chosen)
    refuse_open_client("stream_sync", options)
    return step_through(stream(prompt, model=model, thinking=thinking, options=options))


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
