"""The fields of a frame from which its dialect is detected."""

import msgspec

from thinkaloud.core.dialects.lenient import LenientDecoder, OddFields
from thinkaloud.core.dialects.message import ABSENT, present


class Clues(msgspec.Struct):
    """The fields by which dialects differ; for most, only their presence matters."""

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
    done: msgspec.Raw = ABSENT
    created_at: msgspec.Raw = ABSENT
    content: msgspec.Raw = ABSENT
    reasoning_content: msgspec.Raw = ABSENT
    reasoning_meta: msgspec.Raw = ABSENT
    message_start: msgspec.Raw = msgspec.field(default=ABSENT, name="messageStart")
    block_delta: msgspec.Raw = msgspec.field(default=ABSENT, name="contentBlockDelta")
    snake_stop_reason: msgspec.Raw = msgspec.field(default=ABSENT, name="stop_reason")
    steps: msgspec.Raw = ABSENT
    usage: msgspec.Raw = ABSENT
    text: msgspec.Raw = ABSENT
    token: msgspec.Raw = ABSENT
    generation_tokens: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT
    sequence_number: int | None = None
    request_id: str | None = None

    @property
    def has_answer_keys(self) -> bool:
        """Whether the frame has all keys of Thinkaloud's own answer, of which two may be null."""
        is_list = bytes(self.content)[:1] == b"["
        return is_list and bool(self.reasoning_content) and bool(self.reasoning_meta)

    @property
    def has_token(self) -> bool:
        """Whether the frame is one token printed by a local runner."""
        return present(self.text) and (present(self.token) or present(self.generation_tokens))

    @property
    def has_candidates(self) -> bool:
        """Whether the frame is a response of Gemini, as it is or wrapped in `response`."""
        wrapped = read_clues(bytes(self.response)) if bytes(self.response)[:1] == b"{" else None
        fields = (self.candidates, self.usage_metadata, self.prompt_feedback)
        return any(map(present, fields)) or (wrapped is not None and wrapped.has_candidates)

    @property
    def has_google_status(self) -> bool:
        """Whether the error has a `status` string, as Google's errors do."""
        try:
            return _google_error_decoder.decode(self.error, OddFields()).status is not None
        except (msgspec.MsgspecError, RecursionError):
            return False


class GoogleError(msgspec.Struct):
    """An error with a `status` string."""

    status: str | None = None


_clues_decoder = LenientDecoder(Clues)
_google_error_decoder = LenientDecoder(GoogleError)


def read_clues(data: bytes) -> Clues | None:
    """Read the clues of a JSON frame; None if the frame cannot be decoded."""
    try:
        return _clues_decoder.decode(data, OddFields())
    except (msgspec.MsgspecError, RecursionError):
        return None
