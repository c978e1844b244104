"""Loopback servers that simulate providers' APIs and refuse what the real ones refuse.

`run_simulator` starts one inside a program; `serve_simulator` serves one until it is stopped. Nothing here
shares code with the dialects, so that each can be tested against the other.

It imports only `loopback`. Read first: `server.py`, `script.py`, `chat_completions.py`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from thinkaloud.simulators import (
    bedrock,
    cohere,
    deepseek,
    gemini,
    groq,
    kimi,
    mistral,
    ollama,
    openrouter,
    vllm,
    xai,
)
from thinkaloud.simulators.anthropic import simulator as anthropic
from thinkaloud.simulators.api import ApiError, Rule, SimulatedApi
from thinkaloud.simulators.openai import chat as openai_chat
from thinkaloud.simulators.openai import responses as openai_responses
from thinkaloud.simulators.script import FAULT_KINDS, Fault, Script, ScriptedAnswer, ScriptedToolCall
from thinkaloud.simulators.server import (
    ReceivedRequest,
    RefusedRequest,
    Simulator,
    listen,
    load_script,
    serve,
    to_script,
)

__all__ = [
    "APIS",
    "FAULT_KINDS",
    "SIMULATOR_NAMES",
    "ApiError",
    "Fault",
    "ReceivedRequest",
    "RefusedRequest",
    "Rule",
    "Script",
    "ScriptedAnswer",
    "ScriptedToolCall",
    "Simulator",
    "build_simulator",
    "run_simulator",
    "serve_simulator",
]

APIS: dict[str, SimulatedApi] = {
    api.name: api
    for api in (
        anthropic.API,
        openai_chat.API,
        openai_responses.API,
        openrouter.API,
        deepseek.API,
        kimi.API,
        gemini.API,
        ollama.API,
        vllm.API,
        mistral.API,
        groq.API,
        xai.API,
        bedrock.API,
        cohere.API,
    )
}
SIMULATOR_NAMES = tuple(APIS)


def build_simulator(
    name: str,
    script: Script | str | bytes | list[Any] | None = None,
    *,
    secret: bytes | None = None,
    key: str | None = None,
) -> Simulator:
    """Create a simulated provider that does not listen yet.

    `secret` signs its seals; `key` is the only accepted key.
    """
    if name not in APIS:
        raise ValueError(f"Unknown simulator {name!r}. Use one of: {', '.join(SIMULATOR_NAMES)}.")
    signing_secret = secret if secret is not None else f"simulator of {name}".encode()
    return Simulator(APIS[name], to_script(script), signing_secret, key)


@asynccontextmanager
async def run_simulator(
    name: str,
    *,
    script: Script | str | bytes | list[Any] | None = None,
    secret: bytes | None = None,
    key: str | None = None,
    port: int = 0,
) -> AsyncIterator[Simulator]:
    """Run a simulated provider on the loopback address until the block ends."""
    async with listen(build_simulator(name, script, secret=secret, key=key), port) as server:
        yield server


def serve_simulator(
    name: str,
    *,
    port: int = 0,
    script_path: str | Path | None = None,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve until interrupted. `announce` is called with the URL once the server listens."""
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(build_simulator(name, load_script(script_path)), port, announce))
