"""The built-in model is asked in every way: from Python, by the command, and through a gateway.

`make test` runs this file on every Python that it finds.
"""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from tests.patience import PATIENCE_S

import thinkaloud

MODEL = "builtin/solver"
QUESTION = "What is 17 * 23?"
ANSWER = "391"
COMMAND = (sys.executable, "-W", "error", "-m", "thinkaloud")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THINKALOUD_HOME", str(tmp_path))


def command(*words: str) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        [*COMMAND, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_python_asks_in_an_event_loop() -> None:
    async def ask() -> thinkaloud.Turn:
        async with asyncio.timeout(PATIENCE_S):
            return await thinkaloud.ask(QUESTION, model=MODEL)

    assert ANSWER in asyncio.run(ask()).answer


def test_python_asks_without_an_event_loop() -> None:
    assert ANSWER in thinkaloud.ask_sync(QUESTION, model=MODEL).answer
    events = list(thinkaloud.stream_sync(QUESTION, model=MODEL))
    assert ANSWER in thinkaloud.fold(events).answer


def test_conversation_asks_twice() -> None:
    conversation = thinkaloud.Conversation(MODEL)
    assert ANSWER in conversation.ask(QUESTION).answer
    assert "42" in conversation.ask("What is 6 * 7?").answer


def test_command_asks_and_shows_what_it_kept() -> None:
    asked = command("ask", "--model", MODEL, QUESTION)
    assert ANSWER in asked.stdout
    assert "[think]" in asked.stderr
    assert ANSWER in command("show", "latest").stdout
    assert "Traceback" not in asked.stderr


def test_gateway_is_asked_and_stops() -> None:
    with subprocess.Popen(
        [*COMMAND, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as gateway:
        try:
            assert gateway.stdout is not None
            url = gateway.stdout.readline().strip()
            body = {"model": MODEL, "messages": [{"role": "user", "content": QUESTION}]}
            headers = {"Content-Type": "application/json"}
            request = Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), headers)
            with urlopen(request, timeout=PATIENCE_S) as response:
                message = json.load(response)["choices"][0]["message"]
            gateway.send_signal(signal.SIGINT)
            _, log = gateway.communicate(timeout=PATIENCE_S)
        finally:
            gateway.kill()
    assert ANSWER in message["content"]
    assert message["reasoning_content"]
    assert (gateway.returncode, "Traceback" in log) == (0, False)
