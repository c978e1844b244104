"""The definition of a route. Router, authorization and the OpenAPI document are built from its fields.

A handler takes a `RouteRequest`: the caller is authenticated, the resource in the path is loaded and
belongs to the caller, and query and body are typed values. It returns a value to encode, and raises what it
refuses.
"""

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import msgspec
from starlette.types import Receive, Send

from thinkaloud.gateway.server.streams.thought_filter import shown_to
from thinkaloud.gateway.store.rows import Owner, Session, StoredAgent, ThinkingShown, TurnRow, User

if TYPE_CHECKING:
    from thinkaloud.gateway.server.gateway import Gateway

JSON = "application/json"
EVENT_STREAM = "text/event-stream"


class Access(StrEnum):
    """Who may call a route."""

    PUBLIC = "public"
    """Everyone who passes the Host and Origin checks: health, the OpenAPI document, the chat page."""
    USER = "user"
    """An authenticated user."""


class Resource(StrEnum):
    """The resource whose id is in the path. It is loaded before the handler runs; a missing one gives 404."""

    NONE = ""
    SESSION = "session"
    TURN = "turn"
    AGENT = "agent"
    """Readable by the whole workspace."""
    OWN_AGENT = "own_agent"
    """An agent that the caller created. Only its creator may change it."""


class ClientGone(Exception):
    """The client disconnected or stopped reading, so no response can be sent."""


ABORT_EXTENSION = "thinkaloud.abort"
"""The ASGI extension that aborts a connection at once and discards unsent bytes."""


class NoQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of a route without parameters. Any parameter is refused."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `authorize`: the user, the owner of new resources, and the resource in the path."""

    user: User | None = None
    owner: Owner | None = None
    token_hash: bytes = b""
    """Of the token that the caller sent; empty without one, and for the token printed at start-up."""
    session: Session | None = None
    turn: TurnRow | None = None
    agent: StoredAgent | None = None
    thinking_rules: Mapping[str, ThinkingShown] = {}
    """What the user may see of the thinking, by agent id; empty if everything."""

    @property
    def hides_thinking(self) -> bool:
        """Whether some thinking is hidden from the user."""
        return any(shown is not ThinkingShown.ALL for shown in self.thinking_rules.values())

    def thinking_of(self, turn: TurnRow) -> ThinkingShown:
        """Return what the user may see of the thinking of a turn."""
        return shown_to(self.thinking_rules, turn)


class RouteRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request to a route. `query` and `body` have the types that the `ApiRoute` names."""

    gateway: "Gateway"
    grant: Grant
    headers: Mapping[str, str]
    query: Any = None
    body: Any = None
    path_params: Mapping[str, str] = {}
    raw_body: bytes = b""
    """The undecoded body, for routes that accept other types than JSON."""

    @property
    def owner(self) -> Owner:
        """The user and workspace of the caller. Set on every route with `Access.USER`."""
        assert self.grant.owner is not None
        return self.grant.owner


class RouteResponse(msgspec.Struct, frozen=True, kw_only=True):
    """A response with its own status, media type or headers."""

    content: bytes | msgspec.Struct | BinaryIO | None = None
    """A file is sent from where it stands to its end, and closed."""
    status: int = 200
    media_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


Handler = Callable[[RouteRequest], Awaitable[msgspec.Struct | RouteResponse | None]]


class StreamHandler(Protocol):
    """Sends the response of a streaming route: `turn_stream.stream_events`."""

    def __call__(
        self,
        gateway: "Gateway",
        grant: Grant,
        query: Any,
        headers: Mapping[str, str],
        receive: Receive,
        send: Send,
    ) -> Awaitable[None]:
        """Send the whole response."""


class ApiRoute(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the route table."""

    method: str
    path: str
    """The path template, as in OpenAPI: `/api/sessions/{session}`."""
    handler: Handler | None
    """None for a stream of events and for a compatible endpoint, which are plain ASGI."""
    summary: str
    access: Access = Access.USER
    resource: Resource = Resource.NONE
    query: type[msgspec.Struct] = NoQuery
    body: type[msgspec.Struct] | None = None
    media_types: tuple[str, ...] = ("application/json",)
    """Accepted types of the body. Any type but JSON reaches the handler as `raw_body`."""
    untyped_json: bool = False
    """Whether programs may send JSON under any type, or none. Browsers may not: see `sent_by_browser`."""
    response_body: type[msgspec.Struct] | None = None
    status: int = 200
    dialect: str = ""
    """Of a compatible endpoint: requests, responses and errors are in the format of this dialect."""
    ends_with_client: bool = False
    """Whether the handler is cancelled when its client leaves or its token is revoked: it works for long."""
    error_statuses: tuple[int, ...] = ()
    """Error statuses of this route, in addition to those of every route."""

    @property
    def pattern(self) -> str:
        """The path for the router. The name of a model may contain slashes."""
        return self.path.replace("{model}", "{model:path}")
