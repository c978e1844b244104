"""DNS rebinding, cross-site pages and malformed requests against a local gateway.

The gateway has the most open configuration: requests from this machine need no token. Every attack is
refused, and afterwards every row of the database is unchanged.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from tests.safety.attack_requests import (
    FETCH_SITES,
    GET,
    HOSTS,
    MALFORMED_REQUESTS,
    ORIGINS,
    OWN_HOST,
    PATHS,
    POST,
    SIMPLE_CONTENT_TYPES,
)
from tests.safety.gateway_under_test import ENDLESS_PROMPT, JSON, GatewayUnderTest, Pairs, run_gateway

from thinkaloud.gateway.server.http.route import ApiRoute
from thinkaloud.gateway.server.http.routes import COMPATIBLE_ROUTES, ROUTES
from thinkaloud.gateway.server.run import LOCAL_ONLY


class RebindingTarget(NamedTuple):
    """The gateway, and the resources of a user."""

    gateway: GatewayUnderTest
    session: str
    turn: str
    agent: str

    def fill(self, text: str) -> str:
        port = self.gateway.port
        return text.format(port=port, session=self.session, turn=self.turn, agent=self.agent)


def create_target(gateway: GatewayUnderTest) -> RebindingTarget:
    session = gateway.create_session([])
    return RebindingTarget(
        gateway,
        session,
        gateway.start_turn([], gateway.create_session([]), ENDLESS_PROMPT),
        gateway.create_agent([], "mine"),
    )


@contextmanager
def fresh_target(target: RebindingTarget) -> Iterator[RebindingTarget]:
    """Yield new resources that no other test uses."""
    fresh = create_target(target.gateway)
    try:
        yield fresh
    finally:
        target.gateway.request("POST", f"/api/turns/{fresh.turn}/cancel")


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RebindingTarget]:
    with run_gateway(tmp_path_factory.mktemp("rebinding"), LOCAL_ONLY) as gateway:
        created_target = create_target(gateway)
        yield created_target
        response = gateway.request("POST", f"/api/turns/{created_target.turn}/cancel")
        assert response.status == 202, "the turn has ended, so an attack cancelled it"


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
"""Bodies that would change something if they were accepted."""


def key(route: ApiRoute) -> str:
    return f"{route.method} {route.path}"


def check_refused(
    target: RebindingTarget, route: ApiRoute, headers: Pairs, statuses: set[int], host: str | None = None
) -> None:
    """Check that the request is refused with a valid body, an empty body and no body."""
    rows_before = target.gateway.all_rows()
    for body in (BODIES[key(route)], b"", None) if route.method != "GET" else (None,):
        response = target.gateway.request(route.method, target.fill(route.path), body, headers, host=host)
        assert response.status in statuses, (response, body)
    assert target.gateway.all_rows() == rows_before


def test_every_changing_route_is_attacked() -> None:
    keys = {key(route) for route in CHANGING}
    assert not keys ^ BODIES.keys(), f"Add to BODIES, or take out of it: {sorted(keys ^ BODIES.keys())}"


LIST_ROUTE = next(route for route in ROUTES if key(route) == "GET /api/sessions")
STREAM_ROUTE = next(route for route in ROUTES if route.handler is None)
RENAME_ROUTE = next(route for route in ROUTES if key(route) == "PATCH /api/sessions/{session}")


@pytest.mark.parametrize("host", HOSTS)
def test_dns_rebinding_is_refused(host: str, target: RebindingTarget) -> None:
    """S13: DNS rebinding: a name that an attacker points at this machine is not allowed."""
    for route in (LIST_ROUTE, STREAM_ROUTE, RENAME_ROUTE):
        check_refused(target, route, [JSON], {400, 421}, target.fill(host))


@pytest.mark.parametrize("origin", ORIGINS)
def test_foreign_origins_are_refused(origin: str, target: RebindingTarget) -> None:
    """S13."""
    for route in (LIST_ROUTE, STREAM_ROUTE, RENAME_ROUTE):
        check_refused(target, route, [JSON, ("Origin", target.fill(origin))], {403})


@pytest.mark.parametrize("site", FETCH_SITES)
def test_cross_site_sec_fetch_site_is_refused(site: str, target: RebindingTarget) -> None:
    for route in (LIST_ROUTE, STREAM_ROUTE, RENAME_ROUTE):
        check_refused(target, route, [JSON, ("Sec-Fetch-Site", site)], {403})


@pytest.mark.parametrize("route", CHANGING, ids=key)
@pytest.mark.parametrize("content_type", SIMPLE_CONTENT_TYPES)
def test_csrf_with_simple_requests_is_refused(
    content_type: str, route: ApiRoute, target: RebindingTarget
) -> None:
    """S13: CSRF: also from an old browser without Origin and Sec-Fetch-Site, and with an empty form."""
    headers = [("Content-Type", content_type)]
    evil = [("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site"), ("Cookie", "a=b")]
    with fresh_target(target) as fresh:
        check_refused(fresh, route, [*headers, *evil], {403})
        check_refused(fresh, route, [*headers, ("Sec-Fetch-Site", "cross-site")], {403})
        check_refused(fresh, route, [*headers, ("Origin", "null")], {403})
        check_refused(fresh, route, headers, {400, 415, 422})


BROWSER = ("User-Agent", "Mozilla/5.0 (Windows NT 6.1; rv:60.0) Gecko/20100101 Firefox/60.0")
COMPATIBLE_CHANGING = [route for route in COMPATIBLE_ROUTES if route.method != "GET"]
QUESTION = b'{"model": "builtin/solver", "messages": [{"role": "user", "content": "evil"}], "max_tokens": 9}'


@pytest.mark.parametrize("route", COMPATIBLE_CHANGING, ids=key)
@pytest.mark.parametrize("content_type", [*SIMPLE_CONTENT_TYPES, ""])
def test_csrf_with_simple_requests_is_refused_for_clients_of_every_format(
    content_type: str, route: ApiRoute, target: RebindingTarget
) -> None:
    """S13: some of these endpoints take any content type, but from no browser, old or new."""
    headers = [("Content-Type", content_type)] if content_type else []
    foreign = ("Origin", "http://evil.example"), ("Origin", "null"), ("Sec-Fetch-Site", "cross-site")
    own = BROWSER, ("Sec-Fetch-Site", "none"), ("Sec-Fetch-Mode", "no-cors"), ("Cookie", "a=b")
    rows_before = target.gateway.all_rows()
    for extra, status in (*((pair, 403) for pair in foreign), *((pair, 415) for pair in own)):
        response = target.gateway.request("POST", route.path, QUESTION, [*headers, extra])
        assert response.status == status, (extra, response)
    assert target.gateway.all_rows() == rows_before


@pytest.mark.parametrize("route", CHANGING, ids=key)
def test_body_without_content_type_is_refused(route: ApiRoute, target: RebindingTarget) -> None:
    rows_before = target.gateway.all_rows()
    for headers in ([], [("Content-Type", "")]):
        response = target.gateway.request(route.method, target.fill(route.path), BODIES[key(route)], headers)
        assert response.status == 415
    assert target.gateway.all_rows() == rows_before


@pytest.mark.parametrize("route", CHANGING, ids=key)
def test_cross_site_json_and_preflight_are_refused(route: ApiRoute, target: RebindingTarget) -> None:
    """The preflight is refused too: no CORS header is ever sent."""
    check_refused(target, route, [JSON, ("Origin", "http://evil.example")], {403})
    asking = [("Origin", "http://evil.example"), ("Access-Control-Request-Method", route.method)]
    for headers in (asking, asking[1:]):
        response = target.gateway.request("OPTIONS", target.fill(route.path), headers=headers)
        assert response.status == (403 if headers is asking else 204)
        assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize("name", MALFORMED_REQUESTS)
def test_malformed_requests_are_refused(name: str, target: RebindingTarget) -> None:
    rows_before = target.gateway.all_rows()
    heads = target.gateway.send(target.fill(MALFORMED_REQUESTS[name]).encode("latin-1"))
    statuses = [int(head.split()[1]) for head in heads]
    assert statuses
    assert all(400 <= status < 500 for status in statuses), heads
    assert target.gateway.all_rows() == rows_before


@pytest.mark.parametrize("upgrade", ["websocket", "h2c", "HTTP/2.0", "TLS/1.0"])
def test_upgrade_is_ignored(upgrade: str, target: RebindingTarget) -> None:
    """An Upgrade header is ignored; the response is an ordinary one."""
    response = target.gateway.request(
        "GET", "/healthz", headers=[("Connection", "Upgrade"), ("Upgrade", upgrade)]
    )
    assert (response.status, response.json) == (200, {"status": "ok"})
    assert "upgrade" not in response.headers


def test_request_smuggling_is_refused(target: RebindingTarget) -> None:
    """Smuggling: the content of a body is never read as the next request."""
    rows_before = target.gateway.all_rows()
    inner = "DELETE /api/agents/{agent} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"
    payload = (
        "POST /api/sessions HTTP/1.1\r\nContent-Type: text/plain\r\n"
        f"Content-Length: {{size}}\r\n{OWN_HOST}\r\n"
    )
    size = len(target.fill(inner))
    data = target.fill(payload.replace("{size}", str(size))) + target.fill(inner)
    heads = target.gateway.send(data.encode())
    assert [int(head.split()[1]) for head in heads] == [415]
    chunked = target.fill(POST + "Transfer-Encoding: chunked\r\n" + OWN_HOST + "\r\n")
    heads = target.gateway.send(f"{chunked}{size:x}\r\n{target.fill(inner)}\r\n0\r\n\r\n".encode())
    assert [int(head.split()[1]) for head in heads] == [400]
    assert target.gateway.all_rows() == rows_before


@pytest.mark.parametrize("path", PATHS)
def test_alternative_path_spellings_are_not_found(path: str, target: RebindingTarget) -> None:
    """A proxy that guards paths must see the same path as the gateway."""
    rows_before = target.gateway.all_rows()
    for method in ("GET", "DELETE", "PATCH"):
        body = None if method == "GET" else b'{"title": "evil"}' if method == "PATCH" else b"{}"
        response = target.gateway.request(method, target.fill(path), body, [] if body is None else [JSON])
        assert response.status in ((404,) if method == "GET" else (404, 405)), response
        assert "x-evil" not in response.headers
    assert target.gateway.all_rows() == rows_before


def test_valid_requests_are_accepted(target: RebindingTarget) -> None:
    """The counterpart: the same requests with the gateway's own names are accepted."""
    port = target.gateway.port
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", f"LOCALHOST:{port}", "localhost"):
        own_page_headers = [("Origin", f"http://{host}".lower()), ("Sec-Fetch-Site", "same-origin")]
        assert (
            target.gateway.request("GET", "/api/sessions", headers=own_page_headers, host=host).status == 200
        )
    heads = target.gateway.send(target.fill(GET + OWN_HOST + "\r\n").encode())
    assert heads[0].startswith(b"HTTP/1.1 200 ")
    absolute = "GET http://localhost:{port}/api/sessions HTTP/1.1\r\n" + OWN_HOST + "\r\n"
    assert target.gateway.send(target.fill(absolute).encode())[0].startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("content_type", ["", "application/json", "application/octet-stream"])
def test_an_empty_request_of_an_ordinary_client_is_let_in(content_type: str, target: RebindingTarget) -> None:
    """Many clients send a content type without a body. A type that needs a preflight does no harm."""
    headers = [("Content-Type", content_type)] if content_type else []
    for route in CHANGING:
        if route.body is None and route.media_types == ("application/json",):
            with fresh_target(target) as fresh:
                answer = target.gateway.request(route.method, fresh.fill(route.path), b"", headers)
                assert answer.status == route.status, (key(route), answer)
