"""The ASGI application: the same checks for every request, and a response to every error."""

import asyncio
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
from tests.server.gateway_thread import JSON, TEST_ROUTES, GatewayThread, Headers, read_response, run_gateway

from thinkaloud.core.catalog import builtin_catalog
from thinkaloud.gateway.server.gateway import Gateway, Settings
from thinkaloud.gateway.server.http.app import CSP, create_app
from thinkaloud.gateway.server.http.auth import ListenConfig
from thinkaloud.gateway.server.http.http_limits import LimitedHttpProtocol
from thinkaloud.gateway.server.http.limits import GatewayLimits
from thinkaloud.gateway.server.http.route import ApiRoute, Grant
from thinkaloud.gateway.store.engine.sqlite import open_database

MAX_BODY_BYTES = 60_000
DEEP = 25_000
"""Levels of nesting. Every Python refuses more than 10,000, some fewer."""
SMALL_LIMITS = GatewayLimits(
    body_bytes=MAX_BODY_BYTES, header_bytes=4096, head_s=PATIENCE_S, body_s=PATIENCE_S
)
SHORT_TIMEOUTS = GatewayLimits(head_s=1.0, body_s=1.0)


@pytest.fixture(scope="module")
def limited_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayThread]:
    """A gateway with small limits."""
    with run_gateway(tmp_path_factory.mktemp("small"), settings=Settings(limits=SMALL_LIMITS)) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def hasty_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayThread]:
    """A gateway that waits a second for a request, which is enough for one sent at once."""
    with run_gateway(tmp_path_factory.mktemp("hasty"), settings=Settings(limits=SHORT_TIMEOUTS)) as gateway:
        yield gateway


CHUNKED = (
    b"POST /say HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
SECURITY_HEADERS = {
    "content-security-policy": CSP,
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
def test_every_response_has_security_headers(
    method: str, path: str, status: int, limited_gateway: GatewayThread, caplog: pytest.LogCaptureFixture
) -> None:
    response = limited_gateway.request(path, method=method)
    assert response.status == status
    assert {name: response.headers.get(name) for name in SECURITY_HEADERS} == SECURITY_HEADERS
    assert not [name for name in response.headers if name.startswith("access-control")]
    assert "server" not in response.headers


def test_csp_allows_no_other_origin() -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in CSP.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["frame-ancestors"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert not [rule for rule in rules.values() if "unsafe" in rule or "*" in rule or "http" in rule]


def test_unknown_path_is_404_and_unknown_method_405(limited_gateway: GatewayThread) -> None:
    assert limited_gateway.request("/nowhere").code == "not_found"
    for path in ("/who/", "//who", "/who/x", "/WHO", "/who%2f", "/of/", "/of/a/b"):
        assert limited_gateway.request(path).status == 404, path
    response = limited_gateway.request("/who", method="PUT")
    assert (response.status, response.code, response.headers["allow"]) == (
        405,
        "method_not_allowed",
        "GET, HEAD, OPTIONS, POST",
    )
    assert limited_gateway.request("/end", method="OPTIONS").headers["allow"] == "DELETE, OPTIONS"


def test_head_responds_like_get_without_body(limited_gateway: GatewayThread) -> None:
    got, headed = limited_gateway.request("/who"), limited_gateway.request("/plain", method="HEAD")
    assert got.json["user"] == "local"
    assert (headed.status, headed.headers["content-length"]) == (200, "4")
    with limited_gateway.connect() as connection:
        for method in ("HEAD", "GET"):
            connection.sendall(f"{method} /plain HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        data = b""
        while data.count(b"HTTP/1.1 200") < 2 or not data.endswith(b"text"):
            data += connection.recv(65536)
        assert data.count(b"text") == 1 + data.count(b"text/plain")


def test_response_keeps_its_own_headers(limited_gateway: GatewayThread) -> None:
    response = limited_gateway.request("/plain")
    assert (response.headers["x-note"], response.headers["content-type"]) == (
        "kept",
        "text/plain; charset=utf-8",
    )
    assert response.body == b"text"


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
        ("/ask?" + "&".join(f"x{number}=1" for number in range(30)), 400, "more than 20 parameters"),
        ("/who?q=a", 400, "none"),
    ],
)
def test_invalid_query_parameters_are_refused(
    path: str, status: int, words: str, limited_gateway: GatewayThread
) -> None:
    response = limited_gateway.request(path)
    assert response.status == status
    assert words in response.body.decode()


def test_query_parameters_are_typed(limited_gateway: GatewayThread) -> None:
    assert limited_gateway.request("/ask?q=%C3%A9%20b&most=7").json == {"text": "é b", "count": 7}
    assert limited_gateway.request("/ask?q=a+b").json == {"text": "a b", "count": 3}


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
def test_invalid_bodies_are_refused(body: bytes, status: int, limited_gateway: GatewayThread) -> None:
    response = limited_gateway.request("/say", [JSON], method="POST", body=body)
    assert response.status == status
    if status >= 400:
        assert response.code in ("bad_request", "unprocessable")


@pytest.mark.parametrize("nested", [b"[" * DEEP + b"]" * DEEP, b"[" * DEEP, b'{"a":' * 3000])
def test_deeply_nested_body_is_refused(nested: bytes, limited_gateway: GatewayThread) -> None:
    response = limited_gateway.request("/any", [JSON], method="POST", body=b'{"value":' + nested + b"}")
    assert (response.status, response.code) == (400, "bad_request")
    assert limited_gateway.request("/any", [JSON], method="POST", body=b'{"value":[[{}]]}').status == 200


@pytest.mark.parametrize(
    ("body", "status"), [(None, 200), (b"", 200), (b"{}", 200), (b'{"a":1}', 422), (b"x", 400)]
)
def test_route_without_body_refuses_one(
    body: bytes | None, status: int, limited_gateway: GatewayThread
) -> None:
    assert limited_gateway.request("/who", [JSON], method="POST", body=body).status == status


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
def test_body_without_json_content_type_is_refused(
    path: str, headers: Headers, limited_gateway: GatewayThread
) -> None:
    """Any page may send a form or a text without a preflight, but not JSON."""
    response = limited_gateway.request(path, headers, method="POST", body=b"{}")
    assert (response.status, response.code) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "body", [b'{"text": "a", "text": "b"}', b'{"text": "a", "count": 1, "te\\u0078t": "a"}']
)
def test_json_field_that_is_sent_twice_is_refused(body: bytes, limited_gateway: GatewayThread) -> None:
    response = limited_gateway.request("/say", [JSON], method="POST", body=body)
    assert response.status == 400
    assert "'text' was sent twice" in response.json["error"]["message"]


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
    ],
)
def test_spellings_of_json_content_type_are_accepted(
    content_type: str, limited_gateway: GatewayThread
) -> None:
    assert (
        limited_gateway.request("/say", [("Content-Type", content_type)], method="POST", body=b"{}").status
        == 200
    )


def test_route_may_accept_other_media_types(limited_gateway: GatewayThread) -> None:
    response = limited_gateway.request(
        "/take", [("Content-Type", "text/markdown")], method="POST", body="# é".encode()
    )
    assert response.json == {"text": "# é", "count": 4}
    assert limited_gateway.request("/take", [JSON], method="POST", body=b"[1]").json == {
        "text": "[1]",
        "count": 3,
    }
    assert (
        limited_gateway.request("/take", [("Content-Type", "text/html")], method="POST", body=b"x").status
        == 415
    )


def _json_of(size: int) -> bytes:
    return b'{"text":"' + b"x" * (size - 11) + b'"}'


def _declaring(length: str) -> bytes:
    """Return request headers with this Content-Length."""
    head = "POST /say HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {length}\r\n\r\n".encode()


def _chunked(body: bytes, size: int) -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


@pytest.mark.parametrize(
    ("size", "status"), [(MAX_BODY_BYTES - 1, 200), (MAX_BODY_BYTES, 200), (MAX_BODY_BYTES + 1, 413)]
)
def test_body_size_limit_is_exact(size: int, status: int, limited_gateway: GatewayThread) -> None:
    """S16."""
    assert limited_gateway.request("/say", [JSON], method="POST", body=_json_of(size)).status == status
    for piece in (70, 4000, 40_000):
        headers = [JSON, ("Transfer-Encoding", "chunked")]
        response = limited_gateway.request(
            "/say", headers, method="POST", body=_chunked(_json_of(size), piece)
        )
        assert response.status == status, piece


def test_body_with_too_large_content_length_is_not_read(limited_gateway: GatewayThread) -> None:
    """The response comes before any byte of the body was sent."""
    for length in (str(MAX_BODY_BYTES + 1), "99999999999", "9" * 18):
        response = limited_gateway.send(_declaring(length))
        assert (response.status, response.code) == (413, "too_large")


def test_endless_body_is_refused_at_the_limit(limited_gateway: GatewayThread) -> None:
    with limited_gateway.connect() as connection:
        connection.sendall(CHUNKED)
        for _ in range(MAX_BODY_BYTES // 1000 + 1):
            connection.sendall(b"3e8\r\n" + b"x" * 1000 + b"\r\n")
        assert read_response(connection).status == 413


def test_expect_continue_is_sent_only_for_accepted_bodies(limited_gateway: GatewayThread) -> None:
    def head(length: int) -> bytes:
        with limited_gateway.connect() as connection:
            connection.sendall(_declaring(f"{length}\r\nExpect: 100-continue"))
            return connection.recv(65536)

    assert head(2) == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert head(MAX_BODY_BYTES + 1).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("head", [b"", b"Connection: close\r\n"])
def test_client_that_sends_a_whole_body_over_the_limit_reads_its_413(
    head: bytes, limited_gateway: GatewayThread
) -> None:
    """A connection that is closed with unread data would be reset, and the response lost."""
    body = b"x" * 3_000_000
    with limited_gateway.connect() as connection:
        connection.sendall(_declaring(str(len(body))).replace(b"\r\n\r\n", b"\r\n" + head + b"\r\n"))
        for start in range(0, len(body), 100_000):
            connection.sendall(body[start : start + 100_000])
        assert read_response(connection).status == 413


def test_missing_body_times_out(hasty_gateway: GatewayThread) -> None:
    response = hasty_gateway.send(_declaring("9") + b"{")
    assert (response.status, response.code, response.headers["connection"]) == (408, "too_slow", "close")


def test_refused_client_may_finish_its_body_until_the_timeout(
    limited_gateway: GatewayThread, hasty_gateway: GatewayThread
) -> None:
    """The rest of a refused body is discarded, so that the client can read the response."""
    head = _declaring("15000").replace(b"application/json", b"text/plain")
    with limited_gateway.connect() as connection:
        connection.sendall(head + b"x" * 10_000)
        assert read_response(connection).status == 415
        connection.sendall(b"x" * 5_000 + b"GET /who HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert read_response(connection).status == 200
    with hasty_gateway.connect() as connection:
        started_s = time.monotonic()
        connection.sendall(head + b"x")
        assert read_response(connection).status == 415
        assert connection.recv(10) == b""
        assert time.monotonic() - started_s > 0.5


def test_client_disconnect_during_body_is_logged_as_499(limited_gateway: GatewayThread) -> None:
    with limited_gateway.connect() as connection:
        connection.sendall(_declaring("9") + b"{")
    assert limited_gateway.request("/who").status == 200


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
def test_malformed_headers_are_refused(headers: Headers, status: int, limited_gateway: GatewayThread) -> None:
    response = limited_gateway.request("/who", headers)
    assert response.status == status
    assert response.headers["content-security-policy"] == CSP


@pytest.mark.parametrize("name", ["X-Pad", "Cookie"])
def test_header_size_limit_is_exact(name: str, limited_gateway: GatewayThread) -> None:
    """S16: the path and each header line count, including separators and line ends."""
    host = f"localhost:{limited_gateway.port}"
    other_bytes = len("/who") + len("Host") + len(host) + 4 + len(name) + 4
    for size, status in ((4095, 200), (4096, 200), (4097, 431)):
        response = limited_gateway.request("/who", [(name, "a" * (size - other_bytes))])
        assert response.status == status, size
    assert limited_gateway.request("/ask?q=" + "a" * 4096).status == 431


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
def test_endless_headers_and_trailers_are_refused(
    begun: bytes, more: bytes, limited_gateway: GatewayThread
) -> None:
    """Endless headers, URLs, trailers and chunk extensions do not fill the memory."""
    with limited_gateway.connect() as connection:
        connection.sendall(begun)
        until_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < until_s:  # what a busy gateway reads together with the start does not count
            connection.sendall(more)
            if select.select([connection], [], [], 0.03)[0]:
                break
        assert read_response(connection).status == 431


def test_slow_headers_time_out(hasty_gateway: GatewayThread) -> None:
    response = hasty_gateway.send(b"GET /who HTTP/1.1\r\nHost: loc")
    assert (response.status, response.code) == (408, "too_slow")
    with hasty_gateway.connect() as connection:
        connection.sendall(b"GET /who HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert read_response(connection).status == 200
        connection.sendall(b"GET /w")
        assert read_response(connection).status == 408
    with hasty_gateway.connect() as connection:
        assert read_response(connection).status == 408


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
def test_data_that_is_not_http_gets_a_json_error(data: bytes, limited_gateway: GatewayThread) -> None:
    response = limited_gateway.send(data)
    assert (response.status, response.code) == (400, "bad_request")
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_keep_alive_and_tcp_nodelay(
    new_loop: Callable[[], asyncio.AbstractEventLoop], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: list[int] = []
    connection_made = LimitedHttpProtocol.connection_made

    def record_option(protocol: LimitedHttpProtocol, transport: asyncio.Transport) -> None:
        connection_made(protocol, transport)
        raw_socket = transport.get_extra_info("socket")
        options.append(raw_socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(LimitedHttpProtocol, "connection_made", record_option)
    with run_gateway(tmp_path, loop_factory=new_loop) as gateway, gateway.connect() as connection:
        for _ in range(3):
            connection.sendall(b"GET /who HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert read_response(connection).status == 200
    assert options == [1], "one connection, and nothing is held back on it"


def test_unexpected_error_is_logged_once_and_shows_no_details(
    limited_gateway: GatewayThread, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "thinkaloud"):
        response = limited_gateway.request("/boom")
    assert (response.status, response.code) == (500, "internal")
    number = response.json["error"]["id"]
    assert number in response.json["error"]["message"]
    for inside in ("SELECT", "RuntimeError", "Traceback", "house.py", "tka_"):
        assert inside not in response.body.decode()
    [record] = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert (getattr(record, "error_id", ""), record.exc_info is not None) == (number, True)
    assert limited_gateway.request("/who").status == 200


def test_request_log_has_one_line_without_paths_queries_or_secrets(
    limited_gateway: GatewayThread, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "thinkaloud.requests"):
        limited_gateway.request(
            "/ask?q=canary", [("Authorization", f"Bearer {limited_gateway.token}"), ("X-Note", "canary")]
        )
        limited_gateway.request("/canary")
        limited_gateway.request("/of/canary")
        lines = _lines(caplog, "/of/{session}")[-3:]
    requests = [(line["method"], line["route"], line["status"], line["message"]) for line in lines]
    assert requests == [
        ("GET", "/ask", 200, "GET /ask 200"),
        ("GET", "", 404, "unmatched 404"),
        ("GET", "/of/{session}", 404, "GET /of/{session} 404"),
    ]
    assert lines[0]["user"].startswith("usr_")
    assert all(line["ms"] > 0 for line in lines)
    assert not [line for line in lines if "canary" in repr(line) or limited_gateway.token in repr(line)]
    page = limited_gateway.gateway.metrics.text().decode()
    assert 'thinkaloud_requests_total{route="unmatched",status="404"}' in page
    assert "canary" not in page


def _lines(caplog: pytest.LogCaptureFixture, last: str) -> list[dict[str, Any]]:
    """Return the request log lines, once the last is there: it is written after the response was sent."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        lines = [vars(record) for record in caplog.records if record.name == "thinkaloud.requests"]
        if lines and lines[-1]["route"] == last:
            return lines
        time.sleep(0.01)
    raise AssertionError(f"no line for {last}")


def test_route_struct_must_forbid_unknown_fields() -> None:
    class Loose(msgspec.Struct, frozen=True):
        text: str = ""

    for fields in ({"body": Loose}, {"query": Loose}):
        route = ApiRoute(method="POST", path="/loose", handler=None, summary="", **fields)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="Loose of /loose"):
            create_app(_SettingsOnly(), ListenConfig(), (route,))  # type: ignore[arg-type]


class _SettingsOnly:
    """The part of a gateway that the application reads at start-up."""

    settings = Settings()


AsgiMessages = list[dict[str, Any]]
STREAM_ROUTE = ApiRoute(method="GET", path="/stream", handler=None, summary="")


async def _call_app(path: Path, stream: Any, method: str = "GET", host: bytes = b"localhost") -> AsgiMessages:
    """Call the application in-process and return the ASGI messages."""
    messages: AsgiMessages = []

    async def send(message: Any) -> None:
        messages.append(dict(message))

    async def receive() -> Any:
        await asyncio.sleep(30)

    async with open_database(path) as database, Gateway(database, builtin_catalog()) as gateway:
        app = create_app(gateway, ListenConfig(), (STREAM_ROUTE,), stream)
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "path": "/stream",
            "raw_path": b"/stream",
            "query_string": b"",
            "headers": [(b"host", host)],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 1),
        }
        await app(scope, receive, send)
    return messages


async def _stream(gateway: Any, grant: Grant, query: Any, headers: Any, receive: Any, send: Any) -> None:
    assert grant.user is not None
    assert headers["host"] == "localhost"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"cache-control", b"no-cache")]})
    await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def test_stream_passes_the_same_checks(tmp_path: Path) -> None:
    start, *body_messages = asyncio.run(_call_app(tmp_path / "a.db", _stream))
    headers = dict(start["headers"])
    assert (start["status"], headers[b"content-security-policy"]) == (200, CSP.encode())
    assert headers[b"cache-control"] == b"no-cache"
    assert [message["body"] for message in body_messages] == [b"data: 1\n\n", b""]
    [refused, body] = asyncio.run(_call_app(tmp_path / "a.db", _stream, host=b"evil.example"))
    assert refused["status"] == 421
    assert json.loads(body["body"])["error"]["code"] == "misdirected"


def test_head_of_stream_sends_no_events(tmp_path: Path) -> None:
    start, body = asyncio.run(_call_app(tmp_path / "a.db", _stream, method="HEAD"))
    assert dict(start["headers"])[b"content-type"] == b"text/event-stream; charset=utf-8"
    assert body["body"] == b""


def test_failing_stream_sends_no_second_response(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def break_stream(
        gateway: Any, grant: Any, query: Any, headers: Any, receive: Any, send: Any
    ) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("in the middle")

    messages = asyncio.run(_call_app(tmp_path / "a.db", break_stream))
    assert [message["type"] for message in messages] == ["http.response.start"]
    [record] = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert record.exc_info is not None


def test_only_http_is_served(tmp_path: Path) -> None:
    app = create_app(_SettingsOnly(), ListenConfig(), TEST_ROUTES)  # type: ignore[arg-type]
    for kind in ("websocket", "lifespan"):
        with pytest.raises(ValueError, match=kind):
            asyncio.run(app({"type": kind}, None, None))  # type: ignore[arg-type]
