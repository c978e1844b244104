"""Secrets are planted everywhere, every error that we know of is forced, and then everything is searched.

Logs of both forms at their most talkative, what goes to stderr, every answer with its headers, the database
with its write-ahead log, exports and spans: none of them holds a secret, not even a part of one.
"""

import base64
import contextlib
import io
import json
import logging
import socket
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sqlalchemy import Connection, select, text
from tests.safety import parrot
from tests.safety.ground import ENDLESS, JSON, MODEL, Answer, Ground, Pairs, Puppet, file, ground
from tests.server.calling import quick

from thinkaloud.canon import Entry
from thinkaloud.server import logs
from thinkaloud.server.access import new_start_token
from thinkaloud.server.routes import ROUTES
from thinkaloud.server.routing import Call, Route
from thinkaloud.store import people, schema
from thinkaloud.store.stored import stored_entries

KEYS = {
    "env": "CaNaRy-env-7Qz/4mK+x9Lw=2Vb8Nd5Rt",
    "credentials": "CaNaRy-crd-3Hs/8pJ+u6Yf=1Gk7Ce4Ma",
    "file": "CaNaRy-fil-5Wd/2nB+t8Xq=9Zj3Ph6Lv",
    "proxy": "CaNaRy-prx-6Tg8Rk2Ns4Vx",
}
"""Keys of providers; nothing about them looks like a key, so that no pattern helps to hide them."""
SENT = {
    "bearer": "CaNaRy-hdr-9Fv/1cT+i7Ow=4Ey6Ub2Ak",
    "basic": "CaNaRy-bsc-8Dx/6zQ+r3Mh=5Ln1Sj7Gp",
    "cookie": "CaNaRy-cok-2Bu/9eI+w4Kt=7Vf5Rc8Xa",
    "query": "CaNaRy-qry-4Np6Yd8Js1Zh3Wl",
    "body": "CaNaRy-bdy-7Gm1Cx3Fq9Tb5Ve",
}
"""What somebody sends by mistake, where no secret belongs."""
PART = 12
"""So many characters in a row are a part of a secret."""


class Spilled(NamedTuple):
    """Where a secret was found."""

    where: str
    secret: str
    around: str


def forms(secret: str) -> Iterator[bytes]:
    """Every part of a secret, as it is and as it may be written."""
    for start in range(len(secret) - PART + 1):
        yield secret[start : start + PART].lower().encode()
    yield secret.encode("utf-16-le").lower()
    yield secret.encode().hex().encode()
    yield quote(secret, safe="").lower().encode()
    escaped = json.dumps(secret).replace("/", "\\/")
    yield escaped[1:-1].lower().encode()
    for lead in range(3):
        coded = base64.b64encode(b"\0" * lead + secret.encode())[4 if lead else 0 : -4]
        yield coded.lower()


def spilled(secrets: dict[str, str], heap: dict[str, bytes]) -> list[Spilled]:
    """Where any of the secrets is in any of these."""
    found = []
    for where, data in heap.items():
        lowered = data.lower()
        for name, secret in secrets.items():
            hits = [lowered.find(form) for form in forms(secret) if form in lowered]
            if hits:
                found.append(Spilled(where, name, repr(data[max(0, hits[0] - 80) : hits[0] + 60])))
    return found


def test_the_search_finds_what_is_there() -> None:
    secret = KEYS["env"]
    for told in (
        f"x{secret}y",
        secret.upper(),
        secret[5:20],
        secret[:PART],
        quote(secret, safe=""),
        secret.replace("/", "\\/"),
        secret.encode().hex(),
        base64.b64encode(secret.encode()).decode(),
        base64.b64encode(b"ab" + secret.encode() + b"cd").decode(),
    ):
        assert spilled(KEYS, {"x": told.encode()}), told
    assert not spilled(KEYS, {"x": b"CaNaRy-env" + secret[-11:].encode() + b"***"})


async def boom(call: Call) -> None:
    """What a library's exception might say, with a chain of causes and a warning on the way."""
    headers = {"Authorization": f"Bearer {KEYS['env']}", "X-Api-Key": KEYS["credentials"]}
    warnings.warn(f"x-goog-api-key: {KEYS['file']}", ResourceWarning, stacklevel=1)
    logging.getLogger("some.library").debug("sending %r", headers)
    try:
        raise ValueError(f"invalid headers {headers}")
    except ValueError as error:
        raise RuntimeError(f"api_key={KEYS['file']!r} for {call.headers.get('authorization')}") from error


ROUTES_AND_BOOM = (*ROUTES, Route(method="GET", path="/boom", handler=boom, summary="", status=204))


class Scene(NamedTuple):
    """Everything that is searched in the end, and all that must not be in it."""

    place: Ground
    secrets: dict[str, str]
    heap: dict[str, bytes]
    who: list[tuple[str, str]]

    def ask(self, method: str, path: str, body: Any = None, headers: Pairs = (), **given: Any) -> Answer:
        """An answer, which is kept for the search."""
        told = self.place.ask(method, path, body, headers, **given)
        self.keep(f"{method} {path[:60]}", told)
        return told

    def keep(self, name: str, told: Answer) -> None:
        self.heap[f"{len(self.heap)} {name}"] = repr(told.headers).encode() + told.body

    def raw(self, data: str) -> None:
        told = self.place.send(data.encode("latin-1"))
        self.heap[f"{len(self.heap)} raw {data[:40]!r}"] = b"\n".join(told)

    def failed(self, model: str) -> None:
        """A turn that does not come to a good end, and everything that can be read of it."""
        session = self.place.session(self.who)
        told = self.ask("POST", f"/api/sessions/{session}/turns", {"prompt": "x", "model": model}, self.who)
        if told.status == 202:
            turn = told.json["id"]
            for path in (
                f"/api/turns/{turn}/events",
                f"/api/turns/{turn}",
                f"/api/sessions/{session}/messages",
            ):
                self.ask("GET", path, headers=self.who)
        for form in ("text", "markdown", "json"):
            self.ask("GET", f"/api/sessions/{session}/export?format={form}", headers=self.who)


@contextlib.contextmanager
def talkative(form: logs.Form) -> Iterator[io.StringIO]:
    """All logs there are, as they would be written; warnings too."""
    stream = io.StringIO()
    root = logging.getLogger()
    kept = root.handlers[:], root.level
    names = ("thinkaloud", "uvicorn", "asyncio", "aiohttp", "sqlalchemy")
    levels = {name: logging.getLogger(name).level for name in names}
    logs.set_up(form, stream)
    try:
        for name in ("", *names):
            logging.getLogger(name).setLevel(logging.DEBUG)
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            logging.captureWarnings(True)
            yield stream
    finally:
        logging.captureWarnings(False)
        root.handlers[:], root.level = kept
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def _entries(conn: Connection, turn: int) -> list[Entry]:
    """What a turn's log holds; in the file it is compressed."""
    return list(stored_entries(conn, turn))


def collected() -> InMemorySpanExporter:
    """All spans from now on; a process has one provider of them, whoever set it."""
    exporter = InMemorySpanExporter()
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter


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


def dead_row(reference: str) -> str:
    """A provider at a port where nobody listens, and one whose key is not there."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    row = 'dialect = "openai_chat"\nreplay = "none"\nlocal = true\n'
    row += 'fact = { as_of = "2026-11-16", source = "a test" }\n'
    return (
        f'[providers.dead]\n{row}base_url = "http://127.0.0.1:{port}/v1"\nkey = "{reference}"\n'
        f'[providers.keyless]\n{row}base_url = "http://127.0.0.1:{port}/v1"\nkey = "env:NO_SUCH_KEY"\n'
        f'[providers.slow]\n{row}base_url = "http://192.0.2.1:81/v1"\nkey = "{reference}"\n'
    )


@pytest.fixture(params=logs.Form)
def scene(request: pytest.FixtureRequest, tmp_path: Path, keys: dict[str, str]) -> Iterator[Scene]:
    """A gateway with the parrot and a simulator behind it; when it has stopped, all of it is searched."""
    spans, heap = collected(), dict[str, bytes]()
    limits = {"body_bytes": 50_000, "body_s": 0.3, "head_s": 0.3, "running_turns_per_user": 500}
    settings = quick(**limits, grace_s=0.1)
    secrets: dict[str, str] = {}
    with talkative(request.param) as stream, parrot.parrot() as url:
        rows = parrot.rows(url, keys) + dead_row(keys["parrot-chat"])
        models = {"vllm": Puppet(), "anthropic": Puppet()}
        with ground(tmp_path, models=models, settings=settings, routes=ROUTES_AND_BOOM, rows=rows) as place:
            person, gone = place.person("ana"), place.person("ben")
            place.write(lambda conn: people.revoke_token(conn, gone.token_id, 1))
            tokens = {"token": person.secret, "revoked": gone.secret, "start": place.token}
            secrets |= KEYS | SENT | tokens | {"unknown": new_start_token()}
            yield Scene(place, secrets, heap, person.headers)
            heap["rows"] = repr(place.everything()).encode()
            turns = place.read(lambda conn: conn.scalars(select(schema.turns.c.key)).all())
            heap["entries"] = repr([place.read(partial(_entries, turn=turn)) for turn in turns]).encode()
            for path in tmp_path.glob("thinkaloud.db*"):
                heap[f"{path.name} while it runs"] = path.read_bytes()
        for path in tmp_path.glob("thinkaloud.db*"):
            heap[path.name] = path.read_bytes()
        heap["log"] = stream.getvalue().encode()
    told = spans.get_finished_spans()
    assert told, "no span was collected"
    heap["spans"] = "\n".join(span.to_json() for span in told).encode()
    assert heap["log"].count(b"\n") > 100, "nothing was logged"
    assert not spilled(secrets, heap)


def test_no_secret_gets_out_when_a_provider_quotes_it(scene: Scene) -> None:
    """S5: in each of four dialects, with keys from all three kinds of places."""
    for provider in parrot.DIALECTS:
        for name in parrot.NAMES:
            scene.failed(f"{provider}/{name}")
    assert parrot.keys_heard >= {KEYS["env"], KEYS["credentials"], KEYS["file"]}
    for model in ("dead/m", "keyless/m", "anthropic/claude-opus-4-5", "no-such-model", f"{MODEL}-raw"):
        scene.failed(model)
    assert scene.ask("GET", "/api/models", headers=scene.who).status == 200


def test_no_secret_gets_out_of_the_door(scene: Scene) -> None:
    """Secrets in headers, addresses, bodies and broken requests, on every route and on none."""
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


def test_no_secret_gets_out_of_ordinary_days(scene: Scene) -> None:
    """What goes well, is cancelled, dropped, exported, imported, searched, counted, documented or stopped."""
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
    with talkative(logs.Form.TEXT) as stream, ground(tmp_path) as place:
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
