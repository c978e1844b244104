"""A provider of known words at a known pace, as a process of its own: a model's name says all it will say.

`r200-c100-ms5` thinks 200 words and answers with 100, one every 5 ms; `-b1000` makes each word so long, and
`-b1000zh` so with signs that are words of their own.
Words have their number in them and letters of more than one byte, so that no cut goes unseen.
"""

import asyncio
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import uvloop
from aiohttp import web
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
START_S = PATIENCE_S
"""Longer than any start or end takes, also where other work keeps the machine busy."""
_NAME = re.compile(r"r(\d+)-c(\d+)-ms(\d+)(?:-b(\d+)(zh)?)?")

ROW = """
[providers.paced]
dialect = "openai_chat"
base_url = "{url}/v1"
replay = "none"
local = true
fact = {{ as_of = "2026-01-01", source = "a test" }}
"""
"""What a user writes into catalog.toml to ask it."""


class Script(NamedTuple):
    """What a model says, word by word."""

    thoughts: list[str]
    answer: list[str]
    every_s: float

    @classmethod
    def of(cls, model: str) -> "Script":
        found = _NAME.fullmatch(model.removeprefix("paced/"))
        assert found, f"{model} does not say what it will say"
        thoughts, answer, every_ms, size = (int(number or 0) for number in found.groups()[:4])
        filler = "思" if found[5] else "x"
        return cls(
            [f" pensée-{number} ".rjust(size, filler) for number in range(thoughts)],
            [f" réponse-{number}→ ".rjust(size, filler) for number in range(answer)],
            every_ms / 1000,
        )

    @property
    def text(self) -> tuple[str, str]:
        """All thoughts and all of the answer."""
        return "".join(self.thoughts), "".join(self.answer)


def expected(model: str) -> tuple[str, str]:
    """What a turn of this model thinks and answers when nothing goes wrong."""
    return Script.of(model).text


async def converse(request: web.Request) -> web.StreamResponse:
    """Answer one request, for as long as somebody listens."""
    script = Script.of((await request.json())["model"])
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    with suppress(ConnectionError):
        await _say(response, script)
    return response


async def _say(response: web.StreamResponse, script: Script) -> None:
    """Every word when it is due; those that are late go out together."""
    deltas = [{"reasoning_content": word} for word in script.thoughts]
    deltas += [{"content": word} for word in script.answer]
    clock = asyncio.get_running_loop().time
    begun, said = clock(), 0
    while said < len(deltas):
        due = said + 1 if not script.every_s else int((clock() - begun) / script.every_s) + 1
        if due <= said:
            await asyncio.sleep(begun + said * script.every_s - clock())
            continue
        await response.write(b"".join(_event({"delta": delta}) for delta in deltas[said:due]))
        said = min(due, len(deltas))
    await response.write(_event({"delta": {}, "finish_reason": "stop"}) + b"data: [DONE]\n\n")


def _event(choice: dict[str, object]) -> bytes:
    return b"data: " + json.dumps({"choices": [choice]}, ensure_ascii=False).encode() + b"\n\n"


async def serve() -> None:
    """Answer until whoever started us is gone."""
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/chat/completions", converse)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    over = asyncio.Event()
    loop = asyncio.get_running_loop()

    def watch() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(over.set)

    threading.Thread(target=watch, daemon=True).start()
    await over.wait()
    await runner.cleanup()


@contextmanager
def providing() -> Iterator[str]:
    """The provider's address, until the block ends."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.gateway.providing"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        url = process.stdout.readline().strip()
        assert url, "the provider does not listen"
        try:
            yield url
        finally:
            assert process.stdin
            process.stdin.close()
            process.wait(START_S)


if __name__ == "__main__":
    uvloop.run(serve())
