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

from thinkaloud.server.endpoint import Access, ApiRoute, Grant, Resource
from thinkaloud.server.errors import BadRequest, Forbidden, MisdirectedRequest, NotFound, Unauthorised
from thinkaloud.store import agents, sessions, turns, users
from thinkaloud.store.rows import Owner, User

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway

RequestHeaders = Mapping[bytes, bytes]
"""By lower-case name, each at most once."""

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
ALL_INTERFACES = ("0.0.0.0", "::")
PROXY_HEADERS = (b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip")
"""Who sends one of these stands between the gateway and somebody else."""

_TOKEN_PATTERN = re.compile(r"tka_[A-Za-z0-9_-]{43}")
_PORT_SUFFIX = re.compile(r":\d+$")
_TRUSTED_FETCH_SITES = (b"same-origin", b"none")


class ListenConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Where the gateway listens, the names it answers to, and whether everybody needs a token."""

    bound_host: str = "127.0.0.1"
    port: int = 0
    allowed_hosts: tuple[str, ...] = ()
    """More names, each with a port or without; whoever comes by one of them needs a token."""
    token_required: bool = False
    start_token_hash: bytes = b""
    """SHA-256 of the token that was printed at the start; it acts for the local user."""


class Caller(msgspec.Struct, frozen=True):
    """Somebody who came by one of our names, and from no other site's page."""

    headers: RequestHeaders
    local: bool
    """Whether they came from this machine under this machine's own name, through nobody's hands."""


def new_start_token() -> str:
    """A token of the same form as those that users have."""
    return f"tka_{secrets.token_urlsafe(32)}"


def hash_token(secret: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(secret.encode()).digest()


def loopback_address(address: str) -> bool:
    """Whether an IP address is this machine's own."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


class Authenticator:
    """Looks at everybody who comes, before anything is read or done for them."""

    def __init__(self, gateway: "Gateway", config: ListenConfig) -> None:
        self._gateway = gateway
        self._config = config
        self._on_all_interfaces = config.bound_host in ALL_INTERFACES
        bound_name = f"[{config.bound_host}]" if ":" in config.bound_host else config.bound_host
        local_names = (
            {*LOOPBACK_NAMES, bound_name} if loopback_address(config.bound_host) else {*LOOPBACK_NAMES}
        )
        other_names = (
            {*config.allowed_hosts} if self._on_all_interfaces else {*config.allowed_hosts, bound_name}
        )
        self._local_hosts = _with_port(local_names, config.port)
        self._known_hosts = self._local_hosts | _with_port(other_names, config.port)
        self._local_user: User | None = None

    def check_caller(
        self,
        headers: RequestHeaders,
        peer: tuple[str, int] | None,
        server_address: tuple[str, int | None] | None,
    ) -> Caller:
        """Refuse what does not come by one of our names, or comes from another site's page."""
        host = self._check_host(headers, server_address)
        by_local_name = host in self._local_hosts
        self._check_origin(headers, host, by_local_name=by_local_name)
        direct = (
            peer is not None
            and loopback_address(peer[0])
            and not any(name in headers for name in PROXY_HEADERS)
        )
        return Caller(headers, by_local_name and direct)

    async def grant_access(self, route: ApiRoute, caller: Caller, path_params: Mapping[str, str]) -> Grant:
        """Who it is and what they may touch: one look at the database, or none."""
        secret = _read_secret(caller.headers)
        workspace = caller.headers.get(b"thinkaloud-workspace")
        if route.access is Access.PUBLIC and not secret:
            return Grant()  # health is told also while the database is in trouble
        local_user = self._local_user or await self._load_local_user()
        trusted_user = local_user if caller.local and not self._config.token_required else None

        def decide(conn: Connection | None) -> Grant:
            user = trusted_user if not secret else authenticate(conn, self._config, secret, local_user)
            return authorize(conn, route, user, self._owner(conn, user, workspace), path_params)

        if secret or workspace is not None or route.resource:
            return await self._gateway.database.read(decide)
        return decide(None)

    def _owner(self, conn: Connection | None, user: User | None, workspace: bytes | None) -> Owner | None:
        """A user in the workspace that the header names, or in the first of theirs."""
        if user is None:
            return None
        local_owner = self._gateway.local_owner
        if user.key == local_owner.user and workspace is None:
            return local_owner
        assert conn is not None
        workspaces = users.workspaces_of(conn, user.key)
        matches = (
            workspaces[:1]
            if workspace is None
            else [candidate for candidate in workspaces if candidate.id.encode() == workspace]
        )
        if not matches:
            raise NotFound()
        return Owner(user.key, matches[0].key)

    async def _load_local_user(self) -> User:
        known = await self._gateway.database.read(users.list_users)
        self._local_user = next(user for user in known if user.key == self._gateway.local_owner.user)
        return self._local_user

    def _check_host(self, headers: RequestHeaders, server_address: tuple[str, int | None] | None) -> str:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if host in self._known_hosts or (
            self._on_all_interfaces and server_address is not None and host in _host_spellings(server_address)
        ):
            return host
        if not host:
            raise BadRequest("The request has no Host header. HTTP asks for one.")
        raise MisdirectedRequest(
            "The gateway does not answer to the name in the Host header, so that nobody can make a name of "
            "theirs lead here. Use the address that was printed at the start, or start the gateway with "
            "--allow-host NAME."
        )

    @staticmethod
    def _check_origin(headers: RequestHeaders, host: str, *, by_local_name: bool) -> None:
        origin = headers.get(b"origin")
        if origin is not None:
            origin_url = origin.decode("latin-1").lower()
            # Behind one of the other names may be a proxy that encrypts; here nothing does.
            if origin_url != f"http://{host}" and (by_local_name or origin_url != f"https://{host}"):
                raise Forbidden(
                    "The request comes from a page of another site, as its Origin says, and those may not "
                    "use the gateway. Open the gateway's own address, or ask without a browser."
                )
        if headers.get(b"sec-fetch-site", b"none") not in _TRUSTED_FETCH_SITES:
            raise Forbidden(
                "The browser says that another site's page asks (Sec-Fetch-Site), and those may not use the "
                "gateway. Open the gateway's own address."
            )


def authenticate(conn: Connection | None, config: ListenConfig, secret: str, local_user: User) -> User:
    """Whose credentials these are. What is shown must be right, also where nothing need be shown."""
    if hmac.compare_digest(hash_token(secret), config.start_token_hash):
        return local_user
    assert conn is not None
    user = users.token_user(conn, secret)
    if user is None:
        raise Unauthorised(
            "This token is not valid: it was revoked, or never given out. "
            "`thinkaloud tokens create` makes a new one."
        )
    return user


def authorize(
    conn: Connection | None,
    route: ApiRoute,
    user: User | None,
    owner: Owner | None,
    path_params: Mapping[str, str],
) -> Grant:
    """What a route may be run with; what is missing and what is somebody else's are the same 404."""
    if route.access is Access.PUBLIC:
        return Grant(user=user, owner=owner)
    if user is None or owner is None:
        raise Unauthorised(
            "The gateway does not know who asks. Send a token as `Authorization: Bearer TOKEN`: the one "
            "printed at its start, or one of `thinkaloud tokens create`."
        )
    grant = Grant(user=user, owner=owner)
    if route.resource is Resource.NONE:
        return grant
    assert conn is not None
    match route.resource:
        case Resource.SESSION:
            return _with_resource(grant, session=sessions.get(conn, owner, path_params["session"]))
        case Resource.TURN:
            return _with_resource(grant, turn=turns.get(conn, owner, path_params["turn"]))
        case Resource.AGENT | Resource.OWN_AGENT as resource:
            agent = agents.get(conn, owner, path_params["agent"])
            not_owned = resource is Resource.OWN_AGENT and agent is not None and agent.owner != owner
            return _with_resource(grant, agent=None if not_owned else agent)


def _with_resource(grant: Grant, **resource: object) -> Grant:
    if None in resource.values():
        raise NotFound()
    return msgspec.structs.replace(grant, **resource)


def _read_secret(headers: RequestHeaders) -> str:
    """The one secret of all forms of credentials."""
    tokens = set()
    if (header := headers.get(b"authorization")) is not None:
        scheme, _, token = header.decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthorised("The Authorization header is not of the form `Bearer TOKEN`.")
        tokens.add(token.strip())
    if (header := headers.get(b"x-api-key")) is not None:
        tokens.add(header.decode("latin-1").strip())
    if len(tokens) > 1:
        raise BadRequest("Authorization and X-Api-Key show different credentials. Send one of them.")
    for token in tokens:
        if not _TOKEN_PATTERN.fullmatch(token):
            raise Unauthorised("What was sent as a token is none of ours: those are tka_ and 43 characters.")
        return token
    return ""


def _with_port(names: set[str], port: int) -> frozenset[str]:
    """Each name alone and with the port, but for those that bring a port of their own."""
    lowered_names = {name.lower() for name in names}
    return frozenset(
        lowered_names | {f"{name}:{port}" for name in lowered_names if not _PORT_SUFFIX.search(name)}
    )


def _host_spellings(server_address: tuple[str, int | None]) -> tuple[str, str]:
    """How the address at which a connection came in is written; no other site's name can look like it."""
    host = f"[{server_address[0]}]" if ":" in server_address[0] else server_address[0]
    return host, f"{host}:{server_address[1]}"
