"""What a route is: a row from which the router, the authorisation and the OpenAPI document are made.

A handler gets a `Call` in which the caller is known, the resource that the path names is loaded and theirs,
and query and body are typed values; it returns a value to encode. What it refuses it raises.
"""

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from thinkaloud.store.rows import Owner, Session, StoredAgent, TurnRow, User

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway


class Access(StrEnum):
    """Who may come in at all; what they find there is theirs alone."""

    PUBLIC = "public"
    """Anybody who passes the checks of host and origin: health, and the document of the API."""
    USER = "user"
    """Somebody whom the gateway knows."""


class Resource(StrEnum):
    """What a path names with an id; it is loaded before the handler runs, or the answer is 404."""

    NONE = ""
    SESSION = "session"
    TURN = "turn"
    AGENT = "agent"
    """Readable by the whole workspace."""
    OWN_AGENT = "own_agent"
    """To be changed by whoever made it, and nobody else."""


class ClientGone(Exception):
    """Who asked is gone, or takes nothing: there is nobody to answer."""


ABORT_EXTENSION = "thinkaloud.abort"
"""The ASGI extension that ends a connection at once, whatever is still to be sent on it."""


class NoQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A route that takes no parameters; one that is given anyway is refused."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """What `authorize` found: on whose behalf, and what the path names."""

    user: User | None = None
    owner: Owner | None = None
    session: Session | None = None
    turn: TurnRow | None = None
    agent: StoredAgent | None = None


class RouteRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a route; `query` and `body` have the types that its row names."""

    gateway: "Gateway"
    grant: Grant
    headers: Mapping[str, str]
    query: Any = None
    body: Any = None
    raw_body: bytes = b""
    """The body as it came, for routes that read more than JSON."""

    @property
    def owner(self) -> Owner:
        """On whose behalf; only routes for users ask."""
        assert self.grant.owner is not None
        return self.grant.owner


class RouteResponse(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is more than a value: another status, another type, or headers of its own."""

    content: bytes | msgspec.Struct | None = None
    status: int = 200
    media_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


Handler = Callable[[RouteRequest], Awaitable[msgspec.Struct | RouteResponse | None]]


class ApiRoute(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table."""

    method: str
    path: str
    """As in OpenAPI: `/api/sessions/{session}`."""
    handler: Handler | None
    """None where the route streams: those are plain ASGI, found by their path."""
    summary: str
    access: Access = Access.USER
    resource: Resource = Resource.NONE
    query: type[msgspec.Struct] = NoQuery
    body: type[msgspec.Struct] | None = None
    media_types: tuple[str, ...] = ("application/json",)
    """What the body may be; anything but JSON reaches the handler as `raw`."""
    response_body: type[msgspec.Struct] | None = None
    status: int = 200
    error_statuses: tuple[int, ...] = ()
    """Statuses this route may answer with beside those that every route has."""
