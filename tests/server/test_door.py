"""The door: the same checks in the same order for every request, and an answer to whatever happens inside."""

import asyncio
import gc
import json
import logging
import select
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import uvloop
from tests.patience import PATIENCE_S
from tests.server.house import JSON, TABLE, Headers, House, house, read

from thinkaloud.catalog import builtin
from thinkaloud.server.access import Entrance
from thinkaloud.server.bounded_http import BoundedHttp
from thinkaloud.server.door import POLICY, application
from thinkaloud.server.gateway import Gateway, Settings
from thinkaloud.server.limits import Limits
from thinkaloud.server.routing import Granted, Route
from thinkaloud.store.sqlite import opened

MOST = 20_000
SMALL = Limits(body_bytes=MOST, header_bytes=4096, head_s=PATIENCE_S, body_s=PATIENCE_S)
HASTY = Limits(head_s=1.0, body_s=1.0)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A gateway of small limits."""
    with house(tmp_path_factory.mktemp("small"), settings=Settings(limits=SMALL)) as found:
        yield found


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A gateway that waits a second for a request, which is enough for one sent at once."""
    with house(tmp_path_factory.mktemp("hasty"), settings=Settings(limits=HASTY)) as found:
        yield found


CHUNKED = (
    b"POST /say HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
SAFETY = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/who", 200),
        ("HEAD", "/who", 200),
        ("OPTIONS", "/who", 204),
        ("DELETE", "/end", 204),
        ("GET", "/plain", 200),
        ("GET", "/nowhere", 404),
        ("PATCH", "/who", 405),
        ("GET", "/boom", 500),
        ("GET", "/who?x=1", 400),
    ],
)
def test_every_answer_is_safe_to_have_in_a_browser(
    method: str, path: str, status: int, small: House, caplog: pytest.LogCaptureFixture
) -> None:
    told = small.ask(path, method=method)
    assert told.status == status
    assert {name: told.headers.get(name) for name in SAFETY} == SAFETY
    assert not [name for name in told.headers if name.startswith("access-control")]
    assert "server" not in told.headers


def test_the_policy_lets_nothing_in_from_elsewhere() -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in POLICY.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["frame-ancestors"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert not [rule for rule in rules.values() if "unsafe" in rule or "*" in rule or "http" in rule]


def test_unknown_paths_and_methods_are_told_apart(small: House) -> None:
    assert small.ask("/nowhere").code == "not_found"
    for path in ("/who/", "//who", "/who/x", "/WHO", "/who%2f", "/of/", "/of/a/b"):
        assert small.ask(path).status == 404, path
    told = small.ask("/who", method="PUT")
    assert (told.status, told.code, told.headers["allow"]) == (
        405,
        "method_not_allowed",
        "GET, HEAD, OPTIONS, POST",
    )
    assert small.ask("/end", method="OPTIONS").headers["allow"] == "DELETE, OPTIONS"


def test_head_is_get_without_the_body(small: House) -> None:
    got, headed = small.ask("/who"), small.ask("/plain", method="HEAD")
    assert got.json["user"] == "local"
    assert (headed.status, headed.headers["content-length"]) == (200, "4")
    with small.connected() as connection:
        for method in ("HEAD", "GET"):
            connection.sendall(f"{method} /plain HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        data = b""
        while data.count(b"HTTP/1.1 200") < 2 or not data.endswith(b"text"):
            data += connection.recv(65536)
        assert data.count(b"text") == 1 + data.count(b"text/plain")


def test_a_reply_keeps_its_own_headers(small: House) -> None:
    told = small.ask("/plain")
    assert (told.headers["x-note"], told.headers["content-type"]) == ("kept", "text/plain; charset=utf-8")
    assert told.body == b"text"


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/ask?q=a", 200, ""),
        ("/ask?q=%C3%A9%20b&most=7", 200, ""),
        ("/ask?q=", 200, ""),
        ("/ask", 400, "q"),
        ("/ask?most=3", 400, "q"),
        ("/ask?q=a&most=x", 400, "most"),
        ("/ask?q=a&most=1.5", 400, "most"),
        ("/ask?q=a&q=a", 400, "twice"),
        ("/ask?q=a&other=1", 400, "other"),
        ("/ask?q=%ff", 400, "UTF-8"),
        ("/ask?" + "&".join(f"x{number}=1" for number in range(30)), 400, "too long"),
        ("/who?q=a", 400, "none"),
    ],
)
def test_a_query_is_exactly_what_the_route_takes(path: str, status: int, words: str, small: House) -> None:
    told = small.ask(path)
    assert told.status == status
    assert words in told.body.decode()


def test_a_query_is_typed(small: House) -> None:
    assert small.ask("/ask?q=%C3%A9%20b&most=7").json == {"text": "é b", "count": 7}
    assert small.ask("/ask?q=a+b").json == {"text": "a b", "count": 3}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"text": "a", "count": 2}', 200),
        (b"{}", 200),
        (b"", 400),
        (b"{", 400),
        (b"[]", 422),
        (b"null", 422),
        (b'{"text": 1}', 422),
        (b'{"count": "2"}', 422),
        (b'{"text": "a", "more": 1}', 422),
        (b'{"text": "\xff"}', 400),
        (b'{"text": "a"} {}', 400),
    ],
)
def test_a_body_is_exactly_what_the_route_takes(body: bytes, status: int, small: House) -> None:
    told = small.ask("/say", [JSON], method="POST", body=body)
    assert told.status == status
    if status >= 400:
        assert told.code in ("bad_request", "unprocessable")


@pytest.mark.parametrize("nested", [b"[" * 9000 + b"]" * 9000, b"[" * 9000, b'{"a":' * 3000])
def test_what_is_nested_without_end_is_refused(nested: bytes, small: House) -> None:
    told = small.ask("/any", [JSON], method="POST", body=b'{"value":' + nested + b"}")
    assert (told.status, told.code) == (400, "bad_request")
    assert small.ask("/any", [JSON], method="POST", body=b'{"value":[[{}]]}').status == 200


@pytest.mark.parametrize(
    ("body", "status"), [(None, 200), (b"", 200), (b"{}", 200), (b'{"a":1}', 422), (b"x", 400)]
)
def test_a_route_without_a_body_takes_none(body: bytes | None, status: int, small: House) -> None:
    assert small.ask("/who", [JSON], method="POST", body=body).status == status


@pytest.mark.parametrize("path", ["/say", "/who"])
@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Content-Type", "text/plain")],
        [("Content-Type", "application/x-www-form-urlencoded")],
        [("Content-Type", "multipart/form-data; boundary=x")],
        [("Content-Type", "text/plain; application/json")],
        [("Content-Type", "application/json-patch+json")],
        [("Content-Type", "application/json; charset=utf-16")],
        [("Content-Type", "application/json, text/plain")],
        [("Content-Type", "*/*")],
        [("Content-Type", "")],
        [JSON, ("Content-Encoding", "gzip")],
    ],
)
def test_a_body_says_that_it_is_json(path: str, headers: Headers, small: House) -> None:
    """A form or a text can be sent by any page without asking; JSON cannot."""
    told = small.ask(path, headers, method="POST", body=b"{}")
    assert (told.status, told.code) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
    ],
)
def test_json_may_be_spelt_as_it_is_spelt(content_type: str, small: House) -> None:
    assert small.ask("/say", [("Content-Type", content_type)], method="POST", body=b"{}").status == 200


def test_a_route_may_read_more_than_json(small: House) -> None:
    told = small.ask("/take", [("Content-Type", "text/markdown")], method="POST", body="# é".encode())
    assert told.json == {"text": "# é", "count": 4}
    assert small.ask("/take", [JSON], method="POST", body=b"[1]").json == {"text": "[1]", "count": 3}
    assert small.ask("/take", [("Content-Type", "text/html")], method="POST", body=b"x").status == 415


def _json_of(size: int) -> bytes:
    return b'{"text":"' + b"x" * (size - 11) + b'"}'


def _declaring(length: str) -> bytes:
    """A head that says how long its body will be."""
    head = "POST /say HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {length}\r\n\r\n".encode()


def _chunked(body: bytes, size: int) -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


@pytest.mark.parametrize(("size", "status"), [(MOST - 1, 200), (MOST, 200), (MOST + 1, 413)])
def test_the_limit_of_a_body_is_exact(size: int, status: int, small: House) -> None:
    assert small.ask("/say", [JSON], method="POST", body=_json_of(size)).status == status
    for piece in (70, 4000, 40_000):
        headers = [JSON, ("Transfer-Encoding", "chunked")]
        told = small.ask("/say", headers, method="POST", body=_chunked(_json_of(size), piece))
        assert told.status == status, piece


def test_a_body_declared_too_large_is_not_read(small: House) -> None:
    """The answer is there although not one byte of the body was sent."""
    for length in (str(MOST + 1), "99999999999", "9" * 18):
        told = small.send(_declaring(length))
        assert (told.status, told.code) == (413, "too_large")


def test_a_body_without_end_is_answered_at_the_limit(small: House) -> None:
    with small.connected() as connection:
        connection.sendall(CHUNKED)
        for _ in range(21):
            connection.sendall(b"3e8\r\n" + b"x" * 1000 + b"\r\n")
        assert read(connection).status == 413


def test_expect_is_answered_only_where_the_body_is_wanted(small: House) -> None:
    def asked(length: int) -> bytes:
        with small.connected() as connection:
            connection.sendall(_declaring(f"{length}\r\nExpect: 100-continue"))
            return connection.recv(65536)

    assert asked(2) == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert asked(MOST + 1).startswith(b"HTTP/1.1 413 ")


def test_a_body_that_does_not_come_is_given_up(hasty: House) -> None:
    told = hasty.send(_declaring("9") + b"{")
    assert (told.status, told.code, told.headers["connection"]) == (408, "too_slow", "close")


def test_who_was_refused_may_finish_sending_but_not_for_ever(small: House, hasty: House) -> None:
    """The rest of a refused body is let pass, so that the answer is read; then the connection is free."""
    head = _declaring("15000").replace(b"application/json", b"text/plain")
    with small.connected() as connection:
        connection.sendall(head + b"x" * 10_000)
        assert read(connection).status == 415
        connection.sendall(b"x" * 5_000 + b"GET /who HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert read(connection).status == 200
    with hasty.connected() as connection:
        begun = time.monotonic()
        connection.sendall(head + b"x")
        assert read(connection).status == 415
        assert connection.recv(10) == b""
        assert time.monotonic() - begun > 0.5


def test_a_sender_who_leaves_costs_nothing(small: House) -> None:
    with small.connected() as connection:
        connection.sendall(_declaring("9") + b"{")
    assert small.ask("/who").status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("X-A", "a" * 100), ("X-A", "b")], 200),
        ([("Cookie", "a=1"), ("Cookie", "b=2")], 200),
        ([("Accept", "text/html, */*;q=0.1")], 200),
        ([("X-Latin", "caf\xe9")], 200),
        ([("X-Empty", "")], 200),
        ([("X-Tab", "a\tb")], 200),
        ([("Upgrade", "websocket"), ("Connection", "Upgrade")], 200),
        ([("Upgrade", "h2c"), ("Connection", "Upgrade, HTTP2-Settings")], 200),
        ([("Connection", "close")], 200),
        ([("Range", "bytes=0-1")], 200),
        ([("If-None-Match", "*")], 200),
        ([("X-HTTP-Method-Override", "DELETE")], 200),
        ([("X-Original-URL", "/boom"), ("X-Rewrite-URL", "/boom")], 200),
        ([("Content-Type", "text/plain")], 200),
        ([("Content-Length", "0")], 200),
        ([("Host", "localhost")], 400),
        ([("Origin", "http://localhost"), ("Origin", "http://localhost")], 400),
        ([("Content-Type", "application/json"), ("Content-Type", "text/plain")], 400),
        ([("Thinkaloud-Workspace", "a"), ("Thinkaloud-Workspace", "b")], 400),
        ([("Idempotency-Key", "a"), ("Idempotency-Key", "b")], 400),
        ([("Last-Event-ID", "1"), ("Last-Event-ID", "2")], 400),
        ([("Content-Length", "0"), ("Content-Length", "1")], 400),
        ([("Content-Length", "-1")], 400),
        ([("Content-Length", "0x2")], 400),
        ([("Content-Length", "+2")], 400),
        ([("Content-Length", "1e3")], 400),
        ([("Transfer-Encoding", "chunked"), ("Content-Length", "3")], 400),
        ([("Transfer-Encoding", "gzip, chunked, identity")], 400),
        ([("X Space", "a")], 400),
        ([("X-Nul", "a\0b")], 400),
        ([("X-Folded", "a\r\n b")], 400),
        ([("X-Bare", "a\rb")], 400),
        ([("", "a")], 400),
        ([("X-Long", "a" * 4096)], 431),
        ([(f"X-{number}", "a" * 90) for number in range(45)], 431),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_headers_of_all_kinds(headers: Headers, status: int, small: House) -> None:
    told = small.ask("/who", headers)
    assert told.status == status
    assert told.headers["content-security-policy"] == POLICY


@pytest.mark.parametrize("name", ["X-Pad", "Cookie"])
def test_the_limit_of_headers_is_exact(name: str, small: House) -> None:
    """The path and each name and value count, with the four characters around them."""
    host = f"localhost:{small.port}"
    around = len("/who") + len("Host") + len(host) + 4 + len(name) + 4
    for size, status in ((4095, 200), (4096, 200), (4097, 431)):
        told = small.ask("/who", [(name, "a" * (size - around))])
        assert told.status == status, size
    assert small.ask("/ask?q=" + "a" * 4096).status == 431


@pytest.mark.parametrize(
    ("begun", "more"),
    [
        (b"GET /who HTTP/1.1\r\nHost: localhost\r\nX: ", b"a" * 1000),
        (b"GET /", b"a" * 1000),
        (b"GET /who HTTP/1.1\r\n", b"X: a\r\n" * 150),
        (CHUNKED + b"2\r\n{}\r\n0\r\n", b"T: a\r\n" * 150),
        (CHUNKED + b"2\r\n{}\r\n0\r\nT: ", b"a" * 1000),
        (CHUNKED + b"2", b";a=" + b"b" * 1000),
    ],
    ids=["header", "path", "headers", "trailers", "trailer", "chunk extension"],
)
def test_what_comes_to_nothing_is_cut_off(begun: bytes, more: bytes, small: House) -> None:
    """Headers, addresses, trailers and extensions without end do not fill the memory."""
    with small.connected() as connection:
        connection.sendall(begun)
        for _ in range(7):
            connection.sendall(more)
            if select.select([connection], [], [], 0.03)[0]:
                break
        assert read(connection).status == 431


def test_a_slow_head_is_given_up(hasty: House) -> None:
    told = hasty.send(b"GET /who HTTP/1.1\r\nHost: loc")
    assert (told.status, told.code) == (408, "too_slow")
    with hasty.connected() as connection:
        connection.sendall(b"GET /who HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert read(connection).status == 200
        connection.sendall(b"GET /w")
        assert read(connection).status == 408
    with hasty.connected() as connection:
        assert read(connection).status == 408


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"hello\r\n\r\n",
        b"GET /who\r\n\r\n",
        b"GET /who HTTP/9.9\r\n\r\n",
        b"BREW /who HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /wh\xe9 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_what_is_not_http_is_refused_in_our_words(data: bytes, small: House) -> None:
    told = small.send(data)
    assert (told.status, told.code) == (400, "bad_request")
    assert told.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_connections_are_kept_and_nothing_waits_for_more_to_send(
    new_loop: Callable[[], asyncio.AbstractEventLoop], tmp_path: Path
) -> None:
    with house(tmp_path, loop_factory=new_loop) as found, found.connected() as connection:
        for _ in range(3):
            connection.sendall(b"GET /who HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert read(connection).status == 200
        port = connection.getsockname()[1]
        connections = [one for one in gc.get_objects() if isinstance(one, BoundedHttp)]
        [taken] = [one for one in connections if one.client == ("127.0.0.1", port)]
        kept = taken.transport.get_extra_info("socket")
        assert kept.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_an_unexpected_error_is_told_once_and_shows_nothing_of_the_inside(
    small: House, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "thinkaloud"):
        told = small.ask("/boom")
    assert (told.status, told.code) == (500, "internal")
    number = told.json["error"]["id"]
    assert number in told.json["error"]["message"]
    for inside in ("SELECT", "RuntimeError", "Traceback", "house.py", "tka_"):
        assert inside not in told.body.decode()
    [record] = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert (getattr(record, "error_id", ""), record.exc_info is not None) == (number, True)
    assert small.ask("/who").status == 200


def test_one_line_per_request_without_paths_queries_or_secrets(
    small: House, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "thinkaloud.requests"):
        small.ask("/ask?q=canary", [("Authorization", f"Bearer {small.token}"), ("X-Note", "canary")])
        small.ask("/canary")
        small.ask("/of/canary")
        lines = _lines(caplog, "/of/{session}")[-3:]
    told = [(line["method"], line["route"], line["status"], line["message"]) for line in lines]
    assert told == [
        ("GET", "/ask", 200, "GET /ask 200"),
        ("GET", "", 404, "unmatched 404"),
        ("GET", "/of/{session}", 404, "GET /of/{session} 404"),
    ]
    assert lines[0]["user"].startswith("usr_")
    assert all(line["ms"] > 0 for line in lines)
    assert not [line for line in lines if "canary" in repr(line) or small.token in repr(line)]
    page = small.gateway.metrics.text().decode()
    assert 'thinkaloud_requests_total{route="unmatched",status="404"}' in page
    assert "canary" not in page


def _lines(caplog: pytest.LogCaptureFixture, last: str) -> list[dict[str, Any]]:
    """The lines of requests, once the last one is there: it is written after the answer was sent."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        lines = [vars(record) for record in caplog.records if record.name == "thinkaloud.requests"]
        if lines and lines[-1]["route"] == last:
            return lines
        time.sleep(0.01)
    raise AssertionError(f"no line for {last}")


def test_a_table_that_would_take_unknown_fields_is_refused() -> None:
    class Loose(msgspec.Struct, frozen=True):
        text: str = ""

    for taken in ({"body": Loose}, {"query": Loose}):
        route = Route(method="POST", path="/loose", handler=None, summary="", **taken)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="Loose of /loose"):
            application(_Inside(), Entrance(), (route,))  # type: ignore[arg-type]


class _Inside:
    """As much of a gateway as the door looks at before anybody comes."""

    settings = Settings()


Sent = list[dict[str, Any]]
STREAMS = Route(method="GET", path="/stream", handler=None, summary="")


async def _asked(path: Path, stream: Any, method: str = "GET", host: bytes = b"localhost") -> Sent:
    """What the door sends for a stream, in the very process."""
    sent: Sent = []

    async def send(message: Any) -> None:
        sent.append(dict(message))

    async def receive() -> Any:
        await asyncio.sleep(30)

    async with opened(path) as database, Gateway(database, builtin()) as gateway:
        door = application(gateway, Entrance(), (STREAMS,), stream)
        scope = {
            "type": "http",
            "method": method,
            "path": "/stream",
            "raw_path": b"/stream",
            "query_string": b"",
            "headers": [(b"host", host)],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 1),
        }
        await door(scope, receive, send)
    return sent


async def _stream(gateway: Any, granted: Granted, query: Any, headers: Any, receive: Any, send: Any) -> None:
    assert granted.user is not None
    assert headers["host"] == "localhost"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"cache-control", b"no-cache")]})
    await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def test_a_stream_sends_itself_behind_the_same_checks(tmp_path: Path) -> None:
    start, *rest = asyncio.run(_asked(tmp_path / "a.db", _stream))
    headers = dict(start["headers"])
    assert (start["status"], headers[b"content-security-policy"]) == (200, POLICY.encode())
    assert headers[b"cache-control"] == b"no-cache"
    assert [message["body"] for message in rest] == [b"data: 1\n\n", b""]
    [refused, body] = asyncio.run(_asked(tmp_path / "a.db", _stream, host=b"evil.example"))
    assert refused["status"] == 421
    assert json.loads(body["body"])["error"]["code"] == "misdirected"


def test_head_of_a_stream_does_not_stream(tmp_path: Path) -> None:
    start, body = asyncio.run(_asked(tmp_path / "a.db", _stream, method="HEAD"))
    assert dict(start["headers"])[b"content-type"] == b"text/event-stream; charset=utf-8"
    assert body["body"] == b""


def test_a_stream_that_breaks_ends_without_a_second_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def breaks(gateway: Any, granted: Any, query: Any, headers: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("in the middle")

    sent = asyncio.run(_asked(tmp_path / "a.db", breaks))
    assert [message["type"] for message in sent] == ["http.response.start"]
    [record] = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert record.exc_info is not None


def test_only_http_is_served(tmp_path: Path) -> None:
    door = application(_Inside(), Entrance(), TABLE)  # type: ignore[arg-type]
    for kind in ("websocket", "lifespan"):
        with pytest.raises(ValueError, match=kind):
            asyncio.run(door({"type": kind}, None, None))  # type: ignore[arg-type]
