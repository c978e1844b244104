"""Who comes in: the names the gateway answers to, whose credentials these are, and what they may touch.

One authenticator for every form of credentials, and one `authorize` that every route goes through: a
handler cannot run without the `Granted` that only it makes. Nothing is remembered between requests, so a
token that is revoked is worthless at once.
"""

import hashlib
import hmac
import ipaddress
import re
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Connection

from thinkaloud.server.refusals import BadRequest, Forbidden, Misdirected, NotFound, Unauthorised
from thinkaloud.server.routing import Access, Granted, Resource, Route
from thinkaloud.store import agents, people, sessions, turns
from thinkaloud.store.rows import Owner, User

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway

Headers = Mapping[bytes, bytes]
"""By lower-case name, each at most once."""

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
EVERYWHERE = ("0.0.0.0", "::")
FORWARDED = (b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip")
"""Who sends one of these stands between the gateway and somebody else."""

_TOKEN = re.compile(r"tka_[A-Za-z0-9_-]{43}")
_PORT = re.compile(r":\d+$")
_OWN_PAGES = (b"same-origin", b"none")


class Entrance(msgspec.Struct, frozen=True, kw_only=True):
    """Where the gateway listens, the names it answers to, and whether everybody needs a token."""

    bound_host: str = "127.0.0.1"
    port: int = 0
    allowed_hosts: tuple[str, ...] = ()
    """More names, each with a port or without; whoever comes by one of them needs a token."""
    token_required: bool = False
    start_token: bytes = b""
    """SHA-256 of the token that was printed at the start; it acts for the local user."""


class Visitor(msgspec.Struct, frozen=True):
    """Somebody who came by one of our names, and from no other site's page."""

    headers: Headers
    near: bool
    """Whether they came from this machine under this machine's own name, through nobody's hands."""


def new_start_token() -> str:
    """A token of the same form as those that users have."""
    return f"tka_{secrets.token_urlsafe(32)}"


def hashed(secret: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(secret.encode()).digest()


def loopback(address: str) -> bool:
    """Whether an IP address is this machine's own."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


class Reception:
    """Looks at everybody who comes, before anything is read or done for them."""

    def __init__(self, gateway: "Gateway", entrance: Entrance) -> None:
        self._gateway = gateway
        self._entrance = entrance
        self._everywhere = entrance.bound_host in EVERYWHERE
        bound = f"[{entrance.bound_host}]" if ":" in entrance.bound_host else entrance.bound_host
        own = {*LOOPBACK_NAMES, bound} if loopback(entrance.bound_host) else {*LOOPBACK_NAMES}
        other = {*entrance.allowed_hosts} if self._everywhere else {*entrance.allowed_hosts, bound}
        self._near = _with_port(own, entrance.port)
        self._names = self._near | _with_port(other, entrance.port)
        self._local: User | None = None

    def visitor(
        self, headers: Headers, peer: tuple[str, int] | None, here: tuple[str, int | None] | None
    ) -> Visitor:
        """Refuse what does not come by one of our names, or comes from another site's page."""
        host = self._host(headers, here)
        near = host in self._near
        self._check_origin(headers, host, near=near)
        direct = peer is not None and loopback(peer[0]) and not any(name in headers for name in FORWARDED)
        return Visitor(headers, near and direct)

    async def admit(self, route: Route, visitor: Visitor, path: Mapping[str, str]) -> Granted:
        """Who it is and what they may touch: one look at the database, or none."""
        secret = _secret(visitor.headers)
        workspace = visitor.headers.get(b"thinkaloud-workspace")
        if route.access is Access.PUBLIC and not secret:
            return Granted()  # health is told also while the database is in trouble
        local = self._local or await self._load_local()
        trusted = local if visitor.near and not self._entrance.token_required else None

        def decide(conn: Connection | None) -> Granted:
            user = trusted if not secret else authenticate(conn, self._entrance, secret, local)
            return authorize(conn, route, user, self._owner(conn, user, workspace), path)

        if secret or workspace is not None or route.resource:
            return await self._gateway.database.read(decide)
        return decide(None)

    def _owner(self, conn: Connection | None, user: User | None, workspace: bytes | None) -> Owner | None:
        """A user in the workspace that the header names, or in the first of theirs."""
        if user is None:
            return None
        home = self._gateway.local
        if user.key == home.user and workspace is None:
            return home
        assert conn is not None
        theirs = people.workspaces_of(conn, user.key)
        found = theirs[:1] if workspace is None else [one for one in theirs if one.id.encode() == workspace]
        if not found:
            raise NotFound()
        return Owner(user.key, found[0].key)

    async def _load_local(self) -> User:
        everybody = await self._gateway.database.read(people.users)
        self._local = next(user for user in everybody if user.key == self._gateway.local.user)
        return self._local

    def _host(self, headers: Headers, here: tuple[str, int | None] | None) -> str:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if host in self._names or (self._everywhere and here is not None and host in _address(here)):
            return host
        if not host:
            raise BadRequest("The request has no Host header. HTTP asks for one.")
        raise Misdirected(
            "The gateway does not answer to the name in the Host header, so that nobody can make a name of "
            "theirs lead here. Use the address that was printed at the start, or start the gateway with "
            "--allow-host NAME."
        )

    @staticmethod
    def _check_origin(headers: Headers, host: str, *, near: bool) -> None:
        origin = headers.get(b"origin")
        if origin is not None:
            told = origin.decode("latin-1").lower()
            # Behind one of the other names may be a proxy that encrypts; here nothing does.
            if told != f"http://{host}" and (near or told != f"https://{host}"):
                raise Forbidden(
                    "The request comes from a page of another site, as its Origin says, and those may not "
                    "use the gateway. Open the gateway's own address, or ask without a browser."
                )
        if headers.get(b"sec-fetch-site", b"none") not in _OWN_PAGES:
            raise Forbidden(
                "The browser says that another site's page asks (Sec-Fetch-Site), and those may not use the "
                "gateway. Open the gateway's own address."
            )


def authenticate(conn: Connection | None, entrance: Entrance, secret: str, local: User) -> User:
    """Whose credentials these are. What is shown must be right, also where nothing need be shown."""
    if hmac.compare_digest(hashed(secret), entrance.start_token):
        return local
    assert conn is not None
    user = people.token_user(conn, secret)
    if user is None:
        raise Unauthorised(
            "This token is not valid: it was revoked, or never given out. "
            "`thinkaloud tokens create` makes a new one."
        )
    return user


def authorize(
    conn: Connection | None, route: Route, user: User | None, owner: Owner | None, path: Mapping[str, str]
) -> Granted:
    """What a route may be run with; what is missing and what is somebody else's are the same 404."""
    if route.access is Access.PUBLIC:
        return Granted(user=user, owner=owner)
    if user is None or owner is None:
        raise Unauthorised(
            "The gateway does not know who asks. Send a token as `Authorization: Bearer TOKEN`: the one "
            "printed at its start, or one of `thinkaloud tokens create`."
        )
    granted = Granted(user=user, owner=owner)
    if route.resource is Resource.NONE:
        return granted
    assert conn is not None
    match route.resource:
        case Resource.SESSION:
            return _found(granted, session=sessions.get(conn, owner, path["session"]))
        case Resource.TURN:
            return _found(granted, turn=turns.get(conn, owner, path["turn"]))
        case Resource.AGENT | Resource.OWN_AGENT as how:
            agent = agents.get(conn, owner, path["agent"])
            foreign = how is Resource.OWN_AGENT and agent is not None and agent.owner != owner
            return _found(granted, agent=None if foreign else agent)


def _found(granted: Granted, **resource: object) -> Granted:
    if None in resource.values():
        raise NotFound()
    return msgspec.structs.replace(granted, **resource)


def _secret(headers: Headers) -> str:
    """The one secret of all forms of credentials."""
    shown = set()
    if (given := headers.get(b"authorization")) is not None:
        scheme, _, token = given.decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthorised("The Authorization header is not of the form `Bearer TOKEN`.")
        shown.add(token.strip())
    if (given := headers.get(b"x-api-key")) is not None:
        shown.add(given.decode("latin-1").strip())
    if len(shown) > 1:
        raise BadRequest("Authorization and X-Api-Key show different credentials. Send one of them.")
    for token in shown:
        if not _TOKEN.fullmatch(token):
            raise Unauthorised("What was sent as a token is none of ours: those are tka_ and 43 characters.")
        return token
    return ""


def _with_port(names: set[str], port: int) -> frozenset[str]:
    """Each name alone and with the port, but for those that bring a port of their own."""
    told = {name.lower() for name in names}
    return frozenset(told | {f"{name}:{port}" for name in told if not _PORT.search(name)})


def _address(here: tuple[str, int | None]) -> tuple[str, str]:
    """How the address at which a connection came in is written; no other site's name can look like it."""
    host = f"[{here[0]}]" if ":" in here[0] else here[0]
    return host, f"{host}:{here[1]}"
