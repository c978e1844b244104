"""What is kept, as frozen values: people, sessions, turns, messages with their parts, agents, preferences.

Text ids go out to the world and are random; integer keys join tables and never leave the store. Whatever
belongs to somebody is found through its `Owner`, so that no query can forget whose it is.
"""

from enum import StrEnum
from typing import Generic, TypeVar

import msgspec

from thinkaloud.canon import NoticeGiven, Seal, Usage
from thinkaloud.canon.requests import ThinkingLevel, ToolDefinition
from thinkaloud.context import ContextMode
from thinkaloud.transcript import Block, Outcome, Reply
from thinkaloud.view import Policy

T = TypeVar("T")


class TurnState(StrEnum):
    """Where a turn stands; all but `running` are for good."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    """The gateway that wrote it stopped before the turn was over."""


class Role(StrEnum):
    """Who said a message."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class TitleSource(StrEnum):
    """Where a session's title comes from; one that a person wrote is never replaced."""

    NOBODY = ""
    ANSWER = "answer"
    PERSON = "person"


class SearchKind(StrEnum):
    """What a hit was found in."""

    PROMPT = "prompt"
    ANSWER = "answer"
    THOUGHT = "thought"
    TOOL = "tool"


class Owner(msgspec.Struct, frozen=True):
    """On whose behalf something is done: a user in a workspace, by their keys."""

    user: int
    workspace: int


class User(msgspec.Struct, frozen=True):
    """Somebody who may use the gateway."""

    key: int
    id: str
    name: str
    created_ms: int


class Workspace(msgspec.Struct, frozen=True):
    """A place that several users share; sessions in it stay their owners'."""

    key: int
    id: str
    name: str
    created_ms: int


class ApiToken(msgspec.Struct, frozen=True):
    """An API token, without its secret: only a hash of that is kept."""

    id: str
    user: int
    name: str
    created_ms: int
    revoked_ms: int | None = None


class Session(msgspec.Struct, frozen=True):
    """A conversation of one user in one workspace."""

    key: int
    id: str
    owner: Owner
    title: str
    titled_by: TitleSource
    agent: str
    """The id of the agent that answers unless a turn names another; may be empty."""
    model: str
    created_ms: int
    updated_ms: int


class TurnRow(msgspec.Struct, frozen=True):
    """One prompt and what came of it: who answers, who writes the log, where it stands."""

    key: int
    id: str
    session: int
    position: int
    state: TurnState
    agent: str
    model: str
    provider: str
    prefix: str
    """The fingerprint of the request, to keep with the answer (`context.Said.prefix`)."""
    created_ms: int
    ended_ms: int | None
    epoch: int
    """Whose word counts: appends carry it, and a writer with an older one is refused."""
    timing_kept: bool = True
    """Whether the log has every entry as it came; else it was rewritten from the parts, with new numbers."""
    wishes: str = ""
    """JSON of what was asked of this turn beside its messages, for whoever goes on with it."""


class TurnTimestamps(msgspec.Struct, frozen=True, omit_defaults=True):
    """The four moments that durations are made of; None where nobody knows."""

    request_sent_ms: int | None = None
    first_reasoning_ms: int | None = None
    last_reasoning_ms: int | None = None
    first_text_ms: int | None = None


class StoredMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a session, folded: `content` and `thinking` are texts of their own, parts hold all.

    What copies, titles, speech and search of answers use is `content`; no thought is ever in it.
    """

    key: int
    turn: int
    role: Role
    content: str
    thinking: str | None = None
    images: str = ""
    """JSON of a user's pictures; empty where there are none."""
    call_id: str = ""
    name: str = ""
    failed: bool = False
    dialect: str = ""
    model: str = ""
    stamps: TurnTimestamps = TurnTimestamps()
    usage: Usage = Usage()
    raw: Seal | None = None
    """The provider's own assistant message, byte for byte."""
    outcome: Outcome | None = None
    summary: str = ""
    summary_by: str = ""
    notices: tuple[NoticeGiven, ...] = ()
    replies: tuple[Reply, ...] = ()
    """Each with its provider's own message, byte for byte; none where the turn is one reply."""
    started_ms: int | None = None
    ended_ms: int | None = None
    parts: tuple[Block, ...] = ()


class AgentSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent is set up: what a person writes, and all of it."""

    name: str
    model: str
    description: str = ""
    """What it is good for, told to agents that may call it."""
    system: str = ""
    thinking: bool = False
    level: ThinkingLevel | None = None
    budget_tokens: int | None = None
    tools: tuple[ToolDefinition, ...] = ()
    """Tools that whoever asks runs."""
    uses: tuple[str, ...] = ()
    """Names of tools that the gateway runs."""
    assistants: tuple[str, ...] = ()
    """Ids of agents of the same workspace that this one may call."""
    most_replies: int | None = None
    most_output_tokens: int | None = None
    most_seconds: float | None = None
    most_usd: float | None = None
    """How far it may go, with all that its assistants do; None leaves it to the gateway."""
    summary_model: str = ""
    preset: str = "default"
    context_mode: ContextMode = ContextMode.PROVIDER_DEFAULT


class StoredAgent(msgspec.Struct, frozen=True):
    """An agent of a workspace, and who made it."""

    key: int
    id: str
    owner: Owner
    spec: AgentSpec
    created_ms: int
    updated_ms: int


class RenderMode(StrEnum):
    """How the text of a thought is drawn."""

    MARKDOWN = "markdown"
    PLAIN = "plain"


DEFAULT_EXPAND_KEY = "Alt+KeyE"


class Preferences(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one user wants to see and send thoughts in one workspace."""

    display: Policy = Policy()
    language: str = "en-US"
    context_mode: ContextMode = ContextMode.PROVIDER_DEFAULT
    render: RenderMode = RenderMode.MARKDOWN
    expand_key: str = DEFAULT_EXPAND_KEY
    """The keys that open and close all thinking, such as Alt+KeyE; empty is none."""


class SearchHit(msgspec.Struct, frozen=True):
    """One place where the words were found; `start` and `end` mark them in `snippet`, in code points."""

    kind: SearchKind
    session: str
    session_title: str
    turn: str
    block: int | None
    """The number of the block; None in what was asked: a prompt, or the result of a tool."""
    snippet: str
    marks: tuple[tuple[int, int], ...]
    created_ms: int


class Page(msgspec.Struct, Generic[T], frozen=True):
    """Some of a long list, and where to go on; `next` is empty at its end."""

    items: tuple[T, ...]
    next: str = ""
