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

    thought_count: int
    answer_count: int
    interval_s: float
    size_bytes: int = 0
    filler: str = "x"

    @classmethod
    def from_model_name(cls, model: str) -> "WordScript":
        match = _MODEL_NAME.fullmatch(model.removeprefix("paced/"))
        assert match, f"{model} does not say what it will say"
        thoughts, answer, every_ms, size = (int(number or 0) for number in match.groups()[:4])
        return cls(thoughts, answer, every_ms / 1000, size, "思" if match[5] else "x")

    @property
    def word_count(self) -> int:
        """The number of all words."""
        return self.thought_count + self.answer_count

    @property
    def text(self) -> tuple[str, str]:
        """Return the whole reasoning and the whole answer."""
        words = [self._word(number) for number in range(self.word_count)]
        return "".join(words[: self.thought_count]), "".join(words[self.thought_count :])

    def delta(self, number: int) -> dict[str, str]:
        """Return one word as a delta. A long response is not made in advance: others would wait for it."""
        field = "reasoning_content" if number < self.thought_count else "content"
        return {field: self._word(number)}

    def _word(self, number: int) -> str:
        is_thought = number < self.thought_count
        word = f" pensée-{number} " if is_thought else f" réponse-{number - self.thought_count}→ "
        return word.rjust(self.size_bytes, self.filler)


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
    clock = asyncio.get_running_loop().time
    started_s, sent_count = clock(), 0
    while sent_count < script.word_count:
        due = sent_count + 1 if not script.interval_s else int((clock() - started_s) / script.interval_s) + 1
        if due <= sent_count:
            await asyncio.sleep(started_s + sent_count * script.interval_s - clock())
            continue
        due = min(due, script.word_count)
        await response.write(
            b"".join(_event({"delta": script.delta(number)}) for number in range(sent_count, due))
        )
        sent_count = due
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
