"""Secret leaks: secrets are planted everywhere, every known error is forced, and all output is searched.

Searched are debug logs in both formats, stderr, every response with its headers, the database with its
write-ahead log, exports and spans. None of them may contain a secret or a part of one.
"""

import base64
import json
import logging
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
from tests.cli.environment import running_simulator
from tests.safety import key_echo
from tests.safety.gateway_under_test import ENDLESS_PROMPT, JSON, MODEL, WAIT_S, run_gateway, session_file
from tests.safety.leak_check import (
    PART_LENGTH,
    PROVIDER_KEYS,
    ROUTES_WITH_ERROR,
    LeakCheck,
    capture_logs,
    check_for_leaks,
    find_leaks,
)

from thinkaloud.gateway.server import logs
from thinkaloud.gateway.server.http.auth import new_start_token
from thinkaloud.gateway.store.engine.file_lock import lock_holder, lock_path


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Put an API key in each possible place, and return the references."""
    monkeypatch.setenv("THINKALOUD_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONASYNCIODEBUG", "1")
    monkeypatch.setenv("PARROT_KEY", PROVIDER_KEYS["env"])
    monkeypatch.setenv("ANTHROPIC_API_KEY", PROVIDER_KEYS["env"])
    credentials = tmp_path / "credentials.toml"
    credentials.write_text(f'[parrot]\nkey = "{PROVIDER_KEYS["credentials"]}"\n')
    credentials.chmod(0o600)
    (tmp_path / "key").write_text(PROVIDER_KEYS["file"])
    return {
        "parrot-chat": "env:PARROT_KEY",
        "parrot-messages": "credentials:parrot.key",
        "parrot-gemini": f"file:{tmp_path / 'key'}",
        "parrot-responses": "env:PARROT_KEY | credentials:parrot.key",
    }


def test_leak_search_finds_planted_secrets() -> None:
    secret = PROVIDER_KEYS["env"]
    for output in (
        f"x{secret}y",
        secret.upper(),
        secret[5:20],
        secret[:PART_LENGTH],
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
        assert find_leaks(PROVIDER_KEYS, {"x": output.encode()}), output
    assert not find_leaks(PROVIDER_KEYS, {"x": b"CaNaRy-env" + secret[-11:].encode() + b"***"})


def test_no_leak_when_a_provider_echoes_the_key(tmp_path: Path, keys: dict[str, str]) -> None:
    """S5: in four dialects, with API keys from all three kinds of places."""
    with check_for_leaks(tmp_path, keys) as scene:
        _run_echo_behaviours(scene)


def _run_echo_behaviours(scene: LeakCheck) -> None:
    for provider in key_echo.ECHO_PROVIDERS:
        for name in key_echo.BEHAVIOURS if provider == "parrot-chat" else key_echo.DIALECT_BEHAVIOURS:
            scene.run_failing_turn(f"{provider}/{name}")
    assert key_echo.keys_received >= {
        PROVIDER_KEYS["env"],
        PROVIDER_KEYS["credentials"],
        PROVIDER_KEYS["file"],
    }
    for model in ("dead/m", "keyless/m", "anthropic/claude-opus-4-5", "no-such-model", f"{MODEL}-raw"):
        scene.run_failing_turn(model)
    assert scene.request("GET", "/api/models", headers=scene.credentials).status == 200


def test_no_leak_of_secrets_in_requests(tmp_path: Path, keys: dict[str, str]) -> None:
    """Secrets in headers, URLs, bodies and malformed requests, on known and unknown routes."""
    with check_for_leaks(tmp_path, keys) as scene:
        _send_secrets_everywhere(scene)


def _send_secrets_everywhere(scene: LeakCheck) -> None:
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
    for route in ROUTES_WITH_ERROR:
        path = route.path.format(session=secrets["query"], turn=secrets["query"], agent=secrets["query"])
        for header in wrong:
            host = header[1] if header[0] == "Host" else None
            sent_headers = [] if header[0] == "Host" else [header]
            body = b'{"api_key": "%b"}' % secrets["body"].encode() if route.method != "GET" else None
            scene.request(route.method, path, body, sent_headers, host=host)
            if header[0] not in ("Authorization", "X-Api-Key"):
                scene.request(route.method, path, body, [*sent_headers, *scene.credentials], host=host)
    _misuse(scene)


def _misuse(scene: LeakCheck) -> None:
    """Send secrets in the URL, the body, the method, and in data that is not HTTP."""
    secrets, credentials = scene.secrets, scene.credentials
    two_credentials = [credentials[0], ("X-Api-Key", secrets["unknown"])]
    assert scene.request("GET", "/api/sessions", headers=two_credentials).status == 400
    for name in ("token", "access_token", "api_key", "key", "authorization"):
        for path in ("/api/sessions", "/api/models", "/healthz", "/nowhere", "/api/search"):
            scene.request("GET", f"{path}?{name}={secrets['query']}", headers=credentials)
            scene.request("GET", f"{path}?{name}={secrets['start']}", headers=credentials)
    for query in ("limit", "after", "q"):
        scene.request("GET", f"/api/sessions?{query}={secrets['query']}", headers=credentials)
    scene.request("GET", f"/{secrets['query']}/{secrets['start']}", headers=credentials)
    scene.request("GET", f"/api/sessions/{secrets['start']}", headers=credentials)
    large = json.dumps({"title": secrets["body"] * 5_000}).encode()
    assert scene.request("POST", "/api/sessions", large, [*credentials, JSON]).status == 413
    for body in ({"api_key": secrets["body"]}, {"title": {secrets["body"]: 1}}, [secrets["body"]]):
        assert scene.request("POST", "/api/sessions", body, credentials).status == 422
    broken = f'{{"title": "{secrets["body"]}'.encode()
    for path in ("/api/sessions", "/api/import"):
        assert scene.request("POST", path, broken, [*credentials, JSON]).status in (400, 422)
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
        scene.send_raw(data)
    assert scene.request("GET", "/boom", headers=credentials).status == 500


def test_no_leak_in_normal_use(tmp_path: Path, keys: dict[str, str]) -> None:
    """S5, S20: turns, cancels, disconnects, export, import, search, metrics, OpenAPI and stop."""
    with check_for_leaks(tmp_path, keys) as scene:
        _use_normally(scene)


def _use_normally(scene: LeakCheck) -> None:
    gateway, credentials = scene.gateway, scene.credentials
    session = gateway.create_session(credentials)
    gateway.run_turn(credentials, session)
    anthropic_session = gateway.create_session(credentials, model="anthropic/claude-opus-4-5")
    gateway.run_turn(
        credentials, anthropic_session, json.dumps({"thinking": "a thought", "text": "an answer"})
    )
    assert PROVIDER_KEYS["env"] in repr([one.headers for one in gateway.simulators["anthropic"].requests])
    turn = gateway.start_turn(credentials, session, ENDLESS_PROMPT)
    scene.request("GET", f"/api/turns/{turn}", headers=credentials)
    assert scene.request("POST", f"/api/turns/{turn}/cancel", headers=credentials).status == 202
    for path in ("", "/messages", *(f"/export?format={form}" for form in ("text", "markdown", "json"))):
        assert (
            scene.request("GET", f"/api/sessions/{anthropic_session}{path}", headers=credentials).status
            == 200
        )
    exported = scene.request(
        "GET", f"/api/sessions/{anthropic_session}/export?format=markdown", headers=credentials
    ).body
    markdown = [*credentials, ("Content-Type", "text/markdown")]
    assert scene.request("POST", "/api/import", exported, markdown).status == 201
    assert scene.request("POST", "/api/import", session_file("x", "y"), credentials).status == 201
    for path in ("/api/openapi.json", "/healthz", "/readyz", "/api/models", "/api/preferences"):
        assert scene.request("GET", path, headers=credentials).status == 200
    assert scene.request("GET", "/metrics", headers=credentials).status == 403
    for secret in scene.secrets.values():
        scene.request(
            "GET", f"/api/search?q={quote(secret)}&scope=prompts,answers,tools,thoughts", headers=credentials
        )
    assert scene.request("POST", "/api/agents", {"name": "x", "model": "keyless/m"}, credentials).status in (
        201,
        422,
    )
    running_turn = gateway.start_turn(credentials, session, ENDLESS_PROMPT)
    with socket.create_connection(("127.0.0.1", gateway.port)) as connection:  # a reader who goes away
        name, value = credentials[0]
        head = f"GET /api/turns/{running_turn}/events HTTP/1.1\r\nHost: localhost\r\n{name}: {value}\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(100)
    # The turn goes on, and is ended when the gateway stops.


@pytest.mark.parametrize("table", ["messages", "turns", "sessions"])
def test_database_error_logs_no_stored_text(
    table: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A database error is logged with its statement and without its parameters."""
    words = "a-private-prompt-nobody-else-may-read"
    with capture_logs() as stream, run_gateway(tmp_path) as gateway:
        logging.getLogger("sqlalchemy").setLevel(logging.WARNING)  # echo is an explicit setting
        credentials = gateway.create_person("ana").headers
        session = gateway.create_session(credentials)
        trigger = f"CREATE TRIGGER no BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'broken'); END"
        gateway.write(lambda conn: conn.execute(text(trigger)))
        body = {"title": words} if table == "sessions" else {"prompt": words}
        path = "/api/sessions" if table == "sessions" else f"/api/sessions/{session}/turns"
        response = gateway.request("POST", path, body, credentials)
        gateway.write(lambda conn: conn.execute(text("DROP TRIGGER no")))
    assert response.status == 500
    assert words not in response.body.decode()
    assert "broken" in stream.getvalue()
    out, err = capfd.readouterr()
    assert words not in stream.getvalue() + out + err


COMMAND = [sys.executable, "-X", "dev", "-W", "default", "-m", "thinkaloud"]


def _post(url: str, path: str, token: str, body: Any = None) -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    try:
        request = urllib.request.Request(url + path, data, headers)
        with urllib.request.urlopen(request, timeout=WAIT_S) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


@pytest.mark.parametrize("form", logs.LogFormat)
def test_serve_shows_no_token_outside_a_terminal_and_no_key(
    form: logs.LogFormat, tmp_path: Path, keys: dict[str, str]
) -> None:
    """The real command in development mode: a start, a failing turn, a stop during a turn."""
    heap: dict[str, bytes] = {}
    with key_echo.run_key_echo() as url, running_simulator("vllm", [json.loads(ENDLESS_PROMPT)]) as model:
        rows = key_echo.catalog_rows(url, keys) + f'[providers.vllm]\nbase_url = "{model.url}/v1"\n'
        (tmp_path / "catalog.toml").write_text(rows)
        words = ["serve", "--port", "0", "--auth", "token", "--grace", "0", "--log-format", form]
        with subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            try:
                assert run.stdout is not None
                address = run.stdout.readline().decode().strip()
                holder = lock_holder(lock_path(tmp_path / "thinkaloud.db"))
                assert holder is not None
                completed = subprocess.run(
                    [*COMMAND, "tokens", "create", "local"], capture_output=True, check=True
                )
                token = completed.stdout.decode().strip()
                heap["what tokens create tells people"] = completed.stderr
                heap |= _used(address, token)
                run.send_signal(signal.SIGTERM)
                out, err = run.communicate(timeout=WAIT_S)
            finally:
                run.kill()
    assert run.returncode == 0, err
    assert holder.token
    heap |= {"stdout": out, "stderr": err}
    heap |= {path.name: path.read_bytes() for path in tmp_path.glob("thinkaloud.db*")}
    assert b"thinkaloud.requests" in err or form is logs.LogFormat.TEXT
    leaks = find_leaks(PROVIDER_KEYS | {"token": token, "start": holder.token}, heap)
    assert not leaks, "\n".join(map(str, leaks[:20]))


def _used(address: str, token: str) -> dict[str, bytes]:
    """Run a failing turn with the key echoed, an unauthorised request, and a turn for the stop."""
    status, content = _post(address, "/api/sessions", token, {"model": MODEL})
    assert status == 201
    path = f"/api/sessions/{json.loads(content)['id']}/turns"
    _, started = _post(address, path, token, {"prompt": "x", "model": "parrot-chat/401-openai"})
    _, events = _post(address, f"/api/turns/{json.loads(started)['id']}/events", token)
    assert b"***" in events
    _, stranger = _post(address, "/api/sessions", new_start_token())
    _, running = _post(address, path, token, {"prompt": "x"})
    assert json.loads(running)["state"] == "running"
    return {"begun": started, "events": events, "stranger": stranger, "running": running}
