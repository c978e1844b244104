"""Request and response structs of the HTTP API, with the bounds of every field.

No struct exposes an integer key of the store or a secret. Unknown fields in a request are refused.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from thinkaloud.agents.prices import Cost
from thinkaloud.client.config import ExpandKey, ModelSetting, ThinkingText
from thinkaloud.core.canon import Entry, Kind, NoticeGiven, Provenance, SealForm, Usage
from thinkaloud.core.canon.requests import (
    Budget,
    ContextMode,
    File,
    Image,
    RequestOptions,
    ThinkingLevel,
    ToolMessage,
    TurnRequest,
    UserMessage,
    options_of,
)
from thinkaloud.core.context import SendStatus
from thinkaloud.core.export import SpanContent, ThinkingStyle
from thinkaloud.core.transcript import Approval, BlockStatus, Outcome
from thinkaloud.core.view import (
    AfterComplete,
    HeaderStyle,
    LiveRegion,
    OpenState,
    ReasoningBlock,
    ReasoningMeta,
    RememberScope,
    TextPart,
    ThinkingBlock,
)
from thinkaloud.core.wire.frames import MIB
from thinkaloud.gateway.server.schemas.agents import ToolBody
from thinkaloud.gateway.store.rows import (
    DEFAULT_EXPAND_KEY,
    Id,
    ModelName,
    RenderMode,
    Role,
    SearchHit,
    SearchKind,
    TitleSource,
    TurnState,
    TurnTimestamps,
)

MAX_PER_PAGE = 200

Title = Annotated[str, Meta(max_length=200, description="A title of one line.")]
Limit = Annotated[int, Meta(ge=1, le=MAX_PER_PAGE, description="The maximum number of items.")]
Cursor = Annotated[str, Meta(max_length=200, description="`next` of the previous page; empty for the first.")]


class PageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page of a list to return."""

    limit: Limit = 50
    after: Cursor = ""


class SessionsQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page of the sessions to return."""

    pinned: bool | None = None
    """Only pinned sessions, or only the others; all if left out."""


class MessagesQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page of a session to return. Within a page the oldest message is always first."""

    order: Literal["oldest", "newest"] = "oldest"
    turn: Id = ""
    """Start at this turn instead of at the first or the last."""
    branch: Id = ""
    """List the branch that this turn is in, instead of the newest one. With `turn`, it is that turn's."""
    entries: bool = False
    """Give each message as entries that fold to its turn, instead of parts."""


class NewSession(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A session to create. A title set here is never replaced by a generated one."""

    title: Title = ""
    agent: Id = ""
    model: ModelName = ""


class SessionChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Changes to a session. Fields that are left out stay as they are."""

    title: Title | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET
    """Whether the session stands above the others in lists."""
    agent: Id | UnsetType = UNSET
    model: ModelName | UnsetType = UNSET


class SessionBody(msgspec.Struct, frozen=True, kw_only=True):
    """A session: one conversation."""

    id: str
    title: str
    titled_by: TitleSource
    agent: str
    """The default agent of the session. May be empty."""
    model: str
    created_ms: int
    updated_ms: int
    client: str
    """The program that asked through a compatible endpoint; empty for the page and this API."""
    pinned: bool
    parent: str = ""
    """The id of the session whose agent started this one, if the client says so. It may be deleted."""


class ListedSession(SessionBody, frozen=True, kw_only=True):
    """A session in a list."""

    running: bool
    """Whether a turn of it runs."""


class TurnSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a turn and the path of its stream."""

    id: str
    session: str
    state: TurnState
    agent: str
    model: str
    provider: str
    created_ms: int
    ended_ms: int | None
    events: str
    """The path of the turn's stream."""


class SessionPage(msgspec.Struct, frozen=True):
    """A page of sessions, the newest first."""

    items: tuple[ListedSession, ...]
    next: str = ""


class SessionWithTurns(SessionBody, frozen=True, kw_only=True):
    """A session with a page of its turns, the oldest first."""

    turns: tuple[TurnSummary, ...]
    next: str = ""


class ImageBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An image sent with the prompt or a tool result."""

    media_type: Annotated[str, Meta(pattern=r"^image/[a-z0-9.+-]{1,40}$")]
    data: Annotated[str, Meta(min_length=1, pattern=r"^[A-Za-z0-9+/]+={0,2}$", description="Base64.")]

    def image(self) -> Image:
        """Return the image as part of a model request."""
        return Image(self.media_type, self.data)


class ToolResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result of a tool call that the model made and the client ran."""

    call_id: Annotated[str, Meta(max_length=1000, description="The id of the call; empty if it had none.")]
    result: str
    name: Annotated[str, Meta(max_length=200)] = ""
    failed: bool = False
    images: Annotated[tuple[ImageBody, ...], Meta(max_length=20)] = ()

    def message(self) -> ToolMessage:
        """Return the result as part of a model request."""
        images = tuple(image_body.image() for image_body in self.images)
        return ToolMessage(self.call_id, self.result, self.name, self.failed, images)


class FileBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A PDF file or a recording sent with the prompt."""

    media_type: Annotated[str, Meta(pattern=r"^(application/pdf|audio/[a-z0-9.+-]{1,40})$")]
    data: Annotated[str, Meta(min_length=1, pattern=r"^[A-Za-z0-9+/]+={0,2}$", description="Base64.")]
    name: Annotated[str, Meta(max_length=200)] = ""

    def file(self) -> File:
        """Return the file as part of a model request."""
        return File(self.media_type, self.data, self.name)


class NewTurn(RequestOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A turn to start: a prompt, results of the tools that the previous turn called, or both."""

    prompt: str = ""
    images: Annotated[tuple[ImageBody, ...], Meta(max_length=20)] = ()
    files: Annotated[tuple[FileBody, ...], Meta(max_length=20)] = ()
    tool_results: Annotated[tuple[ToolResult, ...], Meta(max_length=200)] = ()
    replaces: Id = ""
    follows: Id = ""
    model: ModelName = ""
    agent: Id = ""
    system: Annotated[str, Meta(max_length=MIB, description="The system prompt; empty for the agent's.")] = ""
    thinking: ThinkingLevel | Budget | None = None
    tools: Annotated[tuple[ToolBody, ...], Meta(max_length=1000)] = ()
    tool_choice: Annotated[str, Meta(max_length=128)] = ""

    def turn_request(self) -> TurnRequest:
        """Return the request for the turn."""
        images = tuple(image_body.image() for image_body in self.images)
        files = tuple(file_body.file() for file_body in self.files)
        message = UserMessage(self.prompt, images, files)
        prompt = (message,) if self.prompt.strip() or images or files else ()
        return TurnRequest(
            **options_of(self),
            messages=(*(tool_result.message() for tool_result in self.tool_results), *prompt),
            model=self.model,
            agent=self.agent,
            tools=tuple(tool.definition() for tool in self.tools),
            replaces=self.replaces,
            follows=self.follows,
        )


class WaitingCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call that waits for approval."""

    block: int
    name: str
    arguments: str


class TurnBody(TurnSummary, frozen=True, kw_only=True):
    """A turn: its answer, its reasoning, and its thinking as a block of steps."""

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
    stamps: TurnTimestamps
    notices: tuple[NoticeGiven, ...]
    waiting: tuple[WaitingCall, ...]


class ApprovalBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The decision on a tool call that waits for approval."""

    block: Annotated[int, Meta(ge=0, le=1_000_000, description="The block number of the call.")]
    granted: bool


class BlockBody(msgspec.Struct, frozen=True, kw_only=True):
    """One block of a message. Only the forms of its seals are shown; the contents go to their issuer."""

    number: int
    kind: Kind
    text: str
    name: str
    call_id: str
    assistant_id: str
    parent: int | None
    provenance: Provenance
    status: BlockStatus
    sealed: tuple[SealForm, ...]
    result: str | None
    error: str
    images: tuple[Image, ...]
    """Images of the result."""
    started_ms: int | None
    ended_ms: int | None
    approval: Approval
    settled_by: str
    description: str


class MessageBody(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a session. `thinking` is never part of `content`."""

    turn: str
    state: TurnState
    versions: tuple[str, ...]
    """The turns that replace each other here with this one, the oldest first; empty if it is the only one."""
    agent: str
    """The id of the agent of the turn. May be empty."""
    agent_name: str
    """The agent's present name; empty if the agent was deleted."""
    role: Role
    content: str
    thinking: str | None
    images: tuple[Image, ...]
    files: tuple[File, ...]
    call_id: str
    name: str
    failed: bool
    model: str
    provider: str
    outcome: Outcome | None
    usage: Usage
    stamps: TurnTimestamps
    summary: str
    notices: tuple[NoticeGiven, ...]
    parts: tuple[BlockBody, ...]
    """Its blocks; none where entries were asked for."""
    entries: tuple[Entry, ...]
    """Entries that fold to the turn of an assistant message; none unless they were asked for."""


class MessagePage(msgspec.Struct, frozen=True):
    """A page of messages, the oldest first. A page holds whole turns."""

    items: tuple[MessageBody, ...]
    next: str = ""


class EventsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where to resume a stream, and at which speed to replay it."""

    after: Annotated[int, Meta(ge=-1, le=2**53, description="The last id that was received.")] | None = None
    speed: Annotated[float, Meta(gt=0, le=100)] | None = None
    """Replay with the original gaps divided by this number. Longer gaps are cut to five seconds."""


class DisplayOverrides(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Display settings that override those of a preset. Fields that are left out come from the preset."""

    preset: Annotated[str, Meta(max_length=40)] = "default"
    while_streaming: OpenState | UnsetType = UNSET
    after_complete: AfterComplete | UnsetType = UNSET
    auto_close: bool | UnsetType = UNSET
    header: HeaderStyle | UnsetType = UNSET
    show_thinking: bool | UnsetType = UNSET
    remember: RememberScope | UnsetType = UNSET
    live_region: LiveRegion | UnsetType = UNSET


class NewPreferences(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All preferences of a user in a workspace. Fields that are left out get their defaults."""

    display: DisplayOverrides = DisplayOverrides()
    language: Annotated[str, Meta(max_length=20)] = "en-US"
    context_mode: ContextMode = ContextMode.PROVIDER_DEFAULT
    render: RenderMode = RenderMode.MARKDOWN
    expand_key: ExpandKey = DEFAULT_EXPAND_KEY
    model: ModelSetting = ""
    thinking: ThinkingText = ""


class WorkspaceBody(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace of the user."""

    id: str
    name: str


class WorkspaceList(msgspec.Struct, frozen=True, kw_only=True):
    """The user's workspaces, the oldest first, and the id of the current one."""

    items: tuple[WorkspaceBody, ...]
    current: str


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to search for, and where. Thoughts are searched only if `scope` names them."""

    q: Annotated[str, Meta(min_length=1, max_length=1000)]
    scope: Annotated[
        str,
        Meta(
            pattern=r"^(prompts|answers|tools|thoughts)(,(prompts|answers|tools|thoughts)){0,9}$",
            description="Any of prompts, answers, tools and thoughts, separated by commas.",
        ),
    ] = "prompts,answers,tools"
    limit: Limit = 20
    after: Cursor = ""


class HitPage(msgspec.Struct, frozen=True):
    """A page of search hits, the newest first."""

    items: tuple[SearchHit, ...]
    next: str = ""


SEARCH_SCOPES = {
    "prompts": SearchKind.PROMPT,
    "answers": SearchKind.ANSWER,
    "tools": SearchKind.TOOL,
    "thoughts": SearchKind.THOUGHT,
}


class ExportQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The format of an export. `text` holds prompts and answers, and never thinking."""

    format: Literal["text", "markdown", "json", "otlp"] = "text"
    thinking: ThinkingStyle = ThinkingStyle.DETAILS
    """How `markdown` writes thinking."""
    lang: Annotated[str, Meta(max_length=20)] = ""
    """The language of labels. Empty means the language of the preferences."""
    content: SpanContent = SpanContent.NONE
    """What of the texts `otlp` holds: `messages` without thinking, `thoughts`, or `seals`, which is all."""
    openinference: bool = False
    """Whether the spans of `otlp` have the names of OpenInference too."""
    turn: Annotated[str, Meta(max_length=100)] = ""
    """The id of the only turn that `otlp` writes. Empty means all of them."""


class Health(msgspec.Struct, frozen=True, omit_defaults=True):
    """The health of the gateway. `why` explains a status other than `ok`."""

    status: Literal["ok", "starting", "stopping", "not_saved"]
    why: str = ""


class ContextLine(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to one block of the conversation when the request of a turn was built."""

    step: int
    """The place in the conversation: a message, a tool result or an answer."""
    block: int | None
    """The block of the answer; null for messages and results."""
    kind: str
    status: SendStatus
    code: str
    reason: str


class ContextBody(msgspec.Struct, frozen=True, kw_only=True):
    """What of the conversation was sent with the request of a turn, and why."""

    turn: str
    provider: str
    model: str
    lines: tuple[ContextLine, ...]
    notes: tuple[str, ...]
