"""The registry of dialects: how each one is read, requested and detected.

Detection tries the rows in order, first every `matches`, then every `matches_error`, because errors of
different providers look more alike than their answers. The order of the rows matters for the same reason.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from thinkaloud.canon import UnknownDialect
from thinkaloud.canon.requests import Request
from thinkaloud.catalog.rows import Route
from thinkaloud.dialects import (
    anthropic_messages,
    bedrock_converse,
    cohere_v2,
    gemini,
    gemini_interactions,
    ollama,
    openai_chat,
    openai_responses,
    text,
)
from thinkaloud.dialects.clues import Clues, read_clues
from thinkaloud.dialects.emitter import TurnEmitter
from thinkaloud.dialects.message import present
from thinkaloud.dialects.request import ProviderRequest
from thinkaloud.dialects.tags.profiles import TagProfile
from thinkaloud.wire import Frame


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
    matches: Callable[[Clues], bool] = _never
    """Whether a frame with these fields belongs to this dialect."""
    matches_error: Callable[[Clues], bool] = _never
    """Whether an error with these fields belongs to this dialect; tried after all `matches`."""


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

_ROWS = (
    Dialect(
        anthropic_messages.NAME,
        lambda emitter, _: anthropic_messages.Reader(emitter),
        anthropic_messages.build_request,
        lambda clues: clues.type in _ANTHROPIC_TYPES,
        lambda clues: present(clues.error) and clues.type == "error",
    ),
    Dialect(
        openai_responses.NAME,
        lambda emitter, _: openai_responses.Reader(emitter),
        openai_responses.build_request,
        lambda clues: (
            clues.object == "response"
            or (clues.type or "").startswith("response.")
            or (clues.type == "error" and clues.sequence_number is not None)
        ),
    ),
    Dialect(
        gemini_interactions.NAME,
        lambda emitter, _: gemini_interactions.Reader(emitter),
        gemini_interactions.build_request,
        lambda clues: (
            clues.object == "interaction" or (clues.event_type or "").startswith(("interaction.", "step."))
        ),
    ),
    Dialect(
        gemini.NAME,
        lambda emitter, _: gemini.Reader(emitter),
        gemini.build_request,
        lambda clues: (
            not present(clues.choices)
            and (present(clues.candidates) or present(clues.usage_metadata) or present(clues.prompt_feedback))
        ),
        lambda clues: present(clues.error) and clues.has_google_status,
    ),
    Dialect(
        openai_chat.NAME,
        openai_chat.Reader,
        openai_chat.build_request,
        lambda clues: clues.type not in _COHERE_TYPES and present(clues.choices),
        lambda clues: present(clues.error) or clues.object == "error",
    ),
    Dialect(
        ollama.NAME,
        ollama.Reader,
        ollama.build_request,
        lambda clues: clues.done is not None and (present(clues.message) or present(clues.response)),
    ),
    Dialect(
        bedrock_converse.NAME,
        lambda emitter, _: bedrock_converse.Reader(emitter),
        bedrock_converse.build_request,
        lambda clues: present(clues.stop_reason) and present(clues.output),
    ),
    Dialect(
        cohere_v2.NAME,
        lambda emitter, _: cohere_v2.Reader(emitter),
        cohere_v2.build_request,
        lambda clues: (
            clues.type in _COHERE_TYPES or (present(clues.message) and present(clues.finish_reason))
        ),
        lambda clues: bytes(clues.message)[:1] == b'"',
    ),
    Dialect(text.NAME, text.Reader, None, lambda clues: clues.has_token),
)

DIALECTS = {row.name: row for row in _ROWS}
"""All dialects by name."""


def detect_dialect(frame: Frame) -> str | None:
    """Return the dialect of a JSON frame; None if the frame does not show it."""
    clues = read_clues(frame.data)
    if clues is None:
        return None
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
            f"The dialect {route.provider.dialect!r} of {route.provider.name} cannot send requests. "
            f"Use one of: {names}."
        )
    return row.build_request(route, request)
