"""Requests: what a user asks (`TurnRequest`), and what one model is sent (`Request`).

Every way in makes a `TurnRequest`: the command line, the HTTP API, the compatible endpoints and Python. Its
options are `RequestOptions`, which agents and stored turns have as well. `context` builds a `Request` for one
route, and a dialect encodes it as a request body. An assistant's message is sent back either exactly as its
provider sent it (`verbatim`) or as plain parts that any provider can read.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from thinkaloud.core.canon.template import Wording


class ThinkingLevel(StrEnum):
    """How much to think, in one vocabulary for all models; a token budget is the alternative."""

    OFF = "off"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    MAX = "max"


class ThinkingSetting(msgspec.Struct, frozen=True, omit_defaults=True):
    """The user's choice: a level or a budget in tokens. With neither, the model uses its default."""

    level: ThinkingLevel | None = None
    budget_tokens: int | None = None


Verbosity = Literal["low", "medium", "high"]
"""How long an answer is to be."""


class Sampling(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How the model picks its words and its calls. None and empty values leave it to the model's default.

    `extra` holds further fields of the request body, by name or dotted path, which are sent as they are.
    """

    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    stop: Annotated[tuple[Annotated[str, Meta(min_length=1, max_length=1000)], ...], Meta(max_length=16)] = ()
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    parallel_tool_calls: bool | None = None
    """Whether a reply may have several tool calls."""
    verbosity: Verbosity | None = None
    """How long the answer is to be."""
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class ContextMode(StrEnum):
    """How many thoughts are sent back."""

    KEEP = "keep"
    """As many as the provider accepts."""
    STRIP = "strip"
    """Only those the provider requires."""
    PROVIDER_DEFAULT = "provider_default"
    """Those the provider recommends."""


OnUnavailable = Literal["error", "warn"]
Budget = Annotated[int, Meta(ge=1, le=10_000_000, description="A number of tokens.")]


class RequestOptions(Sampling, frozen=True, omit_defaults=True, kw_only=True):
    """How a question is to be answered. A default value leaves it to the agent, then to the model.

    A new option is a field here. All that has options derives from this class, or is merged with it.
    """

    system: str = ""
    """The system prompt."""
    thinking: str | int | None = None
    """A level, a number of tokens, or `off`."""
    on_thinking_unavailable: OnUnavailable = "error"
    """If the model cannot think as requested: refuse the turn (`error`), or ask without thinking (`warn`)."""
    max_tokens: Budget | None = None
    """The maximum number of output tokens, thinking included."""
    tool_choice: str = ""
    """`auto`, `none`, `required`, or the name of the tool to call. Empty means `auto`."""
    output_schema: dict[str, Any] | None = None
    """The JSON Schema that the answer must match; a notice `bad_output` says if it does not."""
    context_mode: ContextMode | None = None
    """Which earlier thinking is sent back."""
    cache: bool = True
    """Whether to mark what the next request repeats, so that providers bill it at a lower price."""


OptionsT = TypeVar("OptionsT", bound=RequestOptions)


def options_of(settings: RequestOptions) -> dict[str, Any]:
    """Return the options alone, by name, for another struct that has them."""
    return {name: getattr(settings, name) for name in RequestOptions.__struct_fields__}


def merge_options(settings: OptionsT, chosen: RequestOptions) -> OptionsT:
    """Return the settings with the options that `chosen` sets; extra fields are those of both."""
    defaults = options_of(RequestOptions())
    changes = {name: value for name, value in options_of(chosen).items() if value != defaults[name]}
    changes["extra"] = {**settings.extra, **chosen.extra}
    return msgspec.structs.replace(settings, **changes)


class OutputFormat(msgspec.Struct, frozen=True):
    """A request for JSON instead of text. Without a schema the provider only promises some JSON value."""

    schema: dict[str, Any] | None = None


class Image(msgspec.Struct, frozen=True):
    """An image in a message or in a tool result, as base64."""

    media_type: str
    data: str


class File(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file in a user's message, as base64: a PDF or a recording. Text is part of the message's text."""

    media_type: str
    data: str
    name: str = ""


_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
)
_RIFF_TYPES = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}


def media_type_of(content: bytes) -> str:
    """Return the type of an image, a PDF file or a recording by its first bytes; else an empty text."""
    if content[:4] == b"RIFF":
        return _RIFF_TYPES.get(content[8:12], "")
    return next((media_type for start, media_type in _SIGNATURES if content.startswith(start)), "")


def message_parts(attached: Iterable[File]) -> tuple[tuple[Image, ...], tuple[File, ...]]:
    """Split what is attached to a message into images and other files."""
    images: list[Image] = []
    files: list[File] = []
    for file in attached:
        if file.media_type.startswith("image/"):
            images.append(Image(file.media_type, file.data))
        else:
            files.append(file)
    return tuple(images), tuple(files)


class ToolDefinition(msgspec.Struct, frozen=True):
    """A function that the model may call; `parameters` is its JSON Schema, as JSON text."""

    name: str
    description: str = ""
    parameters: str = '{"type":"object","properties":{}}'


CLIENT_TOOL_NAME = r"^[A-Za-z0-9_-]{1,128}$"
"""The names that a client may give to the tools that it runs."""


def assistant_tool_name(name: str) -> str:
    """Return the tool name of an assistant: lower-case letters, digits and underscores."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:64] or "assistant"


def assistant_call_arguments(task: str) -> str:
    """Return the call arguments, as JSON text, that give a task to an assistant."""
    return msgspec.json.encode({"task": task}).decode()


class UserMessage(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="role", tag="user"):
    """A user's message."""

    text: str
    images: tuple[Image, ...] = ()
    files: tuple[File, ...] = ()


class ToolMessage(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="role", tag="tool"):
    """The result of a tool call."""

    call_id: str
    result: str
    name: str = ""
    failed: bool = False
    images: tuple[Image, ...] = ()


class TurnRequest(RequestOptions, frozen=True, omit_defaults=True, kw_only=True):
    """A question: the messages that one turn answers, who answers them, and how.

    Results answer calls of the turn before, so they come before the prompt.
    """

    messages: tuple[UserMessage | ToolMessage, ...] = ()
    model: str = ""
    """Empty for the model of the agent, then of the session."""
    agent: str = ""
    """The id or name of the agent; empty for that of the session, if it has one."""
    tools: tuple[ToolDefinition, ...] = ()
    """Tools that the caller runs, besides those of the agent: a turn that calls one ends."""
    replaces: str = ""
    """The id of a turn whose question this one replaces: it is asked from before that turn, which is kept."""
    follows: str = ""
    """The id of the turn that this one follows; empty for the newest one."""


class ToolCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call that the assistant made; `signature` is its seal, if the provider requires it back."""

    call_id: str
    name: str
    arguments: str
    signature: str = ""


class AssistantMessage(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="role", tag="assistant"):
    """An assistant's message: `verbatim` for the provider that issued it, else text and calls.

    `reasoning` is sent in the field named by `reasoning_field`, for providers that require the reasoning text
    back. None sends no field; an empty string sends an empty field, which some providers require.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    reasoning_field: str = ""
    verbatim: str = ""


Message = UserMessage | AssistantMessage | ToolMessage


class ThinkingParameters(msgspec.Struct, frozen=True, omit_defaults=True):
    """The thinking fields to send to one model, already resolved for its API; empty fields are not sent.

    `toggle` is the model's on/off switch, `effort` and `level` are its own words, `template` holds arguments
    of the chat template, and `display` requests text that is otherwise withheld. `notes` are warnings about
    settings that the model cannot honour.
    """

    mode: str = ""
    effort: str = ""
    level: str = ""
    budget_tokens: int | None = None
    toggle: bool | None = None
    display: str = ""
    template: tuple[tuple[str, bool | str], ...] = ()
    max_tokens: int | None = None
    notes: tuple[Wording, ...] = ()


class CacheMarks(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Where the stable parts of a request end, for providers that bill repeated input at a lower price.

    `messages` are positions in `Request.messages`, each the last of a run of user and tool messages. With
    `automatic` the provider places the marks. `key` is the same for all requests of a conversation.
    """

    tools: bool = False
    system: bool = False
    messages: tuple[int, ...] = ()
    automatic: bool = False
    key: str = ""


class RouteSettings(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The options of a request as one route takes them."""

    tool_choice: str = ""
    thinking: ThinkingParameters = ThinkingParameters()
    max_tokens: int | None = None
    sampling: Sampling = Sampling()
    output: OutputFormat | None = None
    stream: bool = True


class Request(RouteSettings, frozen=True, omit_defaults=True, kw_only=True):
    """Everything that a dialect needs to build a request body."""

    model: str
    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[ToolDefinition, ...] = ()
    cache: CacheMarks = CacheMarks()
