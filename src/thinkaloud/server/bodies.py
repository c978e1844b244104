"""What goes in and out over HTTP: one struct per request and response, with the bounds of every field.

No integer key of the store is in here, and no secret. Fields that a request does not know are refused.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from thinkaloud.agents.prices import Cost
from thinkaloud.canon import Entry, Kind, NoticeGiven, Provenance, SealForm, Usage
from thinkaloud.canon.requests import Image, Level
from thinkaloud.catalog import Capability, Control, Visibility
from thinkaloud.context import ContextMode
from thinkaloud.store.rows import EXPAND_KEY, Hit, Render, Role, SearchKind, Stamps, State, TitledBy
from thinkaloud.transcript import Approval, Outcome, Status
from thinkaloud.view import (
    Header,
    LiveRegion,
    Open,
    ReasoningBlock,
    ReasoningMeta,
    Remember,
    Rest,
    TextPart,
    ThinkingBlock,
)

MOST_PER_PAGE = 200
MIB = 1024 * 1024

Id = Annotated[str, Meta(max_length=64, description="An id, as it was given out.")]
Title = Annotated[str, Meta(max_length=200, description="One line for people.")]
ModelName = Annotated[
    str, Meta(max_length=200, description="`provider/model`, or the name of a model of the catalog.")
]
Budget = Annotated[int, Meta(ge=1, le=10_000_000, description="A number of tokens.")]
Limit = Annotated[int, Meta(ge=1, le=MOST_PER_PAGE, description="How many, at the most.")]
Cursor = Annotated[str, Meta(max_length=200, description="`next` of the page before; empty for the first.")]


class PageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which part of a long list."""

    limit: Limit = 50
    after: Cursor = ""


class MessagesQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which part of a session, and from which end; a page itself is always in the order it was said."""

    order: Literal["oldest", "newest"] = "oldest"
    turn: Id = ""
    """Begin with this turn, instead of with the first or the last."""
    entries: bool = False
    """Give the blocks of a message as entries that fold to its turn, and not as parts."""


class NewSession(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A session to be made; a title that is given is never replaced by one made from an answer."""

    title: Title = ""
    agent: Id = ""
    model: ModelName = ""


class SessionChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change of a session; what is left out stays."""

    title: Title | UnsetType = UNSET
    agent: Id | UnsetType = UNSET
    model: ModelName | UnsetType = UNSET


class SessionBody(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation."""

    id: str
    title: str
    titled_by: TitledBy
    agent: str
    """The agent that answers unless a turn names another; may be empty."""
    model: str
    created_ms: int
    updated_ms: int


class TurnBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Where a turn stands, and where to read it."""

    id: str
    session: str
    state: State
    agent: str
    model: str
    provider: str
    created_ms: int
    ended_ms: int | None
    events: str
    """The path of the turn's stream."""


class SessionPage(msgspec.Struct, frozen=True):
    """Sessions, the newest first."""

    items: tuple[SessionBody, ...]
    next: str = ""


class SessionWithTurns(SessionBody, frozen=True, kw_only=True):
    """A session with some of its turns, the oldest first."""

    turns: tuple[TurnBrief, ...]
    next: str = ""


class ToolResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a tool came back with, for a call that the model made."""

    call_id: Annotated[str, Meta(max_length=1000, description="The call's id; empty where it had none.")]
    result: str
    name: Annotated[str, Meta(max_length=200)] = ""
    failed: bool = False


class Picture(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A picture that goes with the prompt."""

    media_type: Annotated[str, Meta(pattern=r"^image/[a-z0-9.+-]{1,40}$")]
    data: Annotated[str, Meta(min_length=1, pattern=r"^[A-Za-z0-9+/]+={0,2}$", description="Base64.")]

    def image(self) -> Image:
        """The picture as a model is sent it."""
        return Image(self.media_type, self.data)


class NewTurn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to ask: a prompt, or the results of the tools that the turn before called; or both."""

    prompt: str = ""
    images: Annotated[tuple[Picture, ...], Meta(max_length=20)] = ()
    tool_results: Annotated[tuple[ToolResult, ...], Meta(max_length=200)] = ()
    model: ModelName = ""
    agent: Id = ""
    thinking: Level | Budget | None = None
    """A level, a number of tokens, or `off`; null leaves it to the agent, and then to the model."""
    max_tokens: Budget | None = None
    """The most the answer may take, thoughts included."""
    context_mode: ContextMode | None = None
    """How much of what was thought goes back; null leaves it to the agent, and then to the preferences."""


class WaitingCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that waits until somebody lets it run."""

    block: int
    name: str
    arguments: str


class TurnBody(TurnBrief, frozen=True, kw_only=True):
    """A turn as it stands: the answer, its reasoning apart, and the thinking as a block of steps."""

    content: list[TextPart]
    reasoning_content: str | None
    reasoning_meta: ReasoningMeta
    reasoning_blocks: list[ReasoningBlock]
    thinking_block: ThinkingBlock | None
    copy_text: str
    speech_text: str
    outcome: Outcome | None
    usage: Usage
    cost: Cost
    stamps: Stamps
    notices: tuple[NoticeGiven, ...]
    waiting: tuple[WaitingCall, ...]


class Decision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a call that waits may run."""

    block: Annotated[int, Meta(ge=0, le=1_000_000, description="The block of the call.")]
    granted: bool


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One block of a message, in its order; what its seals hold goes back to their issuer only."""

    number: int
    kind: Kind
    text: str
    name: str
    call_id: str
    assistant_id: str
    parent: int | None
    provenance: Provenance
    status: Status
    sealed: tuple[SealForm, ...]
    result: str | None
    error: str
    started_ms: int | None
    ended_ms: int | None
    approval: Approval
    settled_by: str


class MessageBody(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a session; `thinking` is a text of its own and never part of `content`."""

    turn: str
    state: State
    agent: str
    """The agent that was asked; may be empty."""
    agent_name: str
    """What it is called now; empty where there is none any more."""
    role: Role
    content: str
    thinking: str | None
    images: tuple[Image, ...]
    call_id: str
    name: str
    failed: bool
    model: str
    provider: str
    outcome: Outcome | None
    usage: Usage
    stamps: Stamps
    summary: str
    notices: tuple[NoticeGiven, ...]
    parts: tuple[Part, ...]
    """Its blocks; none where entries were asked for."""
    entries: tuple[Entry, ...]
    """Entries that fold to the turn of an assistant's message; none unless they were asked for."""


class MessagePage(msgspec.Struct, frozen=True):
    """Messages in the order they were said; a page holds those of whole turns."""

    items: tuple[MessageBody, ...]
    next: str = ""


class EventsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where to go on, and how fast."""

    after: Annotated[int, Meta(ge=-1, le=2**53, description="The last id that was seen.")] | None = None
    speed: Annotated[float, Meta(gt=0, le=100)] | None = None
    """Replay with the original gaps, divided by this; a gap counts for five seconds at the most."""


class ProviderBody(msgspec.Struct, frozen=True, kw_only=True):
    """Who answers. Of its key only this is told: whether it is there, or none is needed."""

    name: str
    has_key: bool
    local: bool
    """A server of one's own: it serves whatever it was started with, as `name/model`."""


class ModelBody(msgspec.Struct, frozen=True, kw_only=True):
    """A model, where it is, and how it thinks."""

    id: str
    providers: tuple[str, ...]
    with_thinking: tuple[str, ...]
    """The providers that are asked when thinking is on."""
    has_key: bool
    """Whether any of its providers can be asked."""
    local: bool
    thinking: Capability
    thinking_toggle: bool
    """Whether to offer a switch for thinking at all."""
    reason: str
    """Why not, or what the switch cannot do; empty where it does what it says."""
    on_by_default: bool
    control: tuple[Control, ...]
    efforts: tuple[str, ...]
    can_be_off: bool
    visible: Visibility
    as_of: str
    source: str


class ModelList(msgspec.Struct, frozen=True):
    """Every model of the catalog, and every provider."""

    models: tuple[ModelBody, ...]
    providers: tuple[ProviderBody, ...]


class DisplayWishes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings laid over those of a preset; what is left out is as the preset has it."""

    preset: Annotated[str, Meta(max_length=40)] = "default"
    while_streaming: Open | UnsetType = UNSET
    after_complete: Rest | UnsetType = UNSET
    auto_close: bool | UnsetType = UNSET
    header: Header | UnsetType = UNSET
    show_thinking: bool | UnsetType = UNSET
    remember: Remember | UnsetType = UNSET
    live_region: LiveRegion | UnsetType = UNSET


class NewPreferences(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of one's preferences in a workspace; what is left out is as it is without any."""

    display: DisplayWishes = DisplayWishes()
    language: Annotated[str, Meta(max_length=20)] = "en-US"
    context_mode: ContextMode = ContextMode.PROVIDER_DEFAULT
    render: Render = Render.MARKDOWN
    expand_key: Annotated[
        str,
        Meta(
            pattern=r"^(((Ctrl|Alt|Shift|Meta)\+){1,4}[A-Z][A-Za-z0-9]{1,20}|F[0-9]{1,2})?$",
            description="The keys that open and close all thinking, such as Alt+KeyE; empty is none.",
        ),
    ] = EXPAND_KEY


class WorkspaceBody(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace that one is in."""

    id: str
    name: str


class WorkspaceList(msgspec.Struct, frozen=True, kw_only=True):
    """The workspaces that one is in, the oldest first, and the one that was asked in."""

    items: tuple[WorkspaceBody, ...]
    current: str


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to look for, and where; thoughts are looked at only when they are named."""

    q: Annotated[str, Meta(min_length=1, max_length=1000)]
    scope: Annotated[
        str,
        Meta(
            pattern=r"^(prompts|answers|tools|thoughts)(,(prompts|answers|tools|thoughts)){0,9}$",
            description="prompts, answers, tools, thoughts: any of them, with commas.",
        ),
    ] = "prompts,answers,tools"
    limit: Limit = 20
    after: Cursor = ""


class HitPage(msgspec.Struct, frozen=True):
    """What was found, the newest first."""

    items: tuple[Hit, ...]
    next: str = ""


SCOPES = {
    "prompts": SearchKind.PROMPT,
    "answers": SearchKind.ANSWER,
    "tools": SearchKind.TOOL,
    "thoughts": SearchKind.THOUGHT,
}


class ExportQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In what form a session leaves; `text` is prompts and answers, and never a thought."""

    format: Literal["text", "markdown", "json"] = "text"
    thinking: Literal["details", "callout", "omit"] = "details"
    """How `markdown` writes thoughts."""
    lang: Annotated[str, Meta(max_length=20)] = ""
    """The language of the words around; empty takes the one of the preferences."""


class Health(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether the gateway is well; `why` says what is missing."""

    status: Literal["ok", "starting", "stopping", "not_saved"]
    why: str = ""
