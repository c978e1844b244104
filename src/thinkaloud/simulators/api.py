"""The parts of every simulated API: the request, the rules that may refuse it, and the response.

A rule is a row: its id, what it refuses, a public source, and a function that checks one request. The first
rule that refuses wins, as with the real services.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from thinkaloud.simulators.script import ReceivedPrompt, ScriptedAnswer, count_tokens
from thinkaloud.simulators.seals import SigningKey

Json = dict[str, Any]


@dataclass(frozen=True)
class ApiError:
    """The provider's refusal of a request, in its own words."""

    status: int
    message: str
    kind: str = ""
    code: str | None = None
    param: str | None = None
    details: tuple[Json, ...] = ()


@dataclass
class ServerState:
    """What a server remembers: how many ids it issued, which calls followed a thought, and stored items."""

    issued_ids: int = 0
    calls_after_thought: set[str] = field(default_factory=set)
    items: dict[str, Json] = field(default_factory=dict)
    responses: dict[str, list[Json]] = field(default_factory=dict)
    thought_of_item: dict[str, str] = field(default_factory=dict)
    threads: dict[str, Json] = field(default_factory=dict)
    continued_threads: set[str] = field(default_factory=set)
    id_prefix: str = ""
    cached: set[str] = field(default_factory=set)
    """Hashes of the beginnings of requests that the prompt cache holds."""

    def next_id(self) -> str:
        """Return the next id.

        Ids are counted, so that runs repeat; the prefix keeps those of two servers apart.
        """
        self.issued_ids += 1
        return f"{self.id_prefix}{self.issued_ids:04d}"


@dataclass(frozen=True)
class ApiRequest:
    """One request, as far as rules and responses need it."""

    body: Json
    model: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    path: str
    signing_key: SigningKey
    state: ServerState
    key: str | None = None
    completed: bool = False
    """Whether the body has what the server held for it."""

    def has_beta(self, name: str) -> bool:
        """Return whether the request has this beta in its header."""
        header = self.headers.get("anthropic-beta", "")
        return name in [word.strip() for word in header.split(",")]

    @property
    def bearer(self) -> str:
        """The key of an `Authorization: Bearer` header, or an empty string."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""

    def accepts_key(self, key: str) -> bool:
        """Return whether this key is accepted: the configured one, or any that does not start with `bad`."""
        if self.key is not None:
            return key == self.key
        return key != "" and not key.startswith("bad")


Check = Callable[[ApiRequest], ApiError | None]


class Rule(NamedTuple):
    """One thing that the provider refuses, and its public source."""

    id: str
    forbids: str
    source: str
    check: Check


@dataclass(frozen=True)
class SimulatedResponse:
    """A response in both forms.

    `stream` says which was requested, `interrupted` how the stream would break.
    """

    body: Json
    events: tuple[bytes, ...]
    stream: bool
    content_type: str = "text/event-stream; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    interruption: bytes | None = None


LookupHandler = Callable[[ApiRequest], Json | ApiError]


class Lookup(NamedTuple):
    """A request about models instead of a conversation."""

    method: str
    path: str
    handle: LookupHandler


@dataclass(frozen=True)
class SimulatedApi:
    """One provider's API: its paths, its rules, its responses and its errors."""

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
    complete: Callable[[ApiRequest], ApiRequest] = lambda request: request
    """Adds to a request what the server holds for it."""


def first_violation(rules: tuple[Rule, ...], request: ApiRequest) -> tuple[Rule, ApiError] | None:
    """Return the first rule that refuses this request, with its error."""
    for rule in rules:
        if error := rule.check(request):
            return rule, error
    return None


def compact_json(value: object) -> str:
    """Return JSON on one line, as sent."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def sse_event(data: Json | str, name: str = "") -> bytes:
    """Return one server-sent event."""
    text = data if isinstance(data, str) else compact_json(data)
    name_line = f"event: {name}\n" if name else ""
    return f"{name_line}data: {text}\n\n".encode()


def split_names(text: str) -> frozenset[str]:
    """Split a long list of names."""
    return frozenset(text.split())


def objects(value: object) -> list[Json]:
    """Return the objects of a list; empty for anything else."""
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, dict)]


def mapping(value: object) -> Json:
    """Return the object; empty for anything else."""
    return value if isinstance(value, dict) else {}


def content_text(content: object) -> str:
    """Return the text of a message's content: a text, or a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in objects(content))


def answer_tokens(answer: ScriptedAnswer) -> int:
    """Return the tokens of the text and of the calls' arguments."""
    return count_tokens(answer.text, *[compact_json(call.arguments) for call in answer.tool_calls])
