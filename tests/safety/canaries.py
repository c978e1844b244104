"""Secrets that are planted, and the search for them in everything that a gateway says, keeps and logs."""

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
from tests.safety import parrot
from tests.safety.ground import Answer, Ground, Pairs, Puppet, ground
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
    escaped = re.sub(r"[^A-Za-z0-9]", lambda sign: f"\\u{ord(sign[0]):04x}", secret).lower()
    for told in (secret.replace("/", "\\/").lower(), escaped):
        yield told.encode()
        yield told.replace("\\", "\\\\").encode()  # JSON that is quoted in JSON
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
def talkative() -> Iterator[io.StringIO]:
    """All logs there are, as they would be written in each form; warnings too."""
    stream = io.StringIO()
    root = logging.getLogger()
    kept = root.handlers[:], root.level
    names = ("thinkaloud", "uvicorn", "asyncio", "aiohttp", "sqlalchemy")
    levels = {name: logging.getLogger(name).level for name in names}
    handlers: list[logging.Handler] = []
    for form in logs.Form:
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
        root.handlers[:], root.level = kept
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def _entries(conn: Connection, turn: int) -> list[Entry]:
    """What a turn's log holds; in the file it is compressed."""
    return list(stored_entries(conn, turn))


@contextlib.contextmanager
def collected() -> Iterator[InMemorySpanExporter]:
    """All spans. A process has one provider of them for good, so it is only lent another for a while."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "get_tracer", provider.get_tracer)
        yield exporter


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


LIMITS = {"body_bytes": 50_000, "body_s": 2.0, "head_s": 2.0, "running_turns_per_user": 500}


@contextlib.contextmanager
def searched(folder: Path, keys: dict[str, str]) -> Iterator[Scene]:
    """A gateway with the parrot and simulators behind it; when it has stopped, everything is searched."""
    heap: dict[str, bytes] = {}
    secrets = KEYS | SENT | {"unknown": new_start_token()}
    models = {"vllm": Puppet(), "anthropic": Puppet()}
    with talkative() as stream, parrot.parrot() as url, collected() as spans:
        rows = parrot.rows(url, keys) + dead_row(keys["parrot-chat"])
        settings = quick(**LIMITS, grace_s=0.1)
        with ground(folder, models=models, settings=settings, routes=ROUTES_AND_BOOM, rows=rows) as place:
            person, gone = place.person("ana"), place.person("ben")
            place.write(lambda conn: people.revoke_token(conn, gone.token_id, 1))
            secrets |= {"token": person.secret, "revoked": gone.secret, "start": place.token}
            yield Scene(place, secrets, heap, person.headers)
            heap["rows"] = repr(place.everything()).encode()
            turns = place.read(lambda conn: conn.scalars(select(schema.turns.c.key)).all())
            heap["entries"] = repr([place.read(partial(_entries, turn=turn)) for turn in turns]).encode()
            heap |= {f"{path.name}, running": path.read_bytes() for path in folder.glob("thinkaloud.db*")}
        heap |= {path.name: path.read_bytes() for path in folder.glob("thinkaloud.db*")}
        heap["log"] = stream.getvalue().encode()
    told = spans.get_finished_spans()
    assert told or not turns, "no span was collected"
    heap["spans"] = "\n".join(span.to_json() for span in told).encode()
    lines = heap["log"].splitlines()
    as_json = sum(line.startswith(b'{"at":') for line in lines)
    assert min(as_json, len(lines) - as_json) > 100, "nothing was logged"
    found = spilled(secrets, heap)
    assert not found, "\n".join(map(str, found[:20]))
