"""Stored values as frozen structs: users, sessions, turns, messages with their parts, agents, preferences.

Text ids are random and public; integer keys join tables and never leave the store. Everything that belongs to
a user is queried through its `Owner`, so no query can return another user's rows by mistake.
"""

from enum import StrEnum
from typing import Annotated, Generic, TypeVar

import msgspec
from msgspec import Meta

from thinkaloud.core.canon import NoticeGiven, Seal, Usage
from thinkaloud.core.canon.events import build_types
from thinkaloud.core.canon.requests import Budget, ThinkingLevel, ToolDefinition
from thinkaloud.core.context import ContextMode
from thinkaloud.core.transcript import Block, Outcome, Reply
from thinkaloud.core.view import Policy

T = TypeVar("T")
Id = Annotated[str, Meta(max_length=64, description="An id, as it was given out.")]
ModelName = Annotated[
    str, Meta(max_length=200, description="`provider/model`, or the name of a model of the catalog.")
]


class TurnState(StrEnum):
    """The state of a turn. All states but `running` are final."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    """The gateway that wrote the turn stopped before the turn ended."""


class Role(StrEnum):
    """The author of a message."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class TitleSource(StrEnum):
    """The source of a session's title. A title that a person wrote is never replaced."""

    NOBODY = ""
    QUESTION = "question"
    ANSWER = "answer"
    """In databases of earlier versions, which took titles from answers."""
    MODEL = "model"
    PERSON = "person"


class SearchKind(StrEnum):
    """The kind of text in which a search hit was found."""

    PROMPT = "prompt"
    ANSWER = "answer"
    THOUGHT = "thought"
    TOOL = "tool"


class ThinkingShown(StrEnum):
    """What a user may see of the thinking of an agent, the strictest last."""

    ALL = "all"
    LENGTH = "length"
    """How long the thoughts are and took, but not what they say."""
    NOTHING = "nothing"


class Owner(msgspec.Struct, frozen=True):
    """A user in a workspace, by their keys. Every query runs on behalf of one owner."""

    user: int
    workspace: int


class User(msgspec.Struct, frozen=True):
    """A user of the gateway."""

    key: int
    id: str
    name: str
    created_ms: int


class Workspace(msgspec.Struct, frozen=True):
    """A workspace of one or more users. Its members share agents, but not sessions."""

    key: int
    id: str
    name: str
    created_ms: int


class ApiToken(msgspec.Struct, frozen=True):
    """An API token without its secret. Only a hash of the secret is stored."""

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
    client: str = ""
    """The program that asked through a compatible endpoint; empty for the page and the HTTP API."""
    pinned: bool = False
    parent: str = ""
    """The id of the session whose agent started this one, as the client says; may be deleted since."""
    whole: bool = True
    """False while it is imported or deleted. Then it is hidden."""


class SessionClient(msgspec.Struct, frozen=True):
    """What a client says about itself and its conversation. The ids are the client's own."""

    name: str = ""
    conversation: str = ""
    parent_conversation: str = ""


class TurnRow(msgspec.Struct, frozen=True):
    """One prompt and the state of its answer. The answer itself is a message, its events are in the log."""

    key: int
    id: str
    session: int
    position: int
    state: TurnState
    agent: str
    model: str
    provider: str
    prefix: str
    """The fingerprint of the request, to store with the answer (`AnsweredTurn.prefix`)."""
    created_ms: int
    ended_ms: int | None
    epoch: int
    """The number of the current writer. Each append carries it; an append with an older epoch is refused."""
    timing_kept: bool = True
    """Whether the log has every entry as it was received; otherwise it was rewritten from the parts."""
    options: str = ""
    """JSON of the turn's own settings, for a gateway that resumes the turn after a restart."""
    parent: int | None = None
    """The key of the turn that this one follows; None if it begins the conversation."""
    assistants: tuple[str, ...] | None = None
    """The ids of all agents that `agent` could call, directly or through others; None if unknown."""


class TurnTimestamps(msgspec.Struct, frozen=True, omit_defaults=True):
    """The four timestamps from which durations are computed; None where unknown."""

    request_sent_ms: int | None = None
    first_reasoning_ms: int | None = None
    last_reasoning_ms: int | None = None
    first_text_ms: int | None = None


class StoredMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a session. `content` and `thinking` are separate texts; `parts` holds all blocks.

    Copies, titles, speech and the search of answers use `content`, which never contains a thought.
    """

    key: int
    turn: int
    role: Role
    content: str
    thinking: str | None = None
    images: str = ""
    """JSON of a user's images and other files; empty if there are none."""
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
    """Each reply with its provider's own message; empty if the turn is a single reply."""
    started_ms: int | None = None
    ended_ms: int | None = None
    parts: tuple[Block, ...] = ()


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of an agent, except for the tools that the caller runs.

    The HTTP bodies and the stored JSON share these fields, and differ only in how `tools` are written. HTTP
    checks the bounds; a stored agent is read without them, so a bound may be narrowed later.
    """

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    model: Annotated[ModelName, Meta(min_length=1)]
    description: Annotated[str, Meta(max_length=2_000)] = ""
    """What the agent is good for, for the models of agents that may call it."""
    system: Annotated[str, Meta(max_length=1024 * 1024)] = ""
    thinking: bool = False
    level: ThinkingLevel | None = None
    budget_tokens: Budget | None = None
    uses: Annotated[tuple[Annotated[str, Meta(max_length=130)], ...], Meta(max_length=200)] = ()
    """Names of tools that the gateway runs."""
    assistants: Annotated[tuple[Id, ...], Meta(max_length=32)] = ()
    """Ids of agents of the same workspace that this one may call."""
    most_replies: Annotated[int, Meta(ge=1, le=1000)] | None = None
    most_output_tokens: Budget | None = None
    most_seconds: Annotated[float, Meta(gt=0, le=86_400)] | None = None
    most_usd: Annotated[float, Meta(gt=0, le=100_000)] | None = None
    """Limits that include the work of its assistants; None is the gateway's default."""
    summary_model: ModelName = ""
    """A small model that may summarise the current thinking in one line."""
    preset: Annotated[str, Meta(max_length=40)] = "default"
    context_mode: ContextMode = ContextMode.PROVIDER_DEFAULT


class AgentSpec(AgentSettings, frozen=True, kw_only=True):
    """An agent as it is stored. `server.turns.prepare.agent_from_spec` makes a runnable `Agent` of it."""

    tools: tuple[ToolDefinition, ...] = ()
    """Tools that the caller runs."""


class StoredAgent(msgspec.Struct, frozen=True):
    """An agent of a workspace, and the user who created it."""

    key: int
    id: str
    owner: Owner
    spec: AgentSpec
    created_ms: int
    updated_ms: int


class RenderMode(StrEnum):
    """How the text of a thought is rendered."""

    MARKDOWN = "markdown"
    PLAIN = "plain"


DEFAULT_EXPAND_KEY = "Alt+KeyE"


class Preferences(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one user in one workspace wants thoughts to be shown and sent."""

    display: Policy = Policy()
    language: str = "en-US"
    context_mode: ContextMode = ContextMode.PROVIDER_DEFAULT
    render: RenderMode = RenderMode.MARKDOWN
    expand_key: str = DEFAULT_EXPAND_KEY
    """The shortcut that opens and closes all thinking, such as Alt+KeyE; empty for none."""
    model: str = ""
    """The model that answers if neither turn, agent nor session names one; empty for the gateway's own."""
    thinking: str = ""
    """How much models think if nothing else says so: a level or a number of tokens; empty for no wish."""


class SearchHit(msgspec.Struct, frozen=True):
    """One text that matches a search. `marks` are the ranges of the words in `snippet`, in code points."""

    kind: SearchKind
    session: str
    session_title: str
    turn: str
    block: int | None
    """The number of the block; None in a prompt and in a tool result that the caller sent."""
    snippet: str
    marks: tuple[tuple[int, int], ...]
    created_ms: int


class Page(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list. `next` is the cursor of the following page; empty on the last page."""

    items: tuple[T, ...]
    next: str = ""


build_types(TurnRow, Preferences)  # decoded in threads
