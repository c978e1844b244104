"""A provider process that sends known words at a known pace. The model name selects both.

`r200-c100-ms5` thinks 200 words and answers with 100, one every 5 ms. `-b1000` makes each word 1000 bytes
long, and `-b1000zh` does so with characters that are words of their own. Words contain their number and
multi-byte characters, so that every lost or split byte is noticed.
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
_MODEL_NAME = re.compile(r"r(\d+)-c(\d+)-ms(\d+)(?:-b(\d+)(zh)?)?")

CATALOG_ROW = """
[providers.paced]
dialect = "openai_chat"
base_url = "{url}/v1"
replay = "none"
local = true
fact = {{ as_of = "2026-01-01", source = "a test" }}
"""
"""The catalog.toml that configures this provider."""


class WordScript(NamedTuple):
    """The words of a response, with their pace."""

    thoughts: list[str]
    answer: list[str]
    interval_s: float

    @classmethod
    def from_model_name(cls, model: str) -> "WordScript":
        match = _MODEL_NAME.fullmatch(model.removeprefix("paced/"))
        assert match, f"{model} does not say what it will say"
        thoughts, answer, every_ms, size = (int(number or 0) for number in match.groups()[:4])
        filler = "思" if match[5] else "x"
        return cls(
            [f" pensée-{number} ".rjust(size, filler) for number in range(thoughts)],
            [f" réponse-{number}→ ".rjust(size, filler) for number in range(answer)],
            every_ms / 1000,
        )

    @property
    def text(self) -> tuple[str, str]:
        """Return the whole reasoning and the whole answer."""
        return "".join(self.thoughts), "".join(self.answer)


def expected(model: str) -> tuple[str, str]:
    """Return the expected reasoning and answer of a model."""
    return WordScript.from_model_name(model).text


async def answer_request(request: web.Request) -> web.StreamResponse:
    """Respond to one request until the client disconnects."""
    script = WordScript.from_model_name((await request.json())["model"])
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    response.force_close()  # each response has a connection of its own, which a fault proxy can break
    await response.prepare(request)
    with suppress(ConnectionError):
        await _write_words(response, script)
    return response


async def _write_words(response: web.StreamResponse, script: WordScript) -> None:
    """Write each word when it is due. Late words are sent together."""
    deltas = [{"reasoning_content": word} for word in script.thoughts]
    deltas += [{"content": word} for word in script.answer]
    clock = asyncio.get_running_loop().time
    started_s, sent_count = clock(), 0
    while sent_count < len(deltas):
        due = sent_count + 1 if not script.interval_s else int((clock() - started_s) / script.interval_s) + 1
        if due <= sent_count:
            await asyncio.sleep(started_s + sent_count * script.interval_s - clock())
            continue
        await response.write(b"".join(_event({"delta": delta}) for delta in deltas[sent_count:due]))
        sent_count = min(due, len(deltas))
    await response.write(_event({"delta": {}, "finish_reason": "stop"}) + b"data: [DONE]\n\n")


def _event(choice: dict[str, object]) -> bytes:
    return b"data: " + json.dumps({"choices": [choice]}, ensure_ascii=False).encode() + b"\n\n"


async def serve() -> None:
    """Serve until the parent process is gone."""
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/chat/completions", answer_request)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    stdin_closed = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait_for_stdin() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(stdin_closed.set)

    threading.Thread(target=wait_for_stdin, daemon=True).start()
    await stdin_closed.wait()
    await runner.cleanup()


@contextmanager
def run_provider() -> Iterator[str]:
    """Run the provider and yield its address."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.gateway.paced_provider"],
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
