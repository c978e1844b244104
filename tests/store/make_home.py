"""Make the database in `data/`: a home as a released version of Thinkaloud leaves it on disk.

The script uses only commands and the HTTP interface, so it runs against any version:

    PYTHONPATH=OLD/src python tests/store/make_home.py tests/store/data/home-0.1

It writes `home-0.1.sqlite`, and `home-0.1.json` with one exported session and the secret of the token.
`test_stored_data.py` reads both with the current code. Make a new pair for a new release; keep the old ones.
"""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "thinkaloud"]
WEATHER = {
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
SCRIPT = [
    {
        "thinking": "I need the weather in Lima first.",
        "tool_calls": [{"name": "get_weather", "arguments": {"city": "Lima"}}],
    },
    {"thinking": "18 degrees is mild, so no coat.", "text": "It is mild in Lima: 18 °C. Leave the coat."},
    {
        "thinking": "This thought is cut short by a crash. " * 4,
        "text": "Never sent.",
        "fault": {"kind": "stall", "seconds": 600, "after_events": 6},
    },
]


@contextmanager
def process(*arguments: str, environment: dict[str, str]) -> Iterator[str]:
    """Run a server until the block ends, and yield its address. It is killed, as in a crash."""
    with subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as running:
        assert running.stdout
        try:
            yield running.stdout.readline().split()[-1].rstrip("/")
        finally:
            running.kill()


def call(url: str, body: object = None, method: str = "") -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, data, headers, method=method or None)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.loads(response.read())
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{url}: {error.read().decode()}") from None


def ask(url: str, session: str, *, state: str = "done", **body: object) -> None:
    """Start a turn and wait until it is in this state."""
    turn = call(f"{url}/api/sessions/{session}/turns", body)["id"]
    deadline_s = time.monotonic() + 60
    while True:
        row = call(f"{url}/api/turns/{turn}")
        if row["state"] == state and (state == "done" or row["reasoning_content"]):
            return
        if row["state"] != "running" or time.monotonic() > deadline_s:
            raise SystemExit(f"The turn {turn} is not {state}: {row}")
        time.sleep(0.1)


def fill(url: str) -> Any:
    """Make sessions, agents and preferences; return one session as the gateway exports it."""
    preferences = {
        "display": {"preset": "koder"},
        "language": "pt-BR",
        "context_mode": "keep",
        "render": "plain",
        "expand_key": "Alt+KeyT",
    }
    call(f"{url}/api/preferences", preferences, "PUT")
    checker = call(f"{url}/api/agents", {"name": "Proofreader", "model": "builtin/solver"})
    researcher = {
        "name": "Researcher",
        "model": "anthropic/claude-sonnet-4.5",
        "description": "Looks things up.",
        "system": "Answer in one sentence.",
        "thinking": True,
        "budget_tokens": 2048,
        "tools": [WEATHER],
        "uses": ["calculator"],
        "assistants": [checker["id"]],
        "most_replies": 5,
        "most_seconds": 30.5,
        "most_usd": 0.25,
        "summary_model": "builtin/solver",
        "preset": "koder",
        "context_mode": "keep",
    }
    agent = call(f"{url}/api/agents", researcher)["id"]
    sums = call(f"{url}/api/sessions", {"title": "Sums", "agent": "planner"})["id"]
    ask(url, sums, prompt="how much is 17 * 3 - 9")
    weather = call(f"{url}/api/sessions", {"title": "Weather in Lima", "agent": agent})["id"]
    ask(url, weather, prompt="Do I need a coat in Lima?")
    messages = call(f"{url}/api/sessions/{weather}/messages")["items"]
    call_id = next(part["call_id"] for message in messages for part in message["parts"] if part["call_id"])
    result = {"call_id": call_id, "name": "get_weather", "result": "18 °C, cloudy"}
    ask(url, weather, tool_results=[result])
    exported = call(f"{url}/api/sessions/{weather}/export?format=json")
    crashed = call(f"{url}/api/sessions", {"title": "Crashed", "agent": agent})["id"]
    ask(url, crashed, state="running", prompt="Think until the process is killed.")
    return exported


def main() -> None:
    target = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        environment = {**os.environ, "THINKALOUD_HOME": folder, "ANTHROPIC_API_KEY": "simulated"}
        script = home / "script.json"
        script.write_text(json.dumps(SCRIPT), "utf-8")
        for words in (
            ["users", "add", "ana", "--workspace", "lab"],
            ["users", "join", "local", "--workspace", "lab"],
        ):
            subprocess.run([*COMMAND, *words], check=True, env=environment)
        token = subprocess.run(
            [*COMMAND, "tokens", "create", "ana", "--name", "laptop"],
            check=True,
            env=environment,
            capture_output=True,
            text=True,
        )
        with process("simulate", "anthropic", "--script", str(script), environment=environment) as provider:
            (home / "catalog.toml").write_text(
                f'[providers.anthropic]\nbase_url = "{provider}/v1"\n', "utf-8"
            )
            with process("serve", "--port", "0", environment=environment) as url:
                session = fill(url)
        connection = sqlite3.connect(home / "thinkaloud.db")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("VACUUM")
        connection.close()
        target.with_suffix(".sqlite").unlink(missing_ok=True)
        Path(f"{target}.sqlite").write_bytes((home / "thinkaloud.db").read_bytes())
        record = {"token": token.stdout.strip(), "session": session}
        Path(f"{target}.json").write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
