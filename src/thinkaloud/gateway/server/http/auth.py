"""Authentication and authorization: Host and Origin checks, tokens, and access to resources.

One `Authenticator` reads every form of credentials, and every route goes through `authorize`: a handler
cannot run without the `Grant` that only `authorize` creates. Nothing is cached between requests, so a
revoked token stops working at once.
"""

import hashlib
import hmac
import ipaddress
import os
import re
import secrets
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Connection

from thinkaloud.core.canon import Wording
from thinkaloud.gateway.server.http.errors import (
    BadRequest,
    Forbidden,
    MisdirectedRequest,
    NotFound,
    Unauthorised,
)
from thinkaloud.gateway.server.http.peer_process import peer_uid
from thinkaloud.gateway.server.http.route import Access, ApiRoute, Grant, Resource
from thinkaloud.gateway.store.queries import agents, sessions, turns, users
from thinkaloud.gateway.store.rows import Owner, ThinkingShown, User

if TYPE_CHECKING:
    from thinkaloud.gateway.server.gateway import Gateway

RequestHeaders = Mapping[bytes, bytes]
"""Header values by lower-case name."""

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
ALL_INTERFACES = ("0.0.0.0", "::")
PROXY_HEADERS = (
    b"forwarded",
    b"via",
    b"x-real-ip",
    b"x-client-ip",
    b"true-client-ip",
    b"cdn-loop",
    b"x-forwarded",
    b"x-original-host",
    b"x-original-forwarded",
    b"x-envoy-",
    b"x-amzn-",
    b"cf-",
    b"fly-",
)
"""Headers that a proxy adds, or how they begin. A request with one did not come directly."""

PROXIED = Wording(
    "The request came through a proxy or from another user of this machine, so it needs a token. Start the "
    "gateway with --auth token and --allow-host NAME, create a token with `thinkaloud tokens create`, and "
    "send it as `Authorization: Bearer TOKEN`."
)

_TOKEN_PATTERN = re.compile(r"tka_[A-Za-z0-9_-]{43}")
_PORT_SUFFIX = re.compile(r":\d+$")
_TRUSTED_FETCH_SITES = (b"same-origin", b"none")


class ListenConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Where the gateway listens, which host names it accepts, and whether every caller needs a token."""

    bound_host: str = "127.0.0.1"
    port: int = 0
    allowed_hosts: tuple[str, ...] = ()
    """Additional host names, with or without a port. A caller that uses one of them needs a token."""
    token_required: bool = False
    start_token_hash: bytes = b""
    """SHA-256 of the token that was printed at start-up. It authenticates the local user."""


class Caller(msgspec.Struct, frozen=True):
    """The sender of a request that passed the Host and Origin checks."""

    headers: RequestHeaders
    local: bool
    """Whether the request was sent directly from this machine, by a loopback name, through no proxy."""
    proxied: bool = False
    """Whether the request came through a proxy on this machine, or from another user of it."""


def new_start_token() -> str:
    """Create a token of the same form as users' tokens."""
    return f"tka_{secrets.token_urlsafe(32)}"


def hash_token(secret: str) -> bytes:
    """Return the hash that is stored instead of a token."""
    return hashlib.sha256(secret.encode()).digest()


@lru_cache(maxsize=1024)
def loopback_address(address: str) -> bool:
    """Return whether an IP address is a loopback address."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


class Authenticator:
    """Checks the caller of each request before the body is read or a handler runs."""

    def __init__(self, gateway: "Gateway", config: ListenConfig) -> None:
        self._gateway = gateway
        self._config = config
        self._on_all_interfaces = config.bound_host in ALL_INTERFACES
        bound_name = f"[{config.bound_host}]" if ":" in config.bound_host else config.bound_host
        local_names = {*LOOPBACK_NAMES}
        if loopback_address(config.bound_host):
            local_names.add(bound_name)
        other_names = {*config.allowed_hosts}
        if not self._on_all_interfaces:
            other_names.add(bound_name)
        self._local_hosts = _with_port(local_names, config.port)
        self._known_hosts = self._local_hosts | _with_port(other_names, config.port)
        self._local_user: User | None = None

    def check_caller(
        self,
        headers: RequestHeaders,
        peer: tuple[str, int] | None,
        server_address: tuple[str, int | None] | None,
        http_version: str = "1.1",
    ) -> Caller:
        """Refuse a request with a foreign Host, or from a page of another site.

        The Host check stops DNS rebinding: a page whose own name resolves to this machine.
        """
        host = self._check_host(headers, server_address)
        by_local_name = host in self._local_hosts
        self._check_origin(headers, host, by_local_name=by_local_name)
        if not (by_local_name and peer is not None and loopback_address(peer[0])):
            return Caller(headers, local=False)
        # nginx sends HTTP/1.0 to its upstreams by default; no browser or current client does.
        proxied = http_version == "1.0" or any(name.startswith(PROXY_HEADERS) for name in headers)
        if not proxied and not self._token_sent(headers):
            proxied = self._from_other_user(peer, server_address)
        return Caller(headers, local=not proxied, proxied=proxied)

    @staticmethod
    def _token_sent(headers: RequestHeaders) -> bool:
        """Whether a token of ours was sent. Clients send the keys of other services to any address."""
        sent = (headers.get(name, b"").decode("latin-1") for name in (b"authorization", b"x-api-key"))
        return any(_TOKEN_PATTERN.search(value) for value in sent)

    def _from_other_user(self, peer: tuple[str, int], server_address: tuple[str, int | None] | None) -> bool:
        """Return whether another user's process sent the request: a proxy, or somebody on this machine."""
        if self._config.token_required or server_address is None or not hasattr(os, "getuid"):
            return False
        uid = peer_uid(peer, server_address)
        return uid is not None and uid != os.getuid()

    async def grant_access(self, route: ApiRoute, caller: Caller, path_params: Mapping[str, str]) -> Grant:
        """Authenticate and authorize the caller, with at most one database read."""
        # Clients demand some key to be set, so a local caller of a compatible endpoint may send any.
        secret = "" if self._any_key_will_do(route, caller) else _read_secret(caller.headers)
        workspace = caller.headers.get(b"thinkaloud-workspace")
        if route.access is Access.PUBLIC and not secret:
            return Grant()  # health routes must respond even when the database does not
        local_user = self._local_user or await self._load_local_user()
        trusted_user = local_user if caller.local and not self._config.token_required else None

        if caller.proxied and not secret and route.access is not Access.PUBLIC:
            raise Unauthorised(wording=PROXIED)

        def decide(conn: Connection | None) -> Grant:
            user = trusted_user
            if secret:
                user = authenticate(conn, self._config, secret, local_user)
            grant = authorize(conn, route, user, self._owner(conn, user, workspace), path_params)
            rules = _thinking_rules(conn, user)
            return msgspec.structs.replace(grant, token_hash=token_hash, thinking_rules=rules)

        token_hash = hash_token(secret) if secret else b""
        if token_hash == self._config.start_token_hash:
            token_hash = b""
        if secret or workspace is not None:
            return await self._gateway.database.read(decide)
        if route.handler is None and trusted_user is not None:
            grant = self._grant_running(trusted_user, path_params.get("turn", ""))
            if grant is not None:
                return grant
        if route.resource:
            return await self._gateway.database.read(decide)
        return decide(None)

    def _any_key_will_do(self, route: ApiRoute, caller: Caller) -> bool:
        return bool(route.dialect) and caller.local and not self._token_sent(caller.headers)

    def _grant_running(self, trusted_user: User, turn_id: str) -> Grant | None:
        """Grant the local user the stream of a turn that runs here. The database need not be asked."""
        owner = self._gateway.local_owner
        row = self._gateway.turns.find_running(owner, turn_id)
        return None if row is None else Grant(user=trusted_user, owner=owner, turn=row)

    def _owner(self, conn: Connection | None, user: User | None, workspace: bytes | None) -> Owner | None:
        """Return the user in the workspace that the header names, or in the user's first workspace."""
        if user is None:
            return None
        local_owner = self._gateway.local_owner
        if user.key == local_owner.user and workspace is None:
            return local_owner
        assert conn is not None
        workspaces = users.workspaces_of(conn, user.key)
        for candidate in workspaces:
            if workspace is None or candidate.id.encode() == workspace:
                return Owner(user.key, candidate.key)
        raise NotFound()

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
            raise BadRequest("The request has no Host header. HTTP/1.1 requires one.")
        raise MisdirectedRequest(
            "The name in the Host header is not allowed. The gateway accepts only its own names, which stops "
            "DNS rebinding. Use the address that was printed at start-up. Behind a proxy, start the gateway "
            "with --auth token and --allow-host NAME."
        )

    @staticmethod
    def _check_origin(headers: RequestHeaders, host: str, *, by_local_name: bool) -> None:
        origin = headers.get(b"origin")
        if origin is not None:
            origin_url = origin.decode("latin-1").lower()
            # An allowed host may belong to a TLS proxy; a loopback name never does.
            if origin_url != f"http://{host}" and (by_local_name or origin_url != f"https://{host}"):
                raise Forbidden(
                    "The Origin header names another site, and pages of other sites may not use the gateway. "
                    "Open the gateway's own address, or send the request without a browser."
                )
        if headers.get(b"sec-fetch-site", b"none") not in _TRUSTED_FETCH_SITES:
            raise Forbidden(
                "The Sec-Fetch-Site header names another site, and pages of other sites may not use the "
                "gateway. Open the gateway's own address."
            )


def authenticate(conn: Connection | None, config: ListenConfig, secret: str, local_user: User) -> User:
    """Return the user of a token. An invalid token is refused even where no token is needed."""
    if hmac.compare_digest(hash_token(secret), config.start_token_hash):
        return local_user
    assert conn is not None
    user = users.token_user(conn, secret)
    if user is None:
        raise Unauthorised(
            "The token is not valid: it was revoked or never issued. "
            "Create a new one with `thinkaloud tokens create`."
        )
    return user


def authorize(
    conn: Connection | None,
    route: ApiRoute,
    user: User | None,
    owner: Owner | None,
    path_params: Mapping[str, str],
) -> Grant:
    """Return the grant for a route. A missing resource and one of another user give the same 404."""
    if route.access is Access.PUBLIC:
        return Grant(user=user, owner=owner)
    if user is None or owner is None:
        raise Unauthorised(
            "Authentication is required. Send a token as `Authorization: Bearer TOKEN`: the one printed at "
            "start-up, or one created with `thinkaloud tokens create`."
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
    """Return the token from the Authorization or X-Api-Key header, or an empty string."""
    tokens = set()
    if (header := headers.get(b"authorization")) is not None:
        scheme, _, token = header.decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthorised("Invalid Authorization header. Send it as `Authorization: Bearer TOKEN`.")
        tokens.add(token.strip())
    if (header := headers.get(b"x-api-key")) is not None:
        tokens.add(header.decode("latin-1").strip())
    if len(tokens) > 1:
        raise BadRequest("Authorization and X-Api-Key hold different tokens. Send one of them.")
    for token in tokens:
        if not _TOKEN_PATTERN.fullmatch(token):
            raise Unauthorised(
                "The token is malformed: tokens are tka_ followed by 43 characters. "
                "Create one with `thinkaloud tokens create`."
            )
        return token
    return ""


def _thinking_rules(conn: Connection | None, user: User | None) -> dict[str, ThinkingShown]:
    if conn is None or user is None:  # a local user, to whom no rule applies, or nobody
        return {}
    return users.thinking_rules(conn, user.key)


def _with_port(names: set[str], port: int) -> frozenset[str]:
    """Return each name with and without the port. A name that has a port of its own stays as it is."""
    spellings = {name.lower() for name in names}
    for name in tuple(spellings):
        if not _PORT_SUFFIX.search(name):
            spellings.add(f"{name}:{port}")
    return frozenset(spellings)


def _host_spellings(server_address: tuple[str, int | None]) -> tuple[str, str]:
    """Return the spellings of the address a connection was accepted on. No DNS name can be equal to one."""
    host = f"[{server_address[0]}]" if ":" in server_address[0] else server_address[0]
    return host, f"{host}:{server_address[1]}"
