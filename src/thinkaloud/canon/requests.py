"""What is asked of a model, before any provider's words for it: messages, tools, and how hard to think.

A request is what `context` builds and what a dialect turns into a body. An assistant's message goes back
either as its issuer sent it (`verbatim`) or as plain parts that any provider can read.
"""

import re
from enum import StrEnum

import msgspec


class ThinkingLevel(StrEnum):
    """How hard to think, in one vocabulary; a number of tokens is the other way to say it."""

    OFF = "off"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    MAX = "max"


class ThinkingSetting(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the user wants: a level, or a budget in tokens. Neither is the model's own default."""

    level: ThinkingLevel | None = None
    budget_tokens: int | None = None


class Image(msgspec.Struct, frozen=True):
    """A picture in a user's message, as base64 of its bytes."""

    media_type: str
    data: str


class ToolDefinition(msgspec.Struct, frozen=True):
    """A function the model may call; `parameters` is its JSON Schema, as JSON text."""

    name: str
    description: str = ""
    parameters: str = '{"type":"object","properties":{}}'


def assistant_tool_name(name: str) -> str:
    """The name under which a model calls an assistant: letters, digits and underscores, all small."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:64] or "assistant"


def assistant_call_arguments(task: str) -> str:
    """A task as the arguments of the call that gives it to an assistant."""
    return msgspec.json.encode({"task": task}).decode()


class UserMessage(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="role", tag="user"):
    """What a person said."""

    text: str
    images: tuple[Image, ...] = ()


class ToolMessage(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="role", tag="tool"):
    """What a tool came back with."""

    call_id: str
    result: str
    name: str = ""
    failed: bool = False


class ToolCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call that the assistant made; `signature` is the seal that came on it, if it must go back."""

    call_id: str
    name: str
    arguments: str
    signature: str = ""


class AssistantMessage(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="role", tag="assistant"):
    """What the assistant said: verbatim for its issuer, or as text and calls.

    `reasoning` goes back in the field that `reasoning_field` names, for providers that want the text itself;
    None is no field at all, and an empty text is a field that is there and empty.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    reasoning_field: str = ""
    verbatim: str = ""


Message = UserMessage | AssistantMessage | ToolMessage


class ThinkingParameters(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one model is asked to think: the fields its API takes, already solved. None is not sent.

    `toggle` is the model's own on/off switch, `effort` and `level` its own words, `template` arguments of a
    chat template; `display` asks for text that would be withheld. `notes` say what could not be honoured.
    """

    mode: str = ""
    effort: str = ""
    level: str = ""
    budget_tokens: int | None = None
    toggle: bool | None = None
    display: str = ""
    template: tuple[tuple[str, bool | str], ...] = ()
    max_tokens: int | None = None
    notes: tuple[str, ...] = ()


class Request(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Everything a dialect needs to write a body."""

    model: str
    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[ToolDefinition, ...] = ()
    tool_choice: str = ""
    thinking: ThinkingParameters = ThinkingParameters()
    max_tokens: int | None = None
    stream: bool = True
