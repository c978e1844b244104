"""Planted secrets, and the search for them in all output, storage and logs of a gateway."""

import base64
import contextlib
import io
import logging
import re
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
from sqlalchemy import Connection, select
from tests.safety import key_echo
from tests.safety.gateway_under_test import GatewayUnderTest, HttpResponse, Pairs, PromptScript, run_gateway
from tests.server.caller import quick_settings

from thinkaloud.core.canon import Entry
from thinkaloud.gateway.server import logs
from thinkaloud.gateway.server.http.auth import new_start_token
from thinkaloud.gateway.server.http.route import ApiRoute, RouteRequest
from thinkaloud.gateway.server.http.routes import ROUTES
from thinkaloud.gateway.store import schema
from thinkaloud.gateway.store.log.archive import decode_entries, log_lines
from thinkaloud.gateway.store.queries import users

PROVIDER_KEYS = {
    "env": "CaNaRy-env-7Qz/4mK+x9Lw=2Vb8Nd5Rt",
    "credentials": "CaNaRy-crd-3Hs/8pJ+u6Yf=1Gk7Ce4Ma",
    "file": "CaNaRy-fil-5Wd/2nB+t8Xq=9Zj3Ph6Lv",
    "proxy": "CaNaRy-prx-6Tg8Rk2Ns4Vx",
}
"""API keys that do not look like keys, so that no redaction pattern hides them."""
SENT_SECRETS = {
    "bearer": "CaNaRy-hdr-9Fv/1cT+i7Ow=4Ey6Ub2Ak",
    "basic": "CaNaRy-bsc-8Dx/6zQ+r3Mh=5Ln1Sj7Gp",
    "cookie": "CaNaRy-cok-2Bu/9eI+w4Kt=7Vf5Rc8Xa",
    "query": "CaNaRy-qry-4Np6Yd8Js1Zh3Wl",
    "body": "CaNaRy-bdy-7Gm1Cx3Fq9Tb5Ve",
}
"""Secrets that a client sends by mistake."""
PART_LENGTH = 12
"""A leak is at least this many characters of a secret in a row."""


class Leak(NamedTuple):
    """The place where a secret was found."""

    source: str
    secret: str
    excerpt: str


def encoded_forms(secret: str) -> Iterator[bytes]:
    """Yield every part of a secret, plain and encoded."""
    for start in range(len(secret) - PART_LENGTH + 1):
        yield secret[start : start + PART_LENGTH].lower().encode()
    yield secret.encode("utf-16-le").lower()
    yield secret.encode().hex().encode()
    yield quote(secret, safe="").lower().encode()
    escaped = re.sub(r"[^A-Za-z0-9]", lambda sign: f"\\u{ord(sign[0]):04x}", secret).lower()
    for variant in (secret.replace("/", "\\/").lower(), escaped):
        yield variant.encode()
        yield variant.replace("\\", "\\\\").encode()  # JSON that is quoted in JSON
    for lead in range(3):
        encoded = base64.b64encode(b"\0" * lead + secret.encode())[4 if lead else 0 : -4]
        yield encoded.lower()


def find_leaks(secrets: dict[str, str], outputs: dict[str, bytes]) -> list[Leak]:
    """Return all leaks of the secrets in these outputs."""
    leaks = []
    forms = {name: list(encoded_forms(secret)) for name, secret in secrets.items()}
    for source, data in outputs.items():
        lowered = data.lower()
        for name in secrets:
            if hits := [lowered.find(form) for form in forms[name] if form in lowered]:
                leaks.append(Leak(source, name, repr(data[max(0, hits[0] - 80) : hits[0] + 60])))
    return leaks


async def raise_with_secrets(request: RouteRequest) -> None:
    """Raise an exception chain and a warning that contain secrets, as a library might."""
    headers = {"Authorization": f"Bearer {PROVIDER_KEYS['env']}", "X-Api-Key": PROVIDER_KEYS["credentials"]}
    warnings.warn(f"x-goog-api-key: {PROVIDER_KEYS['file']}", ResourceWarning, stacklevel=1)
    logging.getLogger("some.library").debug("sending %r", headers)
    try:
        raise ValueError(f"invalid headers {headers}")
    except ValueError as error:
        raise RuntimeError(
            f"api_key={PROVIDER_KEYS['file']!r} for {request.headers.get('authorization')}"
        ) from error


ROUTES_WITH_ERROR = (
    *ROUTES,
    ApiRoute(method="GET", path="/boom", handler=raise_with_secrets, summary="", status=204),
)


class LeakCheck(NamedTuple):
    """The outputs to search, and the secrets that must not be in them."""

    gateway: GatewayUnderTest
    secrets: dict[str, str]
    outputs: dict[str, bytes]
    credentials: list[tuple[str, str]]

    def request(
        self, method: str, path: str, body: Any = None, headers: Pairs = (), **options: Any
    ) -> HttpResponse:
        """Send a request and record the response for the search."""
        response = self.gateway.request(method, path, body, headers, **options)
        self.record(f"{method} {path[:60]}", response)
        return response

    def record(self, name: str, response: HttpResponse) -> None:
        self.outputs[f"{len(self.outputs)} {name}"] = repr(response.headers).encode() + response.body

    def send_raw(self, data: str) -> None:
        heads = self.gateway.send(data.encode("latin-1"))
        self.outputs[f"{len(self.outputs)} raw {data[:40]!r}"] = b"\n".join(heads)

    def run_failing_turn(self, model: str) -> None:
        """Run a turn that fails, and record everything readable about it."""
        session = self.gateway.create_session(self.credentials)
        response = self.request(
            "POST", f"/api/sessions/{session}/turns", {"prompt": "x", "model": model}, self.credentials
        )
        if response.status == 202:
            turn = response.json["id"]
            for path in (
                f"/api/turns/{turn}/events",
                f"/api/turns/{turn}",
                f"/api/sessions/{session}/messages",
            ):
                self.request("GET", path, headers=self.credentials)
        for form in ("text", "markdown", "json"):
            self.request("GET", f"/api/sessions/{session}/export?format={form}", headers=self.credentials)


@contextlib.contextmanager
def capture_logs() -> Iterator[io.StringIO]:
    """Capture all logs and warnings in both formats."""
    stream = io.StringIO()
    root = logging.getLogger()
    previous = root.handlers[:], root.level
    names = ("thinkaloud", "uvicorn", "asyncio", "aiohttp", "sqlalchemy")
    levels = {name: logging.getLogger(name).level for name in names}
    handlers: list[logging.Handler] = []
    for form in logs.LogFormat:
        logs.set_up(form, stream)
        handlers += root.handlers
    root.handlers[:] = handlers
    try:
        for name in ("", *names):
            logging.getLogger(name).setLevel(logging.DEBUG)
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            logging.captureWarnings(True)
            yield stream
    finally:
        logging.captureWarnings(False)
        root.handlers[:], root.level = previous
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def _turn_entries(conn: Connection, turn: int) -> list[Entry]:
    """Return the log of a turn. In the database file it is compressed."""
    return list(decode_entries(log_lines(conn, turn)))


@contextlib.contextmanager
def collect_spans() -> Iterator[InMemorySpanExporter]:
    """Collect all spans. A process has one tracer provider, so it is swapped for a while."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "get_tracer", provider.get_tracer)
        yield exporter


def unreachable_rows(reference: str) -> str:
    """Return rows of an unreachable provider and of one without an API key."""
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


LIMITS = {"body_bytes": 50_000, "body_s": 2.0, "head_s": 2.0, "running_turns_per_user": 500}


@contextlib.contextmanager
def check_for_leaks(folder: Path, keys: dict[str, str]) -> Iterator[LeakCheck]:
    """Run a gateway with the echoing provider and simulators, and search everything after it stopped."""
    outputs: dict[str, bytes] = {}
    secrets = PROVIDER_KEYS | SENT_SECRETS | {"unknown": new_start_token()}
    models = {"vllm": PromptScript(), "anthropic": PromptScript()}
    with capture_logs() as stream, key_echo.run_key_echo() as url, collect_spans() as spans:
        rows = key_echo.catalog_rows(url, keys) + unreachable_rows(keys["parrot-chat"])
        settings = quick_settings(**LIMITS, grace_s=0.1)
        with run_gateway(
            folder, models=models, settings=settings, routes=ROUTES_WITH_ERROR, rows=rows
        ) as gateway:
            person, revoked_person = gateway.create_person("ana"), gateway.create_person("ben")
            gateway.write(lambda conn: users.revoke_token(conn, revoked_person.token_id, 1))
            secrets |= {"token": person.secret, "revoked": revoked_person.secret, "start": gateway.token}
            yield LeakCheck(gateway, secrets, outputs, person.headers)
            outputs["rows"] = repr(gateway.all_rows()).encode()
            turns = gateway.read(lambda conn: conn.scalars(select(schema.turns.c.key)).all())
            outputs["entries"] = repr(
                [gateway.read(partial(_turn_entries, turn=turn)) for turn in turns]
            ).encode()
            outputs |= {f"{path.name}, running": path.read_bytes() for path in folder.glob("thinkaloud.db*")}
        outputs |= {path.name: path.read_bytes() for path in folder.glob("thinkaloud.db*")}
        outputs["log"] = stream.getvalue().encode()
    finished_spans = spans.get_finished_spans()
    assert finished_spans or not turns, "no span was collected"
    outputs["spans"] = "\n".join(span.to_json() for span in finished_spans).encode()
    lines = outputs["log"].splitlines()
    as_json = sum(line.startswith(b'{"at":') for line in lines)
    assert min(as_json, len(lines) - as_json) > 100, "nothing was logged"
    leaks = find_leaks(secrets, outputs)
    assert not leaks, "\n".join(map(str, leaks[:20]))
