"""The registry of dialects: how each one is read, requested and detected.

Detection tries the rows in order, first every `matches`, then every `matches_error`, because errors of
different providers look more alike than their answers. The order of the rows matters for the same reason.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from thinkaloud.core.canon import UnknownDialect
from thinkaloud.core.canon.requests import Request
from thinkaloud.core.catalog import builtin_catalog
from thinkaloud.core.catalog.rows import Route
from thinkaloud.core.dialects import (
    ag_ui,
    anthropic_messages,
    bedrock_converse,
    cohere_v2,
    gemini,
    gemini_interactions,
    ollama,
    openai_chat,
    openai_responses,
    text,
    thinkaloud_json,
    ui_message_stream,
)
from thinkaloud.core.dialects.client_request import ClientRequest
from thinkaloud.core.dialects.clues import Clues, read_clues
from thinkaloud.core.dialects.emitter import TurnEmitter
from thinkaloud.core.dialects.lenient import type_name
from thinkaloud.core.dialects.message import present
from thinkaloud.core.dialects.request import ProviderRequest
from thinkaloud.core.dialects.tags.profiles import TagProfile
from thinkaloud.core.dialects.writer import ResponseFormat
from thinkaloud.core.wire import Frame

AUTO = "auto"
"""The name that leaves the dialect to detection."""


class DialectReader(Protocol):
    """Reads the frames of one response and reports to the emitter that it was created with."""

    def feed(self, frame: Frame) -> None:
        """Read one more frame."""

    def close(self) -> None:
        """Finish the turn after the last frame."""


def _never(clues: Clues) -> bool:
    return False


class Dialect(NamedTuple):
    """One wire format."""

    name: str
    make_reader: Callable[[TurnEmitter, TagProfile | None], DialectReader]
    build_request: Callable[[Route, Request], ProviderRequest] | None
    """None if the dialect can only be read."""
    parameter_paths: Mapping[str, str] = {}
    """The dotted path in the body for the output limit and for each sampling parameter that it has."""
    response_format: ResponseFormat | None = None
    """How clients of this dialect are answered; None if they cannot be."""
    parse_request: Callable[[bytes], ClientRequest] | None = None
    """How their requests are read."""
    matches: Callable[[Clues], bool] = _never
    """Whether a frame with these fields belongs to this dialect."""
    matches_error: Callable[[Clues], bool] = _never
    """Whether an error with these fields belongs to this dialect; tried after all `matches`."""
    messages_field: str = "messages"
    """The field of a request body that holds the conversation."""


_ANTHROPIC_TYPES = (
    "message_start",
    "message_delta",
    "message_stop",
    "content_block_start",
    "content_block_delta",
    "message",
)
_COHERE_TYPES = (
    "message-start",
    "content-start",
    "content-delta",
    "tool-plan-delta",
    "tool-call-start",
    "message-end",
)

_COMMON_EVENTS = ("message", "error")
"""Names of server-sent events that say nothing about the dialect."""

_ROWS = (
    Dialect(
        anthropic_messages.NAME,
        anthropic_messages.Reader,
        anthropic_messages.build_request,
        anthropic_messages.PARAMETER_PATHS,
        anthropic_messages.RESPONSE_FORMAT,
        anthropic_messages.parse_request,
        lambda clues: (
            clues.type in _ANTHROPIC_TYPES
            or (bytes(clues.content)[:1] == b"[" and present(clues.snake_stop_reason))
        ),
        lambda clues: present(clues.error) and clues.type == "error",
    ),
    Dialect(
        openai_responses.NAME,
        openai_responses.Reader,
        openai_responses.build_request,
        openai_responses.PARAMETER_PATHS,
        openai_responses.RESPONSE_FORMAT,
        openai_responses.parse_request,
        lambda clues: (
            clues.object == "response"
            or bytes(clues.output)[:1] == b"["
            or (clues.type or "").startswith("response.")
            or (clues.type == "error" and clues.sequence_number is not None)
        ),
        messages_field="input",
    ),
    Dialect(
        gemini_interactions.NAME,
        gemini_interactions.Reader,
        gemini_interactions.build_request,
        gemini_interactions.PARAMETER_PATHS,
        None,
        None,
        lambda clues: (
            clues.object == "interaction"
            or present(clues.steps)
            or (clues.event_type or "").startswith(("interaction.", "step."))
        ),
        messages_field="input",
    ),
    Dialect(
        gemini.NAME,
        gemini.Reader,
        gemini.build_request,
        gemini.PARAMETER_PATHS,
        None,
        None,
        lambda clues: not present(clues.choices) and clues.has_candidates,
        lambda clues: present(clues.error) and clues.has_google_status,
        messages_field="contents",
    ),
    Dialect(
        openai_chat.NAME,
        openai_chat.Reader,
        openai_chat.build_request,
        openai_chat.PARAMETER_PATHS,
        openai_chat.RESPONSE_FORMAT,
        openai_chat.parse_request,
        lambda clues: clues.type not in _COHERE_TYPES and present(clues.choices),
        lambda clues: present(clues.error) or clues.object == "error",
    ),
    Dialect(
        ollama.NAME,
        ollama.Reader,
        ollama.build_request,
        ollama.PARAMETER_PATHS,
        ollama.RESPONSE_FORMAT,
        ollama.parse_request,
        lambda clues: (
            (present(clues.done) or present(clues.created_at))
            and (present(clues.message) or present(clues.response))
        ),
    ),
    Dialect(
        bedrock_converse.NAME,
        bedrock_converse.Reader,
        bedrock_converse.build_request,
        bedrock_converse.PARAMETER_PATHS,
        None,
        None,
        lambda clues: (
            bytes(clues.output)[:1] == b"{" or present(clues.message_start) or present(clues.block_delta)
        ),
    ),
    Dialect(
        cohere_v2.NAME,
        cohere_v2.Reader,
        cohere_v2.build_request,
        cohere_v2.PARAMETER_PATHS,
        None,
        None,
        lambda clues: (
            clues.type in _COHERE_TYPES
            or (bytes(clues.message)[:1] == b"{" and (present(clues.finish_reason) or present(clues.usage)))
        ),
        lambda clues: bytes(clues.message)[:1] == b'"',
    ),
    Dialect(
        thinkaloud_json.NAME,
        thinkaloud_json.Reader,
        None,
        matches=lambda clues: (
            not present(clues.error)
            and (present(clues.reasoning_meta) or present(clues.reasoning_content) or clues.has_answer_keys)
        ),
    ),
    Dialect(text.NAME, text.Reader, None, matches=lambda clues: clues.has_token),
)

DIALECTS = {row.name: row for row in _ROWS}
"""All dialects by name."""


class ClientFormat(NamedTuple):
    """How requests of one kind of client are read and answered."""

    parse_request: Callable[[bytes], ClientRequest]
    response_format: ResponseFormat


CLIENT_FORMATS = {
    row.name: ClientFormat(row.parse_request, row.response_format)
    for row in _ROWS
    if row.parse_request is not None and row.response_format is not None
} | {
    ag_ui.NAME: ClientFormat(ag_ui.parse_request, ag_ui.RESPONSE_FORMAT),
    ui_message_stream.NAME: ClientFormat(ui_message_stream.parse_request, ui_message_stream.RESPONSE_FORMAT),
}
"""The formats of clients: the dialects that can be answered in, and the protocols of front ends."""


def find_dialect(name: str) -> str:
    """Return the dialect of this name, or of the provider of this name; "auto" if it speaks several."""
    if name == AUTO or name in DIALECTS:
        return name
    dialects = {row.dialect for row in builtin_catalog().providers_named(name)}
    if not dialects:
        raise UnknownDialect(
            "Unknown dialect {dialect}. Use one of: {names}. Or use a provider's name, such as openai.",
            dialect=repr(name),
            names=", ".join((AUTO, *sorted(DIALECTS))),
        )
    return dialects.pop() if len(dialects) == 1 else AUTO


def detect_dialect(frame: Frame) -> str | None:
    """Return the dialect of a JSON frame; None if the frame does not show it."""
    clues = read_clues(frame.data)
    if clues is None:
        return None
    if not type_name(clues.type) and frame.event not in _COMMON_EVENTS:
        clues.type = frame.event
    for row in _ROWS:
        if row.matches(clues):
            return row.name
    return next((row.name for row in _ROWS if row.matches_error(clues)), None)


def build_request(route: Route, request: Request) -> ProviderRequest:
    """Build the request in the dialect of the route's provider."""
    row = DIALECTS.get(route.provider.dialect)
    if row is None or row.build_request is None:
        names = ", ".join(sorted(name for name, row in DIALECTS.items() if row.build_request))
        raise UnknownDialect(
            "The dialect {dialect} of {name} cannot send requests. Use one of: {names}.",
            dialect=repr(route.provider.dialect),
            name=route.provider.name,
            names=names,
        )
    return row.build_request(route, request)
