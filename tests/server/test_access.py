"""Who is let in: names, origins, credentials in both forms, workspaces, and what belongs to whom."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection
from tests.patience import PATIENCE_S
from tests.server.house import JSON, NOW_MS, House, api_key, bearer, house

from thinkaloud.canon import Refused
from thinkaloud.catalog import builtin
from thinkaloud.server.access import Entrance, Reception, hashed, loopback, new_start_token
from thinkaloud.server.gateway import Gateway
from thinkaloud.server.serving import Address, bound, listening
from thinkaloud.store import agents, ids, people, sessions, turns
from thinkaloud.store.rows import AgentSpec, Owner, Session, User
from thinkaloud.store.sqlite import opened
from thinkaloud.store.turns import Asked

Form = Callable[[str], tuple[str, str]]
FORMS = pytest.mark.parametrize("form", [bearer, api_key])
"""Whatever is true of one form of credentials is true of the other."""


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A gateway of this machine, which answers to two other names as well."""
    address = Address(allowed_hosts=("thinkaloud.example", "tunnel.example:9000"))
    with house(tmp_path_factory.mktemp("near"), address) as found:
        yield found


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A gateway where everybody needs a token."""
    with house(tmp_path_factory.mktemp("shared"), Address(token_required=True)) as found:
        yield found


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
def test_only_our_own_names_lead_here(host: str, status: int, near: House) -> None:
    """A name of somebody else's that was pointed at this machine gets nothing, whatever the path."""
    name = host.format(port=near.port).encode().decode("latin-1")
    for path in ("/who", "/open"):
        told = near.ask(path, host=name)
        assert told.status == status
        if status == 421:
            assert "--allow-host" in told.json["error"]["message"]
    assert status == 200 or near.ask("/nowhere", host=name).status == status


@pytest.mark.parametrize("host", ["thinkaloud.example", "Thinkaloud.Example:{port}", "tunnel.example:9000"])
def test_whoever_comes_by_another_name_needs_a_token(host: str, near: House) -> None:
    """Behind such a name is a tunnel or a proxy, and behind that anybody."""
    name = host.format(port=near.port)
    assert near.ask("/who", host=name).status == 401
    assert near.ask("/open", host=name).status == 200
    assert near.ask("/who", [bearer(near.token)], host=name).json["user"] == "local"


@pytest.mark.parametrize(
    "header",
    [
        ("X-Forwarded-For", "192.0.2.1"),
        ("X-Forwarded-For", "127.0.0.1"),
        ("X-Forwarded-Host", "localhost"),
        ("X-Real-IP", "127.0.0.1"),
        ("Forwarded", "for=127.0.0.1"),
        ("Via", "1.1 proxy"),
    ],
)
def test_what_went_through_other_hands_needs_a_token(header: tuple[str, str], near: House) -> None:
    assert near.ask("/who", [header]).status == 401
    assert near.ask("/who", [header, bearer(near.token)]).status == 200


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
def test_other_sites_pages_get_nothing(method: str, origin: str, status: int, near: House) -> None:
    """Also what changes nothing: a stream of thoughts is read by GET."""
    path, right = ("/end", 204) if method == "DELETE" else ("/who", 204 if method == "OPTIONS" else 200)
    headers = [("Origin", origin.format(port=near.port)), ("Sec-Fetch-Site", "same-origin")]
    told = near.ask(path, headers, method=method)
    assert told.status == (right if status == 200 else 403)


def test_a_foreign_origin_is_refused_with_credentials_too(near: House) -> None:
    for path in ("/who", "/open", "/nowhere"):
        headers = [("Origin", "http://evil.example"), bearer(near.token)]
        assert near.ask(path, headers).code == "forbidden"


def test_a_proxy_in_front_may_encrypt(near: House) -> None:
    host = "thinkaloud.example"
    for scheme in ("http", "https"):
        headers = [("Origin", f"{scheme}://{host}"), bearer(near.token)]
        assert near.ask("/who", headers, host=host).status == 200
    assert near.ask("/who", [("Origin", f"https://{host}:1"), bearer(near.token)], host=host).status == 403


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
def test_the_browser_says_which_site_asks(site: str, status: int, near: House) -> None:
    assert near.ask("/who", [("Sec-Fetch-Site", site)]).status == status


def test_a_form_of_another_site_changes_nothing(near: House) -> None:
    """What a page can send without asking: no JSON, and an origin that is not ours."""
    form = ("Content-Type", "application/x-www-form-urlencoded")
    foreign = ("Origin", "http://evil.example")
    assert near.ask("/say", [form, foreign], method="POST", body=b"{}").status == 403
    assert near.ask("/say", [form], method="POST", body=b"{}").status == 415
    assert near.ask("/say", [JSON, foreign], method="POST", body=b"{}").status == 403


def test_this_machine_needs_no_token(near: House) -> None:
    assert near.ask("/who").json["user"] == "local"
    assert near.ask("/open").json["user"] == ""


@FORMS
def test_the_token_of_the_start_acts_for_the_local_user(form: Form, near: House, shared: House) -> None:
    for found in (near, shared):
        told = found.ask("/who", [form(found.token)])
        assert told.json == {"user": "local", "workspace": found.gateway.local.workspace, "found": ""}


def test_where_tokens_are_asked_for_nobody_comes_without(shared: House) -> None:
    told = shared.ask("/who")
    assert (told.status, told.code, told.headers["www-authenticate"]) == (401, "unauthorised", "Bearer")
    assert shared.ask("/open").status == 200
    assert shared.ask("/of/ses_x").status == 401


BAD = [
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
@pytest.mark.parametrize("secret", BAD)
def test_credentials_that_are_shown_must_be_right(
    secret: str, form: Form, near: House, shared: House
) -> None:
    """Also where none are needed, and on what is open to everybody."""
    for found in (near, shared):
        for path in ("/who", "/open", "/of/ses_x"):
            told = found.ask(path, [form(secret)])
            assert (told.status, told.headers["www-authenticate"]) == (401, "Bearer")
            assert len(secret) < 5 or secret not in told.body.decode()


@pytest.mark.parametrize("value", ["Basic bG9jYWw6", "Bearer", "Token {token}", "{token}", "Digest x", ""])
def test_an_authorization_of_another_kind_is_refused(value: str, near: House) -> None:
    assert near.ask("/who", [("Authorization", value.format(token=near.token))]).status == 401


@pytest.mark.parametrize("value", ["bearer {token}", "BEARER {token}", "Bearer  {token} "])
def test_bearer_may_be_spelt_as_it_is_spelt(value: str, shared: House) -> None:
    assert shared.ask("/who", [("Authorization", value.format(token=shared.token))]).status == 200


def test_two_credentials_must_be_one(shared: House) -> None:
    other = new_start_token()
    assert shared.ask("/who", [bearer(shared.token), api_key(shared.token)]).status == 200
    for headers in (
        [bearer(shared.token), api_key(other)],
        [bearer(other), api_key(shared.token)],
        [bearer(shared.token), bearer(shared.token)],
        [api_key(shared.token), api_key(other)],
    ):
        assert shared.ask("/who", headers).code == "bad_request"


def test_credentials_are_taken_from_nowhere_else(shared: House) -> None:
    assert shared.ask(f"/who?token={shared.token}").status == 401
    assert shared.ask(f"/who?access_token={shared.token}&api_key={shared.token}").status == 401
    assert (
        shared.ask("/who", [("Cookie", f"token={shared.token}; Authorization={shared.token}")]).status == 401
    )
    assert shared.ask("/who", [("Proxy-Authorization", f"Bearer {shared.token}")]).status == 401


def _user(found: House, name: str, workspace: str = "default") -> tuple[User, str, str]:
    def make(conn: Connection) -> tuple[User, str, str]:
        user = people.add_user(conn, name, NOW_MS, workspace)
        token, secret = people.create_token(conn, user.key, "", NOW_MS)
        return user, token.id, secret

    return found.write(make)


@FORMS
def test_users_come_with_tokens_of_their_own_until_they_are_revoked(form: Form, shared: House) -> None:
    """A revoked token is worthless with the next request: nothing is remembered."""
    name = f"ana-{form.__name__}"
    _, token_id, secret = _user(shared, name)
    for _ in range(2):
        assert shared.ask("/who", [form(secret)]).json["user"] == name
    assert shared.write(lambda conn: people.revoke_token(conn, token_id, NOW_MS))
    told = shared.ask("/who", [form(secret)])
    assert (told.status, told.code) == (401, "unauthorised")


def test_a_user_who_is_removed_is_nobody(shared: House) -> None:
    _, _, secret = _user(shared, "gone")
    assert shared.ask("/who", [bearer(secret)]).status == 200
    shared.write(lambda conn: people.remove_user(conn, "gone"))
    assert shared.ask("/who", [bearer(secret)]).status == 401


def test_a_workspace_is_ones_own_or_not_there(shared: House) -> None:
    rui, _, secret = _user(shared, "rui", "blue")
    shared.write(lambda conn: people.add_member(conn, rui.key, "green", NOW_MS))
    blue, green = shared.write(lambda conn: people.workspaces_of(conn, rui.key))
    default = shared.write(lambda conn: people.workspaces_of(conn, shared.gateway.local.user))[0]

    def come(workspace: str) -> tuple[int, int]:
        told = shared.ask("/who", [bearer(secret), ("Thinkaloud-Workspace", workspace)])
        return told.status, told.json.get("workspace", 0)

    assert shared.ask("/who", [bearer(secret)]).json["workspace"] == blue.key
    assert (come(blue.id), come(green.id)) == ((200, blue.key), (200, green.key))
    for foreign in (default.id, ids.new("wsp"), "", "blue", "1", "' OR 1=1 --", "caf\xe9"):
        assert come(foreign) == (404, 0), foreign


class Theirs:
    """What one user has in one workspace."""

    def __init__(self, found: House, name: str, workspace: str) -> None:
        user, self.token_id, self.secret = _user(found, name, workspace)
        place = found.write(lambda conn: people.workspaces_of(conn, user.key))[0]
        self.owner = Owner(user.key, place.key)
        self.session = found.write(lambda conn: sessions.create(conn, self.owner, now_ms=NOW_MS))
        self.turn = found.write(lambda conn: _turn(conn, self.session))
        spec = AgentSpec(name="Planner", model="vllm/qwen3-8b")
        self.agent = found.write(lambda conn: agents.create(conn, self.owner, spec, NOW_MS)).id

    @property
    def paths(self) -> dict[str, str]:
        return {"/of/": self.session.id, "/turn/": self.turn, "/agent/": self.agent}


def _turn(conn: Connection, session: Session) -> str:
    asked = Asked(messages=(), model="m", provider="p")
    return turns.start(conn, session, asked, now_ms=NOW_MS, writer="w", lease_until_ms=NOW_MS).turn.id


@pytest.fixture(scope="module")
def owner(shared: House) -> Theirs:
    return Theirs(shared, "owner", "red")


@pytest.fixture(scope="module")
def neighbour(shared: House) -> Theirs:
    return Theirs(shared, "neighbour", "red")


@pytest.fixture(scope="module")
def stranger(shared: House) -> Theirs:
    return Theirs(shared, "stranger", "white")


def test_what_is_ones_own_is_found(shared: House, owner: Theirs) -> None:
    for path, number in owner.paths.items():
        assert shared.ask(path + number, [bearer(owner.secret)]).json["found"] == number
    assert shared.ask("/agent/" + owner.agent, [bearer(owner.secret)], method="PUT").status == 200


@FORMS
def test_what_is_somebody_elses_looks_like_what_is_not_there(
    form: Form, shared: House, owner: Theirs, neighbour: Theirs, stranger: Theirs
) -> None:
    """The very same answer, so that nobody can find out what others have."""
    missing = shared.ask("/of/" + ids.new("ses"), [form(stranger.secret)])
    assert (missing.status, missing.code) == (404, "not_found")
    for who in (neighbour, stranger):
        for path, number in owner.paths.items():
            if who is neighbour and path == "/agent/":
                continue
            told = shared.ask(path + number, [form(who.secret)])
            assert (told.status, told.body) == (404, missing.body), path
        told = shared.ask("/agent/" + owner.agent, [form(who.secret)], method="PUT")
        assert (told.status, told.body) == (404, missing.body)
    assert shared.ask("/agent/" + owner.agent, [form(neighbour.secret)]).json["found"] == owner.agent
    for path, number in owner.paths.items():
        assert shared.ask(path + number).status == 401
        assert shared.ask(path + number, [form(shared.token)]).body == missing.body


@pytest.mark.parametrize("number", ["x", "ses_", "1", "%00", "..", "' OR 1=1 --", "ses_" + "a" * 500])
def test_ids_that_are_none_are_not_there(number: str, near: House) -> None:
    for path in ("/of/", "/turn/", "/agent/"):
        assert near.ask(path + number.replace(" ", "%20")).status == 404


def test_a_public_address_needs_tokens() -> None:
    for host in ("0.0.0.0", "::"):
        with pytest.raises(Refused, match="--auth token"), bound(Address(host=host)):
            pytest.fail("it was bound")


def test_loopback_addresses_need_none() -> None:
    for host in ("127.0.0.1", "localhost", "127.0.0.2"):
        with bound(Address(host=host)) as sock:
            assert sock.getsockname()[0].startswith("127.") or sock.getsockname()[0] == "::1"


def test_a_name_that_is_no_address_is_told() -> None:
    with pytest.raises(Refused, match="no address of this machine"), bound(Address(host="no.such.invalid")):
        pytest.fail("it was bound")


def test_a_port_that_is_taken_is_told() -> None:
    with bound(Address()) as sock:
        sock.listen()
        port = sock.getsockname()[1]
        with pytest.raises(Refused, match=f"Port {port} .* --port 0"), bound(Address(port=port)):
            pytest.fail("it was bound")


def test_on_all_addresses_the_one_that_was_used_is_a_name(tmp_path: Path) -> None:
    """An address of numbers cannot be pointed elsewhere; every other name is to be allowed by hand."""
    with house(tmp_path, Address(host="0.0.0.0", token_required=True)) as found:
        token = [bearer(found.token)]
        assert found.ask("/who", token, host=f"127.0.0.1:{found.port}").status == 200
        assert found.ask("/who", token, host="evil.example").status == 421
        assert found.ask("/who", token, host="192.0.2.7").status == 421
        assert found.ask("/who", token, host=f"0.0.0.0:{found.port}").status == 421
        assert found.ask("/who", host=f"127.0.0.1:{found.port}").status == 401
        with socket.create_connection(("127.0.0.2", found.port), timeout=PATIENCE_S) as connection:
            head = (
                f"GET /who HTTP/1.1\r\nHost: 127.0.0.2:{found.port}\r\n{token[0][0]}: {token[0][1]}\r\n\r\n"
            )
            connection.sendall(head.encode())
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_who_is_not_on_this_machine_needs_a_token(tmp_path: Path) -> None:
    """The peer counts, whatever the headers say of it."""

    async def come() -> list[bool]:
        async with opened(tmp_path / "x.db") as database, Gateway(database, builtin()) as gateway:
            reception = Reception(gateway, Entrance(port=1))
            here, host = ("127.0.0.1", 1), {b"host": b"localhost"}
            peers = [("127.0.0.1", 9), ("127.3.2.1", 9), ("::1", 9), ("192.0.2.1", 9), ("", 9), None]
            return [reception.visitor(host, peer, here).near for peer in peers]

    assert asyncio.run(come()) == [True, True, True, False, False, False]


def test_what_loopback_is() -> None:
    assert [loopback(text) for text in ("127.0.0.1", "127.255.0.1", "::1", "::1%lo")] == [True] * 4
    assert not any(map(loopback, ("10.0.0.1", "0.0.0.0", "::", "localhost", "", "fe80::1%lo")))


def test_the_port_and_the_token_are_new_each_time(tmp_path: Path) -> None:
    async def twice() -> list[tuple[str, str]]:
        async with opened(tmp_path / "x.db") as database, Gateway(database, builtin()) as gateway:
            told = []
            for _ in range(2):
                async with listening(gateway) as place:
                    told.append((place.url, place.token))
            return told

    (first, one), (second, other) = asyncio.run(twice())
    assert one != other
    assert hashed(one) != hashed(other)
    assert first.startswith("http://127.0.0.1:")
    assert not first.endswith(":0")
    assert not second.endswith(":0")
