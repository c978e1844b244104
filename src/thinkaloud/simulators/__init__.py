"""Loopback servers that speak providers' interfaces and refuse what the real ones refuse.

`running` starts one inside a program, `run` serves one until it is stopped. Nothing here reads a stream or
shares code with the dialects, so that the two can be tried against each other.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from thinkaloud.simulators import (
    anthropic,
    deepseek,
    gemini,
    kimi,
    ollama,
    openai_chat,
    openai_responses,
    openrouter,
    vllm,
)
from thinkaloud.simulators.api import Api, Refusal, Rule
from thinkaloud.simulators.script import FAULTS, Answer, Fault, Script, ToolCall
from thinkaloud.simulators.server import Received, Refused, Simulator, as_script, listening, script_at, serve

__all__ = [
    "APIS",
    "FAULTS",
    "NAMES",
    "Answer",
    "Fault",
    "Received",
    "Refusal",
    "Refused",
    "Rule",
    "Script",
    "Simulator",
    "ToolCall",
    "run",
    "running",
    "simulator",
]

APIS: dict[str, Api] = {
    module.API.name: module.API
    for module in (anthropic, openai_chat, openai_responses, openrouter, deepseek, kimi, gemini, ollama, vllm)
}
NAMES = tuple(APIS)


def simulator(
    name: str,
    script: Script | str | bytes | list[Any] | None = None,
    *,
    secret: bytes | None = None,
    key: str | None = None,
) -> Simulator:
    """A simulated provider that does not listen yet; `secret` signs, `key` is the only one taken."""
    if name not in APIS:
        raise ValueError(f"No simulator is called {name!r}. There are: {', '.join(NAMES)}.")
    signing = secret if secret is not None else f"simulator of {name}".encode()
    return Simulator(APIS[name], as_script(script), signing, key)


@asynccontextmanager
async def running(
    name: str,
    *,
    script: Script | str | bytes | list[Any] | None = None,
    secret: bytes | None = None,
    key: str | None = None,
    port: int = 0,
) -> AsyncIterator[Simulator]:
    """A simulated provider on the loopback address until the block ends."""
    async with listening(simulator(name, script, secret=secret, key=key), port) as server:
        yield server


def run(
    name: str,
    *,
    port: int = 0,
    script_path: str | Path | None = None,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve until interrupted; `announce` is told the URL once it listens."""
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(simulator(name, script_at(script_path)), port, announce))
