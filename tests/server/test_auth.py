"""Authentication and authorization: Host, Origin, tokens, workspaces and ownership."""

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection
from tests.patience import PATIENCE_S
from tests.server.gateway_thread import JSON, NOW_MS, GatewayThread, api_key, bearer, run_gateway

from thinkaloud.core.canon import Refused
from thinkaloud.core.catalog import builtin_catalog
from thinkaloud.gateway.server.gateway import Gateway
from thinkaloud.gateway.server.http.auth import (
    Authenticator,
    ListenConfig,
    hash_token,
    loopback_address,
    new_start_token,
    peer_uid,
)
from thinkaloud.gateway.server.run import ServeOptions, bind_socket, start_server
from thinkaloud.gateway.store.engine.sqlite import open_database
from thinkaloud.gateway.store.queries import agents, sessions, turns, users
from thinkaloud.gateway.store.queries.turns import NewTurnRow
from thinkaloud.gateway.store.queries.values import new_id
from thinkaloud.gateway.store.rows import AgentSpec, Owner, Session, User

Form = Callable[[str], tuple[str, str]]
FORMS = pytest.mark.parametrize("form", [bearer, api_key])
"""Both forms of credentials behave the same."""


@pytest.fixture(scope="module")
def local_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayThread]:
    """A local gateway with two allowed hosts."""
    address = ServeOptions(allowed_hosts=("thinkaloud.example", "tunnel.example:9000"))
    with run_gateway(tmp_path_factory.mktemp("near"), address) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def shared_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayThread]:
    """A gateway that requires a token."""
    with run_gateway(tmp_path_factory.mktemp("shared"), ServeOptions(token_required=True)) as gateway:
        yield gateway


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("localhost:{port}", 200),
        ("LocalHost:{port}", 200),
        ("127.0.0.1", 200),
        ("127.0.0.1:{port}", 200),
        ("[::1]", 200),
        ("[::1]:{port}", 200),
        ("", 400),
        ("localhost:1", 421),
        ("localhost:", 421),
        ("localhost:{port}0", 421),
        ("localhost.", 421),
        ("localhost.evil.example", 421),
        ("evil.example", 421),
        ("evil.example:{port}", 421),
        ("localhost@evil.example", 421),
        ("evil.example#localhost", 421),
        ("localhost, evil.example", 421),
        ("localhost evil.example", 421),
        ("127.1", 421),
        ("127.0.0.2", 421),
        ("2130706433", 421),
        ("0x7f.1", 421),
        ("0.0.0.0", 421),
        ("::1", 421),
        ("[::ffff:127.0.0.1]", 421),
        ("[0:0:0:0:0:0:0:1]", 421),
        ("http://localhost", 421),
        ("localhost/", 421),
        ("*", 421),
        ("xn--localhost", 421),
        ("lоcalhost", 421),
        ("tunnel.example", 421),
        ("tunnel.example:{port}", 421),
        ("thinkaloud.example:9000", 421),
    ],
)
def test_foreign_host_is_refused(host: str, status: int, local_gateway: GatewayThread) -> None:
    """A foreign name that resolves to this machine is refused on every path."""
    name = host.format(port=local_gateway.port).encode().decode("latin-1")
    for path in ("/who", "/open"):
        response = local_gateway.request(path, host=name)
        assert response.status == status
        if status == 421:
            assert "--allow-host" in response.json["error"]["message"]
    assert status == 200 or local_gateway.request("/nowhere", host=name).status == status


@pytest.mark.parametrize("host", ["thinkaloud.example", "Thinkaloud.Example:{port}", "tunnel.example:9000"])
def test_allowed_host_needs_a_token(host: str, local_gateway: GatewayThread) -> None:
    """A tunnel or proxy may be behind an allowed host, so the caller may be anyone."""
    name = host.format(port=local_gateway.port)
    assert local_gateway.request("/who", host=name).status == 401
    assert local_gateway.request("/open", host=name).status == 200
    assert local_gateway.request("/who", [bearer(local_gateway.token)], host=name).json["user"] == "local"


@pytest.mark.parametrize(
    "header",
    [
        ("X-Forwarded-For", "192.0.2.1"),
        ("X-Forwarded-For", "127.0.0.1"),
        ("X-Forwarded-Host", "localhost"),
        ("X-Real-IP", "127.0.0.1"),
        ("Forwarded", "for=127.0.0.1"),
        ("Via", "1.1 proxy"),
        ("X-Forwarded-Proto", "https"),
        ("X-Client-IP", "192.0.2.1"),
        ("CF-Connecting-IP", "192.0.2.1"),
        ("X-Envoy-External-Address", "192.0.2.1"),
    ],
)
def test_proxied_request_needs_a_token(header: tuple[str, str], local_gateway: GatewayThread) -> None:
    refusal = local_gateway.request("/who", [header])
    assert refusal.status == 401
    assert "--auth token" in refusal.json["error"]["message"]
    assert local_gateway.request("/who", [header, bearer(local_gateway.token)]).status == 200


def test_http_1_0_needs_a_token(local_gateway: GatewayThread) -> None:
    """nginx speaks HTTP/1.0 to an upstream, with its loopback address as Host and no other trace."""
    head = f"GET /who HTTP/1.0\r\nHost: 127.0.0.1:{local_gateway.port}\r\nConnection: close\r\n"
    for headers, status in (("", b"401"), (f"Authorization: Bearer {local_gateway.token}\r\n", b"200")):
        with socket.create_connection(("127.0.0.1", local_gateway.port), timeout=PATIENCE_S) as connection:
            connection.sendall(f"{head}{headers}\r\n".encode())
            assert connection.recv(65536).split()[1] == status


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux lists the owners of sockets")
def test_other_user_of_this_machine_needs_a_token(
    local_gateway: GatewayThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy on this machine usually runs as a user of its own."""
    assert local_gateway.request("/who").status == 200
    other_uid = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other_uid)
    refusal = local_gateway.request("/who")
    assert refusal.status == 401
    assert "another user of this machine" in refusal.json["error"]["message"]
    assert local_gateway.request("/who", [bearer(local_gateway.token)]).status == 200
    assert local_gateway.request("/open").status == 200


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux lists the owners of sockets")
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_peer_uid_is_the_owner_of_the_connection(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as server:
        server_address = server.getsockname()[:2]
        with socket.create_connection(server_address) as client:
            assert peer_uid(client.getsockname()[:2], server_address) == os.getuid()
            assert peer_uid((address, 1), server_address) is None


ORIGINS = [
    ("http://localhost:{port}", 200),
    ("HTTP://LOCALHOST:{port}", 200),
    ("null", 403),
    ("", 403),
    ("https://localhost:{port}", 403),
    ("http://localhost", 403),
    ("http://localhost:1", 403),
    ("http://127.0.0.1:{port}", 403),
    ("http://localhost:{port}/", 403),
    ("http://localhost:{port}.evil.example", 403),
    ("http://evil.example", 403),
    ("http://evil.example:{port}", 403),
    ("http://localhost@evil.example", 403),
    ("file://", 403),
    ("chrome-extension://abc", 403),
    ("http://localhost:{port} http://evil.example", 403),
]


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "HEAD", "DELETE"])
@pytest.mark.parametrize(("origin", "status"), ORIGINS)
def test_foreign_origin_is_refused(
    method: str, origin: str, status: int, local_gateway: GatewayThread
) -> None:
    """GET is refused too: a stream is read by GET."""
    path, right = ("/end", 204) if method == "DELETE" else ("/who", 204 if method == "OPTIONS" else 200)
    headers = [("Origin", origin.format(port=local_gateway.port)), ("Sec-Fetch-Site", "same-origin")]
    response = local_gateway.request(path, headers, method=method)
    assert response.status == (right if status == 200 else 403)


def test_foreign_origin_is_refused_even_with_a_token(local_gateway: GatewayThread) -> None:
    for path in ("/who", "/open", "/nowhere"):
        headers = [("Origin", "http://evil.example"), bearer(local_gateway.token)]
        assert local_gateway.request(path, headers).code == "forbidden"


def test_https_origin_is_accepted_for_an_allowed_host(local_gateway: GatewayThread) -> None:
    host = "thinkaloud.example"
    for scheme in ("http", "https"):
        headers = [("Origin", f"{scheme}://{host}"), bearer(local_gateway.token)]
        assert local_gateway.request("/who", headers, host=host).status == 200
    assert (
        local_gateway.request(
            "/who", [("Origin", f"https://{host}:1"), bearer(local_gateway.token)], host=host
        ).status
        == 403
    )


@pytest.mark.parametrize(
    ("site", "status"),
    [
        ("same-origin", 200),
        ("none", 200),
        ("same-site", 403),
        ("cross-site", 403),
        ("Same-Origin", 403),
        ("", 403),
    ],
)
def test_sec_fetch_site_is_checked(site: str, status: int, local_gateway: GatewayThread) -> None:
    assert local_gateway.request("/who", [("Sec-Fetch-Site", site)]).status == status


def test_cross_site_form_is_refused(local_gateway: GatewayThread) -> None:
    """What a page can send without a preflight: no JSON, and a foreign origin."""
    form = ("Content-Type", "application/x-www-form-urlencoded")
    foreign = ("Origin", "http://evil.example")
    assert local_gateway.request("/say", [form, foreign], method="POST", body=b"{}").status == 403
    assert local_gateway.request("/say", [form], method="POST", body=b"{}").status == 415
    assert local_gateway.request("/say", [JSON, foreign], method="POST", body=b"{}").status == 403


def test_loopback_request_needs_no_token(local_gateway: GatewayThread) -> None:
    assert local_gateway.request("/who").json["user"] == "local"
    assert local_gateway.request("/open").json["user"] == ""


@FORMS
def test_start_token_authenticates_the_local_user(
    form: Form, local_gateway: GatewayThread, shared_gateway: GatewayThread
) -> None:
    for gateway in (local_gateway, shared_gateway):
        response = gateway.request("/who", [form(gateway.token)])
        assert response.json == {
            "user": "local",
            "workspace": gateway.gateway.local_owner.workspace,
            "resource": "",
        }


def test_auth_token_mode_requires_a_token(shared_gateway: GatewayThread) -> None:
    response = shared_gateway.request("/who")
    assert (response.status, response.code, response.headers["www-authenticate"]) == (
        401,
        "unauthorised",
        "Bearer",
    )
    assert shared_gateway.request("/open").status == 200
    assert shared_gateway.request("/of/ses_x").status == 401


BAD_TOKENS = [
    "",
    " ",
    "x",
    "tka_",
    "tka_" + "a" * 43,
    "tka_" + "a" * 42,
    "tka_" + "a" * 44,
    "TKA_" + "a" * 43,
    "tka_" + "a" * 42 + "'",
    "tka_" + "a" * 42 + "\xe9",
    "' OR 1=1 --",
    "null",
    "undefined",
]


@FORMS
@pytest.mark.parametrize("secret", BAD_TOKENS)
def test_invalid_token_is_refused_even_if_none_is_needed(
    secret: str, form: Form, local_gateway: GatewayThread, shared_gateway: GatewayThread
) -> None:
    """S9: also where no token is needed, and on public routes."""
    for gateway in (local_gateway, shared_gateway):
        for path in ("/who", "/open", "/of/ses_x"):
            response = gateway.request(path, [form(secret)])
            assert (response.status, response.headers["www-authenticate"]) == (401, "Bearer")
            assert len(secret) < 5 or secret not in response.body.decode()


@pytest.mark.parametrize("value", ["Basic bG9jYWw6", "Bearer", "Token {token}", "{token}", "Digest x", ""])
def test_other_authorization_schemes_are_refused(value: str, local_gateway: GatewayThread) -> None:
    assert (
        local_gateway.request("/who", [("Authorization", value.format(token=local_gateway.token))]).status
        == 401
    )


@pytest.mark.parametrize("value", ["bearer {token}", "BEARER {token}", "Bearer  {token} "])
def test_spellings_of_bearer_are_accepted(value: str, shared_gateway: GatewayThread) -> None:
    assert (
        shared_gateway.request("/who", [("Authorization", value.format(token=shared_gateway.token))]).status
        == 200
    )


def test_two_different_tokens_are_refused(shared_gateway: GatewayThread) -> None:
    """S8."""
    other = new_start_token()
    assert (
        shared_gateway.request("/who", [bearer(shared_gateway.token), api_key(shared_gateway.token)]).status
        == 200
    )
    for headers in (
        [bearer(shared_gateway.token), api_key(other)],
        [bearer(other), api_key(shared_gateway.token)],
        [bearer(shared_gateway.token), bearer(shared_gateway.token)],
        [api_key(shared_gateway.token), api_key(other)],
    ):
        assert shared_gateway.request("/who", headers).code == "bad_request"


def test_token_in_query_or_cookie_is_ignored(shared_gateway: GatewayThread) -> None:
    assert shared_gateway.request(f"/who?token={shared_gateway.token}").status == 401
    assert (
        shared_gateway.request(
            f"/who?access_token={shared_gateway.token}&api_key={shared_gateway.token}"
        ).status
        == 401
    )
    assert (
        shared_gateway.request(
            "/who", [("Cookie", f"token={shared_gateway.token}; Authorization={shared_gateway.token}")]
        ).status
        == 401
    )
    assert (
        shared_gateway.request("/who", [("Proxy-Authorization", f"Bearer {shared_gateway.token}")]).status
        == 401
    )


def _user(gateway: GatewayThread, name: str, workspace: str = "default") -> tuple[User, str, str]:
    def make(conn: Connection) -> tuple[User, str, str]:
        user = users.add_user(conn, name, NOW_MS, workspace)
        token, secret = users.create_token(conn, user.key, "", NOW_MS)
        return user, token.id, secret

    return gateway.write(make)


@FORMS
def test_users_come_with_tokens_of_their_own_until_they_are_revoked(
    form: Form, shared_gateway: GatewayThread
) -> None:
    """S9: a revoked token is worthless with the next request: nothing is remembered."""
    name = f"ana-{form.__name__}"
    _, token_id, secret = _user(shared_gateway, name)
    for _ in range(2):
        assert shared_gateway.request("/who", [form(secret)]).json["user"] == name
    assert shared_gateway.write(lambda conn: users.revoke_token(conn, token_id, NOW_MS))
    response = shared_gateway.request("/who", [form(secret)])
    assert (response.status, response.code) == (401, "unauthorised")


def test_a_user_who_is_removed_is_nobody(shared_gateway: GatewayThread) -> None:
    _, _, secret = _user(shared_gateway, "gone")
    assert shared_gateway.request("/who", [bearer(secret)]).status == 200
    shared_gateway.write(lambda conn: users.remove_user(conn, "gone"))
    assert shared_gateway.request("/who", [bearer(secret)]).status == 401


def test_foreign_workspace_is_not_found(shared_gateway: GatewayThread) -> None:
    rui, _, secret = _user(shared_gateway, "rui", "blue")
    shared_gateway.write(lambda conn: users.add_member(conn, rui.key, "green", NOW_MS))
    blue, green = shared_gateway.write(lambda conn: users.workspaces_of(conn, rui.key))
    default = shared_gateway.write(
        lambda conn: users.workspaces_of(conn, shared_gateway.gateway.local_owner.user)
    )[0]

    def request_workspace(workspace: str) -> tuple[int, int]:
        response = shared_gateway.request("/who", [bearer(secret), ("Thinkaloud-Workspace", workspace)])
        return response.status, response.json.get("workspace", 0)

    assert shared_gateway.request("/who", [bearer(secret)]).json["workspace"] == blue.key
    assert (request_workspace(blue.id), request_workspace(green.id)) == ((200, blue.key), (200, green.key))
    for foreign in (default.id, new_id("wsp"), "", "blue", "1", "' OR 1=1 --", "caf\xe9"):
        assert request_workspace(foreign) == (404, 0), foreign


class OwnedResources:
    """The resources of one user in one workspace."""

    def __init__(self, gateway: GatewayThread, name: str, workspace: str) -> None:
        user, self.token_id, self.secret = _user(gateway, name, workspace)
        member_workspace = gateway.write(lambda conn: users.workspaces_of(conn, user.key))[0]
        self.owner = Owner(user.key, member_workspace.key)
        self.session = gateway.write(lambda conn: sessions.create(conn, self.owner, now_ms=NOW_MS))
        self.turn = gateway.write(lambda conn: _turn(conn, self.session))
        spec = AgentSpec(name="Planner", model="vllm/qwen3-8b")
        self.agent = gateway.write(lambda conn: agents.create(conn, self.owner, spec, NOW_MS)).id

    @property
    def paths(self) -> dict[str, str]:
        return {"/of/": self.session.id, "/turn/": self.turn, "/agent/": self.agent}


def _turn(conn: Connection, session: Session) -> str:
    turn_request = NewTurnRow(messages=(), model="m", provider="p")
    return turns.start_turn(conn, session, turn_request, now_ms=NOW_MS, writer="w").turn.id


@pytest.fixture(scope="module")
def owner(shared_gateway: GatewayThread) -> OwnedResources:
    return OwnedResources(shared_gateway, "owner", "red")


@pytest.fixture(scope="module")
def neighbour(shared_gateway: GatewayThread) -> OwnedResources:
    return OwnedResources(shared_gateway, "neighbour", "red")


@pytest.fixture(scope="module")
def stranger(shared_gateway: GatewayThread) -> OwnedResources:
    return OwnedResources(shared_gateway, "stranger", "white")


def test_owner_finds_own_resources(shared_gateway: GatewayThread, owner: OwnedResources) -> None:
    for path, number in owner.paths.items():
        assert shared_gateway.request(path + number, [bearer(owner.secret)]).json["resource"] == number
    assert shared_gateway.request("/agent/" + owner.agent, [bearer(owner.secret)], method="PUT").status == 200


@FORMS
def test_foreign_resource_gives_the_same_404_as_a_missing_one(
    form: Form,
    shared_gateway: GatewayThread,
    owner: OwnedResources,
    neighbour: OwnedResources,
    stranger: OwnedResources,
) -> None:
    """The responses are identical, so that ids of other users cannot be probed."""
    missing = shared_gateway.request("/of/" + new_id("ses"), [form(stranger.secret)])
    assert (missing.status, missing.code) == (404, "not_found")
    for other_user in (neighbour, stranger):
        for path, number in owner.paths.items():
            if other_user is neighbour and path == "/agent/":
                continue
            response = shared_gateway.request(path + number, [form(other_user.secret)])
            assert (response.status, response.body) == (404, missing.body), path
        response = shared_gateway.request("/agent/" + owner.agent, [form(other_user.secret)], method="PUT")
        assert (response.status, response.body) == (404, missing.body)
    assert (
        shared_gateway.request("/agent/" + owner.agent, [form(neighbour.secret)]).json["resource"]
        == owner.agent
    )
    for path, number in owner.paths.items():
        assert shared_gateway.request(path + number).status == 401
        assert shared_gateway.request(path + number, [form(shared_gateway.token)]).body == missing.body


@pytest.mark.parametrize("number", ["x", "ses_", "1", "%00", "..", "' OR 1=1 --", "ses_" + "a" * 500])
def test_malformed_ids_are_not_found(number: str, local_gateway: GatewayThread) -> None:
    for path in ("/of/", "/turn/", "/agent/"):
        assert local_gateway.request(path + number.replace(" ", "%20")).status == 404


def test_public_address_without_tokens_is_refused() -> None:
    for host in ("0.0.0.0", "::"):
        with pytest.raises(Refused, match="--auth token"), bind_socket(ServeOptions(host=host)):
            pytest.fail("it was bound")


def test_loopback_addresses_need_no_tokens() -> None:
    for host in ("127.0.0.1", "localhost", "127.0.0.2"):
        with bind_socket(ServeOptions(host=host)) as sock:
            assert sock.getsockname()[0].startswith("127.") or sock.getsockname()[0] == "::1"


def test_unknown_bind_address_is_reported() -> None:
    with (
        pytest.raises(Refused, match="not an address of this machine"),
        bind_socket(ServeOptions(host="no.such.invalid")),
    ):
        pytest.fail("it was bound")


def test_port_in_use_is_reported() -> None:
    with bind_socket(ServeOptions()) as sock:
        sock.listen()
        port = sock.getsockname()[1]
        with pytest.raises(Refused, match=f"port {port} .* --port 0"), bind_socket(ServeOptions(port=port)):
            pytest.fail("it was bound")


def test_on_all_interfaces_the_accepting_address_is_an_allowed_host(tmp_path: Path) -> None:
    """DNS cannot repoint an IP address; any other name must be allowed explicitly."""
    with run_gateway(tmp_path, ServeOptions(host="0.0.0.0", token_required=True)) as gateway:
        token = [bearer(gateway.token)]
        assert gateway.request("/who", token, host=f"127.0.0.1:{gateway.port}").status == 200
        assert gateway.request("/who", token, host="evil.example").status == 421
        assert gateway.request("/who", token, host="192.0.2.7").status == 421
        assert gateway.request("/who", token, host=f"0.0.0.0:{gateway.port}").status == 421
        assert gateway.request("/who", host=f"127.0.0.1:{gateway.port}").status == 401
        with socket.create_connection(("127.0.0.2", gateway.port), timeout=PATIENCE_S) as connection:
            head = (
                f"GET /who HTTP/1.1\r\nHost: 127.0.0.2:{gateway.port}\r\n{token[0][0]}: {token[0][1]}\r\n\r\n"
            )
            connection.sendall(head.encode())
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_remote_peer_needs_a_token(tmp_path: Path) -> None:
    """The peer address decides, whatever the headers say."""

    async def check_callers() -> list[bool]:
        async with (
            open_database(tmp_path / "x.db") as database,
            Gateway(database, builtin_catalog()) as gateway,
        ):
            authenticator = Authenticator(gateway, ListenConfig(port=1))
            server_address, host = ("127.0.0.1", 1), {b"host": b"localhost"}
            peers = [("127.0.0.1", 9), ("127.3.2.1", 9), ("::1", 9), ("192.0.2.1", 9), ("", 9), None]
            return [authenticator.check_caller(host, peer, server_address).local for peer in peers]

    assert asyncio.run(check_callers()) == [True, True, True, False, False, False]


def test_loopback_address() -> None:
    assert [loopback_address(text) for text in ("127.0.0.1", "127.255.0.1", "::1", "::1%lo")] == [True] * 4
    assert not any(map(loopback_address, ("10.0.0.1", "0.0.0.0", "::", "localhost", "", "fe80::1%lo")))


def test_port_and_start_token_are_new_each_time(tmp_path: Path) -> None:
    async def twice() -> list[tuple[str, str]]:
        async with (
            open_database(tmp_path / "x.db") as database,
            Gateway(database, builtin_catalog()) as gateway,
        ):
            servers = []
            for _ in range(2):
                async with start_server(gateway) as server:
                    servers.append((server.url, server.token))
            return servers

    (first, one), (second, other) = asyncio.run(twice())
    assert one != other
    assert hash_token(one) != hash_token(other)
    assert first.startswith("http://127.0.0.1:")
    assert not first.endswith(":0")
    assert not second.endswith(":0")
