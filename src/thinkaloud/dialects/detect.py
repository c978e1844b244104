"""Which dialect a body is in, from its first frame that says something.

Each rule names what only that wire format has. A frame that fits none says nothing yet (a ping, say), and
the next one is asked.
"""

from collections.abc import Callable

import msgspec

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
from thinkaloud.dialects.verbatim import ABSENT, present
from thinkaloud.wire import Frame


class Clues(msgspec.Struct):
    """The fields by which formats differ; only whether they are there matters for most."""

    type: str | None = None
    object: str | None = None
    event_type: str | None = None
    choices: msgspec.Raw = ABSENT
    candidates: msgspec.Raw = ABSENT
    usage_metadata: msgspec.Raw = msgspec.field(default=ABSENT, name="usageMetadata")
    prompt_feedback: msgspec.Raw = msgspec.field(default=ABSENT, name="promptFeedback")
    stop_reason: msgspec.Raw = msgspec.field(default=ABSENT, name="stopReason")
    output: msgspec.Raw = ABSENT
    message: msgspec.Raw = ABSENT
    response: msgspec.Raw = ABSENT
    finish_reason: msgspec.Raw = ABSENT
    done: bool | None = None
    text: msgspec.Raw = ABSENT
    token: msgspec.Raw = ABSENT
    generation_tokens: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT
    sequence_number: int | None = None
    request_id: str | None = None


class GoogleError(msgspec.Struct):
    """Google's errors have a status in words."""

    status: str | None = None


_clues_decoder = msgspec.json.Decoder(Clues)
_google_error_decoder = msgspec.json.Decoder(GoogleError)


def _has_token(clues: Clues) -> bool:
    return present(clues.text) and (present(clues.token) or present(clues.generation_tokens))


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

_DETECTION_RULES: tuple[tuple[str, Callable[[Clues], bool]], ...] = (
    (anthropic_messages.NAME, lambda clue: clue.type in _ANTHROPIC_TYPES),
    (
        openai_responses.NAME,
        lambda clue: clue.object == "response" or (clue.type or "").startswith("response."),
    ),
    (openai_responses.NAME, lambda clue: clue.type == "error" and clue.sequence_number is not None),
    (cohere_v2.NAME, lambda clue: clue.type in _COHERE_TYPES),
    (gemini_interactions.NAME, lambda clue: clue.object == "interaction"),
    (gemini_interactions.NAME, lambda clue: (clue.event_type or "").startswith(("interaction.", "step."))),
    (openai_chat.NAME, lambda clue: present(clue.choices)),
    (gemini.NAME, lambda clue: present(clue.candidates) or present(clue.usage_metadata)),
    (gemini.NAME, lambda clue: present(clue.prompt_feedback)),
    (ollama.NAME, lambda clue: clue.done is not None and (present(clue.message) or present(clue.response))),
    (bedrock_converse.NAME, lambda clue: present(clue.stop_reason) and present(clue.output)),
    (cohere_v2.NAME, lambda clue: present(clue.message) and present(clue.finish_reason)),
    (text.NAME, _has_token),
    (anthropic_messages.NAME, lambda clue: present(clue.error) and clue.type == "error"),
    (gemini.NAME, lambda clue: present(clue.error) and _has_google_status(clue.error)),
    (openai_chat.NAME, lambda clue: present(clue.error) or clue.object == "error"),
    (cohere_v2.NAME, lambda clue: bytes(clue.message)[:1] == b'"'),
)


def detect_dialect(frame: Frame) -> str | None:
    """The dialect of a JSON frame; None where it does not say."""
    try:
        clues = _clues_decoder.decode(frame.data)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return next((name for name, matches in _DETECTION_RULES if matches(clues)), None)


def token_line(line: bytes) -> bool:
    """Whether a line is one token of a local runner, as JSON."""
    try:
        return _has_token(_clues_decoder.decode(line))
    except (msgspec.MsgspecError, RecursionError):
        return False


def _has_google_status(error: msgspec.Raw) -> bool:
    try:
        return _google_error_decoder.decode(error).status is not None
    except (msgspec.MsgspecError, RecursionError):
        return False
