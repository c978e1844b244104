"""What every simulated API is made of: what was asked, rules that may refuse it, and the reply.

A rule is a row: its id, what it forbids, where that was seen in public, and a function that looks at one
request. The first rule that refuses wins, as with the real services.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from thinkaloud.simulators.script import ReceivedPrompt, ScriptedAnswer
from thinkaloud.simulators.seals import SigningKey

Json = dict[str, Any]


@dataclass(frozen=True)
class ApiError:
    """A request that the provider would not take, in its own words."""

    status: int
    message: str
    kind: str = ""
    code: str | None = None
    param: str | None = None
    details: tuple[Json, ...] = ()


@dataclass
class ServerState:
    """What a server remembers: how many ids it gave, which calls came after a thought, and stored items."""

    issued_ids: int = 0
    calls_after_thought: set[str] = field(default_factory=set)
    items: dict[str, Json] = field(default_factory=dict)
    responses: dict[str, list[Json]] = field(default_factory=dict)
    thought_of_item: dict[str, str] = field(default_factory=dict)
    id_prefix: str = ""

    def next_id(self) -> str:
        """The next id, counted and not drawn; the mark keeps ids of two servers apart, as real ones are."""
        self.issued_ids += 1
        return f"{self.id_prefix}{self.issued_ids:04d}"


@dataclass(frozen=True)
class ApiRequest:
    """One request, as far as rules and answers need it."""

    body: Json
    model: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    path: str
    signing_key: SigningKey
    state: ServerState
    key: str | None = None

    def has_beta(self, name: str) -> bool:
        """True when the request asks for a beta by its header."""
        header = self.headers.get("anthropic-beta", "")
        return name in [word.strip() for word in header.split(",")]

    @property
    def bearer(self) -> str:
        """The key of an `Authorization: Bearer` header, or nothing."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""

    def accepts_key(self, key: str) -> bool:
        """True when this key is taken: the agreed one, or any that does not call itself bad."""
        return key == self.key if self.key is not None else bool(key) and not key.startswith("bad")


Check = Callable[[ApiRequest], ApiError | None]


class Rule(NamedTuple):
    """One thing that the provider refuses, and where the public can read of it."""

    id: str
    forbids: str
    source: str
    check: Check


@dataclass(frozen=True)
class SimulatedResponse:
    """An answer in both forms; `stream` says which was asked for, `interrupted` how this one would break."""

    body: Json
    events: tuple[bytes, ...]
    stream: bool
    content_type: str = "text/event-stream; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    interruption: bytes | None = None


LookupHandler = Callable[[ApiRequest], Json | ApiError]


class Lookup(NamedTuple):
    """A question about models that is not a conversation."""

    method: str
    path: str
    handle: LookupHandler


@dataclass(frozen=True)
class SimulatedApi:
    """One provider's interface: where it listens, what it refuses, how it answers and how it fails."""

    name: str
    base_path: str
    path_pattern: str
    rules: tuple[Rule, ...]
    read_prompt: Callable[[ApiRequest], ReceivedPrompt]
    respond: Callable[[ApiRequest, ScriptedAnswer], SimulatedResponse]
    error_body: Callable[[ApiError], Json]
    interruption: Callable[[int], bytes]
    lookups: tuple[Lookup, ...]
    keep_alive: bytes = b": keep-alive\n\n"
    overload_status: int = 503


def first_violation(rules: tuple[Rule, ...], request: ApiRequest) -> tuple[Rule, ApiError] | None:
    """The first rule that refuses this request, with its words."""
    for rule in rules:
        if error := rule.check(request):
            return rule, error
    return None


def compact_json(value: object) -> str:
    """JSON on one line, as it goes over the wire."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def sse_event(data: Json | str, name: str = "") -> bytes:
    """One server-sent event."""
    text = data if isinstance(data, str) else compact_json(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def split_names(text: str) -> frozenset[str]:
    """The words of a list that is too long to quote one by one."""
    return frozenset(text.split())


def objects(value: object) -> list[Json]:
    """The objects of a list; anything else is an empty list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def mapping(value: object) -> Json:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else {}
