"""What another site's page, a name that was turned round, or a crooked request could try on this machine.

The gateway here is the most open there is: it asks nobody on this machine for a token. Each attempt is
refused, and afterwards every row of the database is as it was.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from tests.safety.ground import ENDLESS, JSON, Ground, Pairs, ground

from thinkaloud.server.routes import ROUTES
from thinkaloud.server.routing import Route
from thinkaloud.server.serving import HERE

HOSTS = """
evil.example
evil.example:{port}
localhost.evil.example
localhost.evil.example:{port}
127.0.0.1.evil.example:{port}
127-0-0-1.evil.example:{port}
localhost.
localhost.:{port}
127.0.0.1.:{port}
2130706433
2130706433:{port}
0x7f000001:{port}
0x7f.0x0.0x0.0x1:{port}
0177.0.0.1:{port}
017700000001:{port}
127.1:{port}
127.0.1:{port}
127.0.0.2:{port}
127.000.000.001:{port}
0.0.0.0:{port}
0:{port}
[::]:{port}
[::ffff:127.0.0.1]:{port}
[::ffff:7f00:1]:{port}
[0:0:0:0:0:0:0:1]:{port}
[::1%25lo]:{port}
::1
localhost:1
localhost:{port}0
localhost:0{port}
localhost:+{port}
localhost:
localhost:{port}:80
user@localhost:{port}
user:pass@localhost:{port}
localhost:{port}@evil.example
localhost:{port}/evil
localhost:{port}#evil
localhost:{port}?evil
localhost%00.evil.example
localhost%2eevil
localhost\\evil.example
localhost,evil.example
localhost evil.example
http://localhost:{port}
*
\xe2\x93\x9bocalhost:{port}
loca\xc5\x82host:{port}
ip6-localhost
kubernetes.docker.internal
""".strip().splitlines()

ORIGINS = """
null
file://
data:
about:blank
blob:http://localhost:{port}
http://evil.example
https://evil.example
http://evil.example:{port}
http://localhost
http://localhost:1
https://localhost:{port}
ws://localhost:{port}
http://127.0.0.1:{port}
http://[::1]:{port}
http://localhost.:{port}
http://localhost:{port}/
http://localhost:{port}.evil.example
http://localhost:{port}@evil.example
http://evil.example#http://localhost:{port}
http://evil.example?http://localhost:{port}
http://localhost:{port} http://evil.example
http://localhost:{port},http://evil.example
http://localhost:{port}\\.evil.example
chrome-extension://abcdefghijklmnopabcdefghijklmnop
moz-extension://6f1c3b1e-0000-4000-8000-000000000000
safari-web-extension://6F1C3B1E
vscode-webview://localhost
capacitor://localhost
ionic://localhost
app://localhost
http://xn--lcalhost-2za:{port}
""".strip().splitlines()

FETCH_SITES = ["cross-site", "same-site", "", "Cross-Site", "same-origin, cross-site", "none;", "websocket"]

SIMPLE = [
    "text/plain",
    "text/plain;charset=UTF-8",
    "text/plain; application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
]
"""What a page of another site may send without asking first."""


class Place(NamedTuple):
    """The gateway, and what somebody has there."""

    ground: Ground
    session: str
    turn: str
    agent: str

    def filled(self, text: str) -> str:
        port = self.ground.port
        return text.format(port=port, session=self.session, turn=self.turn, agent=self.agent)


def furnished(found: Ground) -> Place:
    session = found.session([])
    return Place(found, session, found.begun([], found.session([]), ENDLESS), found.agent([], "mine"))


@contextmanager
def renewed(place: Place) -> Iterator[Place]:
    """Something to lose that no other test needs."""
    fresh = furnished(place.ground)
    try:
        yield fresh
    finally:
        place.ground.ask("POST", f"/api/turns/{fresh.turn}/cancel")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with ground(tmp_path_factory.mktemp("rebinding"), HERE) as found:
        made = furnished(found)
        yield made
        told = found.ask("POST", f"/api/turns/{made.turn}/cancel")
        assert told.status == 202, "the turn is over, so somebody stopped it"


CHANGING = [route for route in ROUTES if route.method != "GET"]
BODIES = {
    "POST /api/sessions": b'{"title": "evil"}',
    "PATCH /api/sessions/{session}": b'{"title": "evil"}',
    "DELETE /api/sessions/{session}": b"{}",
    "POST /api/import": b'{"thinkaloud": 1, "title": "evil", "created_ms": null, "exchanges": []}',
    "POST /api/sessions/{session}/turns": b'{"prompt": "evil"}',
    "POST /api/turns/{turn}/cancel": b"{}",
    "POST /api/agents": b'{"name": "evil", "model": "vllm/qwen3-8b"}',
    "PUT /api/agents/{agent}": b'{"name": "evil", "model": "vllm/qwen3-8b"}',
    "DELETE /api/agents/{agent}": b"{}",
    "PUT /api/preferences": b'{"language": "pt-BR"}',
}
"""What would do something, if it were let in."""


def key(route: Route) -> str:
    return f"{route.method} {route.path}"


def refused(place: Place, route: Route, headers: Pairs, statuses: set[int], host: str | None = None) -> None:
    """Nothing came of it: with a body that would change something, with an empty one, and with none."""
    before = place.ground.everything()
    for body in (BODIES[key(route)], b"", None) if route.method != "GET" else (None,):
        told = place.ground.ask(route.method, place.filled(route.path), body, headers, host=host)
        assert told.status in statuses, (told, body)
    assert place.ground.everything() == before


def test_every_route_that_changes_something_is_tried() -> None:
    keys = {key(route) for route in CHANGING}
    assert not keys ^ BODIES.keys(), f"Add to BODIES, or take out of it: {sorted(keys ^ BODIES.keys())}"


READING = next(route for route in ROUTES if key(route) == "GET /api/sessions")
STREAM = next(route for route in ROUTES if route.handler is None)
RENAMING = next(route for route in ROUTES if key(route) == "PATCH /api/sessions/{session}")


@pytest.mark.parametrize("host", HOSTS)
def test_the_gateway_answers_to_its_own_names_only(host: str, place: Place) -> None:
    """DNS rebinding (S13): whatever name an attacker makes lead here is not one of ours."""
    for route in (READING, STREAM, RENAMING):
        refused(place, route, [JSON], {400, 421}, place.filled(host))


@pytest.mark.parametrize("origin", ORIGINS)
def test_pages_of_other_sites_are_refused(origin: str, place: Place) -> None:
    for route in (READING, STREAM, RENAMING):
        refused(place, route, [JSON, ("Origin", place.filled(origin))], {403})


@pytest.mark.parametrize("site", FETCH_SITES)
def test_what_a_browser_says_of_the_asking_site_counts(site: str, place: Place) -> None:
    for route in (READING, STREAM, RENAMING):
        refused(place, route, [JSON, ("Sec-Fetch-Site", site)], {403})


@pytest.mark.parametrize("route", CHANGING, ids=key)
@pytest.mark.parametrize("content_type", SIMPLE)
def test_no_page_changes_anything_with_what_it_may_send_unasked(
    content_type: str, route: Route, place: Place
) -> None:
    """CSRF: also of an old browser that tells neither Origin nor Sec-Fetch-Site, and with an empty form."""
    told = [("Content-Type", content_type)]
    evil = [("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site"), ("Cookie", "a=b")]
    with renewed(place) as fresh:
        refused(fresh, route, [*told, *evil], {403})
        refused(fresh, route, [*told, ("Sec-Fetch-Site", "cross-site")], {403})
        refused(fresh, route, [*told, ("Origin", "null")], {403})
        refused(fresh, route, told, {400, 415, 422})


@pytest.mark.parametrize("route", CHANGING, ids=key)
def test_a_body_that_does_not_say_what_it_is_changes_nothing(route: Route, place: Place) -> None:
    before = place.ground.everything()
    for headers in ([], [("Content-Type", "")]):
        told = place.ground.ask(route.method, place.filled(route.path), BODIES[key(route)], headers)
        assert told.status == 415
    assert place.ground.everything() == before


@pytest.mark.parametrize("route", CHANGING, ids=key)
def test_json_from_another_site_is_refused_too(route: Route, place: Place) -> None:
    """And so is the question whether it might be sent: nothing that lets others in is ever answered."""
    refused(place, route, [JSON, ("Origin", "http://evil.example")], {403})
    asking = [("Origin", "http://evil.example"), ("Access-Control-Request-Method", route.method)]
    for headers in (asking, asking[1:]):
        told = place.ground.ask("OPTIONS", place.filled(route.path), headers=headers)
        assert told.status == (403 if headers is asking else 204)
        assert not [name for name in told.headers if name.startswith("access-control")]


CLOSE = "\r\nConnection: close\r\n"
OURS = "Host: localhost:{port}" + CLOSE
GET = "GET /api/sessions HTTP/1.1\r\n"
POST = "POST /api/sessions HTTP/1.1\r\nContent-Type: application/json\r\n"
EVIL_BODY = '{{"title":"evil"}}'
SENT = 'Content-Length: 16\r\n\r\n{{"title":"evil"}}'

CROOKED = {
    "no host": GET + "Connection: close\r\n\r\n",
    "1.0 without host": "GET /api/sessions HTTP/1.0\r\n\r\n",
    "1.0 with a foreign host": "GET /api/sessions HTTP/1.0\r\nHost: evil.example\r\n\r\n",
    "0.9": "GET /api/sessions\r\n\r\n",
    "2.0": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "an unknown version": "GET /api/sessions HTTP/9.9\r\n" + OURS + "\r\n",
    "absolute form, foreign": "GET http://evil.example/api/sessions HTTP/1.1\r\n" + OURS + "\r\n",
    "absolute form, foreign port": "GET http://localhost:1/api/sessions HTTP/1.1\r\n" + OURS + "\r\n",
    "absolute form, foreign in both": "GET http://evil.example/api/sessions HTTP/1.1\r\nHost: evil.example"
    + CLOSE
    + "\r\n",
    "absolute form, userinfo": "GET http://localhost:{port}@evil.example/api/sessions HTTP/1.1\r\n"
    + OURS
    + "\r\n",
    "absolute form, other scheme": "GET ftp://evil.example/api/sessions HTTP/1.1\r\n" + OURS + "\r\n",
    "absolute form that changes": "POST http://evil.example/api/sessions HTTP/1.1\r\n"
    "Content-Type: application/json\r\n" + OURS + SENT,
    "authority form": "GET evil.example:80 HTTP/1.1\r\n" + OURS + "\r\n",
    "network path": "GET //evil.example/api/sessions HTTP/1.1\r\n" + OURS + "\r\n",
    "asterisk": "OPTIONS * HTTP/1.1\r\n" + OURS + "\r\n",
    "connect": "CONNECT evil.example:443 HTTP/1.1\r\n" + OURS + "\r\n",
    "connect to us": "CONNECT localhost:{port} HTTP/1.1\r\n" + OURS + "\r\n",
    "trace": "TRACE /api/sessions HTTP/1.1\r\n" + OURS + "\r\n",
    "track": "TRACK /api/sessions HTTP/1.1\r\n" + OURS + "\r\n",
    "debug": "DEBUG /api/sessions HTTP/1.1\r\n" + OURS + "\r\n",
    "a small method": "get /api/sessions HTTP/1.1\r\n" + OURS + "\r\n",
    "purge": "PURGE /api/sessions HTTP/1.1\r\n" + OURS + "\r\n",
    "two hosts": GET + "Host: localhost:{port}\r\nHost: evil.example" + CLOSE + "\r\n",
    "two hosts, the other way round": GET + "Host: evil.example\r\n" + OURS + "\r\n",
    "two equal hosts": GET + "Host: localhost:{port}\r\n" + OURS + "\r\n",
    "a folded host": GET + "Host:\r\n localhost:{port}" + CLOSE + "\r\n",
    "a host with a space before its colon": GET + "Host : localhost:{port}" + CLOSE + "\r\n",
    "two origins": GET + "Origin: http://localhost:{port}\r\nOrigin: http://evil.example\r\n" + OURS + "\r\n",
    "two sites": GET + "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site\r\n" + OURS + "\r\n",
    "two content types": POST + "Content-Type: text/plain\r\n" + OURS + SENT,
    "two lengths": POST + "Content-Length: 2\r\n" + OURS + SENT,
    "a length and chunks": POST + "Transfer-Encoding: chunked\r\n" + OURS + SENT,
    "chunks spelt oddly": POST + "Transfer-Encoding: xchunked\r\n" + OURS + "\r\n10\r\n" + EVIL_BODY,
    "chunks twice": POST
    + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"
    + OURS
    + "\r\n0\r\n\r\n",
    "chunks behind a space": POST + "Transfer-Encoding : chunked\r\n" + OURS + "\r\n10\r\n" + EVIL_BODY,
    "a length with a sign": POST + "Content-Length: +16\r\n" + OURS + "\r\n" + EVIL_BODY,
    "a packed body": POST + "Content-Encoding: gzip\r\n" + OURS + SENT,
    "a header without a name": GET + ": evil\r\n" + OURS + "\r\n",
    "a header with NUL": GET + "X-Evil: a\x00b\r\n" + OURS + "\r\n",
    "a header with a bare CR": GET + "X-Evil: a\rOrigin: http://evil.example\r\n" + OURS + "\r\n",
    "a header cut by LF": GET + "X-Evil: a\nOrigin: http://evil.example\r\n" + OURS + "\r\n",
    "a socket of another site": "GET /api/turns/{turn}/events HTTP/1.1\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "Origin: http://evil.example\r\nHost: localhost:{port}\r\nConnection: close, Upgrade\r\n\r\n",
}
"""Requests as bytes; every one of them is refused, and none is understood as something else."""


@pytest.mark.parametrize("name", CROOKED)
def test_crooked_requests_are_refused(name: str, place: Place) -> None:
    before = place.ground.everything()
    heads = place.ground.send(place.filled(CROOKED[name]).encode("latin-1"))
    statuses = [int(head.split()[1]) for head in heads]
    assert statuses
    assert all(400 <= status < 500 for status in statuses), heads
    assert place.ground.everything() == before


@pytest.mark.parametrize("upgrade", ["websocket", "h2c", "HTTP/2.0", "TLS/1.0"])
def test_no_connection_becomes_another_kind(upgrade: str, place: Place) -> None:
    """An offer to change the protocol is passed over; the answer is an ordinary one."""
    told = place.ground.ask("GET", "/healthz", headers=[("Connection", "Upgrade"), ("Upgrade", upgrade)])
    assert (told.status, told.json) == (200, {"status": "ok"})
    assert "upgrade" not in told.headers


def test_a_request_in_a_body_stays_in_the_body(place: Place) -> None:
    """Smuggling: what a length or a chunk holds is never read as the next request."""
    before = place.ground.everything()
    inner = "DELETE /api/agents/{agent} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"
    told = (
        f"POST /api/sessions HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: {{size}}\r\n{OURS}\r\n"
    )
    size = len(place.filled(inner))
    data = place.filled(told.replace("{size}", str(size))) + place.filled(inner)
    heads = place.ground.send(data.encode())
    assert [int(head.split()[1]) for head in heads] == [415]
    chunked = place.filled(POST + "Transfer-Encoding: chunked\r\n" + OURS + "\r\n")
    heads = place.ground.send(f"{chunked}{size:x}\r\n{place.filled(inner)}\r\n0\r\n\r\n".encode())
    assert [int(head.split()[1]) for head in heads] == [400]
    assert place.ground.everything() == before


PATHS = """
/api/sessions/
/api//sessions
//api/sessions
/./api/sessions
/api/./sessions
/api/x/../sessions
/../api/sessions
/api/sessions/..
/api/sessions/{session}/../{session}
/api/sessions/{session}/.
/api/sessions/{session}/
/api/sessions/{session}%00
/api/sessions/{session}%00/messages
/api/sessions/{session}%20
/api/sessions/{session}%0d%0aX-Evil:%201
/api/sessions/{session}%0a
/api/sessions/{session}%2f
/api/sessions/{session}%2fmessages
/api/sessions/{session}%2Fexport
/api/sessions/{session}%252fmessages
/api/sessions/{session}%5cmessages
/api/sessions/{session};x
/api/sessions/{session}..;/messages
/api/sessions/%2e%2e/sessions
/api/sessions/..%2f..%2fapi%2fsessions
/api/sessions/..%5c..%5cetc%5cpasswd
/api/sessions/%c0%ae%c0%ae/
/api/sessions/%ff
/api%2fsessions
/api%2Fturns%2F{turn}
/API/sessions
/api/Sessions
/api/sessions.json
/api/sessions%23
/api/sessions%3f
/api/turns/{session}
/api/sessions/{turn}
/api/sessions/{session}{session}
/etc/passwd
/..%2f..%2f..%2fetc%2fpasswd
/thinkaloud.db
/static/../thinkaloud.db
""".strip().splitlines()


@pytest.mark.parametrize("path", PATHS)
def test_a_path_has_one_spelling(path: str, place: Place) -> None:
    """Whoever guards paths in front of the gateway must see the same path that the gateway sees."""
    before = place.ground.everything()
    for method in ("GET", "DELETE", "PATCH"):
        body = None if method == "GET" else b'{"title": "evil"}' if method == "PATCH" else b"{}"
        told = place.ground.ask(method, place.filled(path), body, [] if body is None else [JSON])
        assert told.status in ((404,) if method == "GET" else (404, 405)), told
        assert "x-evil" not in told.headers
    assert place.ground.everything() == before


def test_what_is_right_is_let_in(place: Place) -> None:
    """The other side of it all: the same requests with our own names go through."""
    port = place.ground.port
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", f"LOCALHOST:{port}", "localhost"):
        own = [("Origin", f"http://{host}".lower()), ("Sec-Fetch-Site", "same-origin")]
        assert place.ground.ask("GET", "/api/sessions", headers=own, host=host).status == 200
    heads = place.ground.send(place.filled(GET + OURS + "\r\n").encode())
    assert heads[0].startswith(b"HTTP/1.1 200 ")
    absolute = "GET http://localhost:{port}/api/sessions HTTP/1.1\r\n" + OURS + "\r\n"
    assert place.ground.send(place.filled(absolute).encode())[0].startswith(b"HTTP/1.1 200 ")
