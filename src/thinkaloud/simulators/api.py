"""What every simulated API is made of: what was asked, rules that may refuse it, and the reply.

A rule is a row: its id, what it forbids, where that was seen in public, and a function that looks at one
request. The first rule that refuses wins, as with the real services.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from thinkaloud.simulators.script import Answer, Heard
from thinkaloud.simulators.signing import Secret

Json = dict[str, Any]


@dataclass(frozen=True)
class Refusal:
    """A request that the provider would not take, in its own words."""

    status: int
    message: str
    kind: str = ""
    code: str | None = None
    param: str | None = None
    details: tuple[Json, ...] = ()


@dataclass
class Memory:
    """What a server remembers: how many ids it gave, which calls came after a thought, and stored items."""

    given: int = 0
    after_thought: set[str] = field(default_factory=set)
    items: dict[str, Json] = field(default_factory=dict)
    responses: dict[str, list[Json]] = field(default_factory=dict)
    partner: dict[str, str] = field(default_factory=dict)
    mark: str = ""

    def number(self) -> str:
        """The next id, counted and not drawn; the mark keeps ids of two servers apart, as real ones are."""
        self.given += 1
        return f"{self.mark}{self.given:04d}"


@dataclass(frozen=True)
class Asked:
    """One request, as far as rules and answers need it."""

    body: Json
    model: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    path: str
    secret: Secret
    memory: Memory
    key: str | None = None

    def beta(self, name: str) -> bool:
        """True when the request asks for a beta by its header."""
        asked = self.headers.get("anthropic-beta", "")
        return name in [word.strip() for word in asked.split(",")]

    @property
    def bearer(self) -> str:
        """The key of an `Authorization: Bearer` header, or nothing."""
        scheme, _, given = self.headers.get("authorization", "").partition(" ")
        return given.strip() if scheme.lower() == "bearer" else ""

    def opens(self, given: str) -> bool:
        """True when this key is taken: the agreed one, or any that does not call itself bad."""
        return given == self.key if self.key is not None else bool(given) and not given.startswith("bad")


Check = Callable[[Asked], Refusal | None]


class Rule(NamedTuple):
    """One thing that the provider refuses, and where the public can read of it."""

    id: str
    what: str
    source: str
    check: Check


@dataclass(frozen=True)
class Reply:
    """An answer in both forms; `stream` says which was asked for, `interrupted` how this one would break."""

    whole: Json
    events: tuple[bytes, ...]
    stream: bool
    media: str = "text/event-stream; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    interrupted: bytes | None = None


Look = Callable[[Asked], Json | Refusal]


class Lookup(NamedTuple):
    """A question about models that is not a conversation."""

    method: str
    path: str
    look: Look


@dataclass(frozen=True)
class Api:
    """One provider's interface: where it listens, what it refuses, how it answers and how it fails."""

    name: str
    base: str
    path: str
    rules: tuple[Rule, ...]
    hear: Callable[[Asked], Heard]
    answer: Callable[[Asked, Answer], Reply]
    error: Callable[[Refusal], Json]
    interrupted: Callable[[int], bytes]
    lookups: tuple[Lookup, ...]
    keep_alive: bytes = b": keep-alive\n\n"
    overloaded: int = 503


def refused(rules: tuple[Rule, ...], asked: Asked) -> tuple[Rule, Refusal] | None:
    """The first rule that refuses this request, with its words."""
    for rule in rules:
        if refusal := rule.check(asked):
            return rule, refusal
    return None


def compact(value: object) -> str:
    """JSON on one line, as it goes over the wire."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def event(data: Json | str, name: str = "") -> bytes:
    """One server-sent event."""
    text = data if isinstance(data, str) else compact(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def names(listed: str) -> frozenset[str]:
    """The words of a list that is too long to quote one by one."""
    return frozenset(listed.split())


def objects(value: object) -> list[Json]:
    """The objects of a list; anything else is an empty list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def mapping(value: object) -> Json:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else {}
