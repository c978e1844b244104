"""What another site's page, a name that was turned round, or a crooked request could try on this machine.

The gateway here is the most open there is: it asks nobody on this machine for a token. Each attempt is
refused, and afterwards every row of the database is as it was.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from tests.safety.attacks import CROOKED, FETCH_SITES, GET, HOSTS, ORIGINS, OURS, PATHS, POST, SIMPLE
from tests.safety.ground import ENDLESS, JSON, Ground, Pairs, ground

from thinkaloud.server.routes import ROUTES
from thinkaloud.server.routing import Route
from thinkaloud.server.serving import HERE


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
    "POST /api/turns/{turn}/answer-now": b"{}",
    "POST /api/turns/{turn}/approvals": b'{"block": 0, "granted": true}',
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


@pytest.mark.parametrize("content_type", ["", "application/json", "application/octet-stream"])
def test_an_empty_request_of_an_ordinary_client_is_let_in(content_type: str, place: Place) -> None:
    """Many clients name a type also where nothing is sent; one that no page may send unasked does no harm."""
    told = [("Content-Type", content_type)] if content_type else []
    for route in CHANGING:
        if route.body is None and route.media_types == ("application/json",):
            with renewed(place) as fresh:
                answer = place.ground.ask(route.method, fresh.filled(route.path), b"", told)
                assert answer.status == route.status, (key(route), answer)
