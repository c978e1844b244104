"""Secrets are planted everywhere, every error that we know of is forced, and then everything is searched.

Logs of both forms at their most talkative, what goes to stderr, every answer with its headers, the database
with its write-ahead log, exports and spans: none of them holds a secret, not even a part of one.
"""

import base64
import json
import logging
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import text
from tests.app.serving import simulated
from tests.safety import parrot
from tests.safety.canaries import KEYS, PART, ROUTES_AND_BOOM, Scene, searched, spilled, talkative
from tests.safety.ground import ENDLESS, JSON, MODEL, WAIT_S, file, ground

from thinkaloud.server import logs
from thinkaloud.server.access import new_start_token


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A key in each place where one may be; references to them by the rows of the parrot."""
    monkeypatch.setenv("THINKALOUD_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONASYNCIODEBUG", "1")
    monkeypatch.setenv("PARROT_KEY", KEYS["env"])
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEYS["env"])
    credentials = tmp_path / "credentials.toml"
    credentials.write_text(f'[parrot]\nkey = "{KEYS["credentials"]}"\n')
    credentials.chmod(0o600)
    (tmp_path / "key").write_text(KEYS["file"])
    return {
        "parrot-chat": "env:PARROT_KEY",
        "parrot-messages": "credentials:parrot.key",
        "parrot-gemini": f"file:{tmp_path / 'key'}",
        "parrot-responses": "env:PARROT_KEY | credentials:parrot.key",
    }


def test_the_search_finds_what_is_there() -> None:
    secret = KEYS["env"]
    for told in (
        f"x{secret}y",
        secret.upper(),
        secret[5:20],
        secret[:PART],
        quote(secret, safe=""),
        secret.replace("/", "\\/"),
        secret.replace("-", "\\u002d")
        .replace("/", "\\u002f")
        .replace("+", "\\u002b")
        .replace("=", "\\u003d"),
        secret.encode().hex(),
        base64.b64encode(secret.encode()).decode(),
        base64.b64encode(b"ab" + secret.encode() + b"cd").decode(),
    ):
        assert spilled(KEYS, {"x": told.encode()}), told
    assert not spilled(KEYS, {"x": b"CaNaRy-env" + secret[-11:].encode() + b"***"})


def test_no_secret_gets_out_when_a_provider_quotes_it(tmp_path: Path, keys: dict[str, str]) -> None:
    """S5: in each of four dialects, with keys from all three kinds of places."""
    with searched(tmp_path, keys) as scene:
        _when_a_provider_quotes_it(scene)


def _when_a_provider_quotes_it(scene: Scene) -> None:
    for provider in parrot.DIALECTS:
        for name in parrot.NAMES if provider == "parrot-chat" else parrot.IN_A_DIALECT:
            scene.failed(f"{provider}/{name}")
    assert parrot.keys_heard >= {KEYS["env"], KEYS["credentials"], KEYS["file"]}
    for model in ("dead/m", "keyless/m", "anthropic/claude-opus-4-5", "no-such-model", f"{MODEL}-raw"):
        scene.failed(model)
    assert scene.ask("GET", "/api/models", headers=scene.who).status == 200


def test_no_secret_gets_out_of_the_door(tmp_path: Path, keys: dict[str, str]) -> None:
    """Secrets in headers, addresses, bodies and broken requests, on every route and on none."""
    with searched(tmp_path, keys) as scene:
        _of_the_door(scene)


def _of_the_door(scene: Scene) -> None:
    secrets = scene.secrets
    wrong: list[tuple[str, str]] = [
        ("Authorization", f"Bearer {secrets['bearer']}"),
        ("Authorization", f"Basic {base64.b64encode(secrets['basic'].encode()).decode()}"),
        ("Authorization", secrets["bearer"]),
        ("Authorization", f"Bearer {secrets['revoked']}"),
        ("Authorization", f"Bearer {secrets['unknown']}"),
        ("X-Api-Key", secrets["bearer"]),
        ("X-Api-Key", secrets["unknown"]),
        ("Cookie", f"session={secrets['cookie']}"),
        ("Host", f"{secrets['query']}.evil.example"),
        ("Origin", f"http://{secrets['query']}.evil.example"),
        ("Thinkaloud-Workspace", secrets["bearer"]),
        ("Last-Event-ID", secrets["bearer"]),
        ("Content-Type", secrets["bearer"]),
        ("Content-Encoding", secrets["bearer"]),
        ("X-Forwarded-For", secrets["bearer"]),
        ("Proxy-Authorization", f"Bearer {secrets['bearer']}"),
    ]
    for route in ROUTES_AND_BOOM:
        path = route.path.format(session=secrets["query"], turn=secrets["query"], agent=secrets["query"])
        for header in wrong:
            host = header[1] if header[0] == "Host" else None
            sent = [] if header[0] == "Host" else [header]
            body = b'{"api_key": "%b"}' % secrets["body"].encode() if route.method != "GET" else None
            scene.ask(route.method, path, body, sent, host=host)
            if header[0] not in ("Authorization", "X-Api-Key"):
                scene.ask(route.method, path, body, [*sent, *scene.who], host=host)
    _misuse(scene)


def _misuse(scene: Scene) -> None:
    """Secrets in places of their own: the address, the body, the method, what is no HTTP at all."""
    secrets, who = scene.secrets, scene.who
    both = [who[0], ("X-Api-Key", secrets["unknown"])]
    assert scene.ask("GET", "/api/sessions", headers=both).status == 400
    for name in ("token", "access_token", "api_key", "key", "authorization"):
        for path in ("/api/sessions", "/api/models", "/healthz", "/nowhere", "/api/search"):
            scene.ask("GET", f"{path}?{name}={secrets['query']}", headers=who)
            scene.ask("GET", f"{path}?{name}={secrets['start']}", headers=who)
    for query in ("limit", "after", "q"):
        scene.ask("GET", f"/api/sessions?{query}={secrets['query']}", headers=who)
    scene.ask("GET", f"/{secrets['query']}/{secrets['start']}", headers=who)
    scene.ask("GET", f"/api/sessions/{secrets['start']}", headers=who)
    large = json.dumps({"title": secrets["body"] * 5_000}).encode()
    assert scene.ask("POST", "/api/sessions", large, [*who, JSON]).status == 413
    for body in ({"api_key": secrets["body"]}, {"title": {secrets["body"]: 1}}, [secrets["body"]]):
        assert scene.ask("POST", "/api/sessions", body, who).status == 422
    broken = f'{{"title": "{secrets["body"]}'.encode()
    for path in ("/api/sessions", "/api/import"):
        assert scene.ask("POST", path, broken, [*who, JSON]).status in (400, 422)
    token = f"Authorization: Bearer {secrets['token']}"
    close = f"Host: localhost\r\nConnection: close\r\n{token}\r\n"
    for data in (
        f"GET /{secrets['query']} HTTP/9.9\r\n{close}\r\n",
        f"{secrets['query']} / HTTP/1.1\r\n{close}\r\n",
        f"GET /api/sessions HTTP/1.1\r\nX: a\x00{secrets['query']}\r\n{close}\r\n",
        f"GET /api/sessions HTTP/1.1\r\nHost: localhost\r\n{token}\r\n{token}\r\nConnection: close\r\n\r\n",
        f"GET /api/sessions HTTP/1.1\r\nX: {secrets['query'] * 2000}\r\n{close}\r\n",
        f"POST /api/sessions HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 99\r\n{close}\r\n"
        f'{{"title": "{secrets["body"]}',
        f"GET /api/sessions HTTP/1.1\r\n{token}\r\nHost: loc",
    ):
        scene.raw(data)
    assert scene.ask("GET", "/boom", headers=who).status == 500


def test_no_secret_gets_out_of_ordinary_days(tmp_path: Path, keys: dict[str, str]) -> None:
    """What goes well, is cancelled, dropped, exported, imported, searched, counted, documented or stopped."""
    with searched(tmp_path, keys) as scene:
        _of_ordinary_days(scene)


def _of_ordinary_days(scene: Scene) -> None:
    place, who = scene.place, scene.who
    session = place.session(who)
    place.answered(who, session)
    real = place.session(who, model="anthropic/claude-opus-4-5")
    place.answered(who, real, json.dumps({"thinking": "a thought", "text": "an answer"}))
    assert KEYS["env"] in repr([one.headers for one in place.models["anthropic"].requests])
    turn = place.begun(who, session, ENDLESS)
    scene.ask("GET", f"/api/turns/{turn}", headers=who)
    assert scene.ask("POST", f"/api/turns/{turn}/cancel", headers=who).status == 202
    for path in ("", "/messages", *(f"/export?format={form}" for form in ("text", "markdown", "json"))):
        assert scene.ask("GET", f"/api/sessions/{real}{path}", headers=who).status == 200
    exported = scene.ask("GET", f"/api/sessions/{real}/export?format=markdown", headers=who).body
    markdown = [*who, ("Content-Type", "text/markdown")]
    assert scene.ask("POST", "/api/import", exported, markdown).status == 201
    assert scene.ask("POST", "/api/import", file("x", "y"), who).status == 201
    for path in ("/metrics", "/api/openapi.json", "/healthz", "/readyz", "/api/models", "/api/preferences"):
        assert scene.ask("GET", path, headers=who).status == 200
    for secret in scene.secrets.values():
        scene.ask("GET", f"/api/search?q={quote(secret)}&scope=prompts,answers,tools,thoughts", headers=who)
    assert scene.ask("POST", "/api/agents", {"name": "x", "model": "keyless/m"}, who).status in (201, 422)
    left = place.begun(who, session, ENDLESS)
    with socket.create_connection(("127.0.0.1", place.port)) as connection:  # a reader who goes away
        head = f"GET /api/turns/{left}/events HTTP/1.1\r\nHost: localhost\r\n{who[0][0]}: {who[0][1]}\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(100)
    # The turn goes on, and is ended when the gateway stops.


@pytest.mark.parametrize("table", ["messages", "turns", "sessions"])
def test_a_database_that_fails_tells_nobodys_words(
    table: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """An error of the database is logged with its statement, and not with what was to be kept."""
    words = "a-private-prompt-nobody-else-may-read"
    with talkative() as stream, ground(tmp_path) as place:
        logging.getLogger("sqlalchemy").setLevel(logging.WARNING)  # its echo is somebody's own choice
        who = place.person("ana").headers
        session = place.session(who)
        trigger = f"CREATE TRIGGER no BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'broken'); END"
        place.write(lambda conn: conn.execute(text(trigger)))
        body = {"title": words} if table == "sessions" else {"prompt": words}
        path = "/api/sessions" if table == "sessions" else f"/api/sessions/{session}/turns"
        told = place.ask("POST", path, body, who)
        place.write(lambda conn: conn.execute(text("DROP TRIGGER no")))
    assert told.status == 500
    assert words not in told.body.decode()
    assert "broken" in stream.getvalue()
    out, err = capfd.readouterr()
    assert words not in stream.getvalue() + out + err


COMMAND = [sys.executable, "-X", "dev", "-W", "default", "-m", "thinkaloud"]


def _asked(url: str, path: str, token: str, body: Any = None) -> tuple[int, bytes]:
    sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    try:
        request = urllib.request.Request(url + path, data, sent)
        with urllib.request.urlopen(request, timeout=WAIT_S) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


@pytest.mark.parametrize("form", logs.Form)
def test_the_command_shows_a_token_once_and_no_key(
    form: logs.Form, tmp_path: Path, keys: dict[str, str]
) -> None:
    """As a person runs it, with Python's own checks on: a start, a failing turn, a stop in the middle."""
    heap: dict[str, bytes] = {}
    with parrot.parrot() as url, simulated("vllm", [json.loads(ENDLESS)]) as model:
        rows = parrot.rows(url, keys) + f'[providers.vllm]\nbase_url = "{model.url}/v1"\n'
        (tmp_path / "catalog.toml").write_text(rows)
        words = ["serve", "--port", "0", "--auth", "token", "--grace", "0", "--log-format", form]
        with subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            try:
                assert run.stdout is not None
                address = run.stdout.readline().decode().strip()
                made = subprocess.run(
                    [*COMMAND, "tokens", "create", "local"], capture_output=True, check=True
                )
                token = made.stdout.decode().strip()
                heap["what tokens create tells people"] = made.stderr
                heap |= _used(address, token)
                run.send_signal(signal.SIGTERM)
                out, err = run.communicate(timeout=WAIT_S)
            finally:
                run.kill()
    assert run.returncode == 0, err
    [start] = re.findall(rb"tka_[A-Za-z0-9_-]{43}", err)
    heap |= {"stdout": out, "stderr": err.replace(start, b"")}
    heap |= {path.name: path.read_bytes() for path in tmp_path.glob("thinkaloud.db*")}
    assert b"thinkaloud.requests" in err or form is logs.Form.TEXT
    found = spilled(KEYS | {"token": token, "start": start.decode()}, heap)
    assert not found, "\n".join(map(str, found[:20]))


def _used(address: str, token: str) -> dict[str, bytes]:
    """A turn that fails with the key quoted, somebody unknown, and a turn that runs when the stop comes."""
    status, told = _asked(address, "/api/sessions", token, {"model": MODEL})
    assert status == 201
    path = f"/api/sessions/{json.loads(told)['id']}/turns"
    _, begun = _asked(address, path, token, {"prompt": "x", "model": "parrot-chat/401-openai"})
    _, events = _asked(address, f"/api/turns/{json.loads(begun)['id']}/events", token)
    assert b"***" in events
    _, stranger = _asked(address, "/api/sessions", new_start_token())
    _, running = _asked(address, path, token, {"prompt": "x"})
    assert json.loads(running)["state"] == "running"
    return {"begun": begun, "events": events, "stranger": stranger, "running": running}
