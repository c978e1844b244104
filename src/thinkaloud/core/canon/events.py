"""The events of a turn: a small closed set of frozen values, named in the past tense.

Dialects emit events, the caller stamps them into entries, and the transcript folds the entries into a turn.
Every event survives a JSON round trip unchanged; its `type` field is its tag. Tags and field names are
stored in logs and must not change.
"""

from enum import StrEnum
from typing import Any, Literal

import msgspec

from thinkaloud.core.canon.requests import Image
from thinkaloud.core.canon.template import Wording


class Kind(StrEnum):
    """The kind of content that a block holds."""

    REASONING = "reasoning"
    TEXT = "text"
    TOOL_CALL = "tool_call"
    ASSISTANT_CALL = "assistant_call"


class Provenance(StrEnum):
    """Whether reasoning text is the model's own words or a summary of them."""

    UNKNOWN = "unknown"
    RAW = "raw"
    SUMMARY = "summary"


class SealForm(StrEnum):
    """What a seal stands for. Its payload is opaque and is never interpreted."""

    SIGNATURE = "signature"
    REDACTED = "redacted"
    ENCRYPTED = "encrypted"
    ITEM = "item"
    MESSAGE = "message"


class Finish(StrEnum):
    """Why a provider stopped, in one vocabulary for all providers."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    REFUSAL = "refusal"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class Seal(msgspec.Struct, frozen=True, omit_defaults=True):
    """Opaque continuation data.

    It is sent back unread, byte for byte, and only to the dialect and model that issued it.
    """

    dialect: str
    form: SealForm
    payload: str
    model: str = ""


MAX_NUMBER = 2**53
"""The largest integer that every JSON reader keeps exactly. No valid time or count comes near it."""


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Token counts with one meaning for all providers; None is unknown, never zero.

    `input` includes tokens read from and written to a cache; `output` includes `reasoning`.
    """

    input: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None

    def merge(self, newer: "Usage") -> "Usage":
        """Return the newer report of the same thing, with these counts where the newer one has none."""
        return msgspec.structs.replace(self, **reported_fields(newer))

    def add(self, other: "Usage") -> "Usage":
        """Return the sum with the usage of another thing; a count unknown on either side stays unknown."""
        sums: dict[str, int | None] = {}
        for name in self.__struct_fields__:
            pair = getattr(self, name), getattr(other, name)
            sums[name] = None if None in pair else sum(pair)
        return msgspec.structs.replace(self, **sums)


def reported_fields(counts: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a usage report that have a value."""
    return {name: value for name in counts.__struct_fields__ if (value := getattr(counts, name)) is not None}


class TurnStarted(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="turn.started"):
    """The provider, or the agent, started to respond."""

    dialect: str = ""
    model: str = ""


class BlockStarted(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="block.started"):
    """A reasoning, text, tool call or assistant call block started; `parent` is the call it belongs to.

    `description` says in one line what the called tool does.
    """

    block: int
    kind: Kind
    name: str = ""
    call_id: str = ""
    assistant_id: str = ""
    parent: int | None = None
    provenance: Provenance = Provenance.UNKNOWN
    description: str = ""


class BlockGrew(msgspec.Struct, frozen=True, tag_field="type", tag="block.grew", gc=False):
    """A block got more text: reasoning, answer, tool arguments or the task of an assistant."""

    block: int
    text: str


class BlockSealed(msgspec.Struct, frozen=True, tag_field="type", tag="block.sealed"):
    """A block got opaque continuation data; this may happen after the block ended."""

    block: int
    seal: Seal


class BlockReclassified(
    msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="block.reclassified"
):
    """Text that was emitted as one kind turned out to be another.

    Without `tail` the whole block changes its kind. With `tail`, its last `tail` characters (Unicode code
    points) move to a new block numbered `into`, which is already ended.
    """

    block: int
    kind: Kind
    tail: int | None = None
    into: int | None = None


class ToolFinished(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="tool.finished"):
    """A tool or an assistant returned a result or an error; `result` says where its images belong."""

    block: int
    result: str = ""
    error: str = ""
    images: tuple[Image, ...] = ()


class BlockEnded(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="block.ended"):
    """A block got its last text; `interrupted` if the provider did not end the block itself."""

    block: int
    interrupted: bool = False


class SummaryWritten(
    msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="summary.written"
):
    """A one-line summary of the thinking was written; `by` is its author."""

    text: str
    by: Literal["provider", "extract", "model"] = "model"


class UsageReported(msgspec.Struct, frozen=True, tag_field="type", tag="usage.reported"):
    """The provider reported cumulative counts; a later report replaces only the counts it contains."""

    usage: Usage


class NoticeGiven(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="notice.given"):
    """The user should know something that does not change the turn; `block` is the block it is about."""

    code: str
    text: str = ""
    block: int | None = None
    wording: Wording | None = None
    """The text as a template with fields, for translation; None if the text has no fields."""

    @classmethod
    def of(cls, code: str, message: Wording, block: int | None = None) -> "NoticeGiven":
        """Return a notice with a text of ours."""
        return cls(code, str(message), block, message.needed)


class ApprovalAsked(msgspec.Struct, frozen=True, tag_field="type", tag="approval.asked"):
    """A call waits until a person approves it."""

    block: int


class ApprovalSettled(
    msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="approval.settled"
):
    """A person approved or denied a call; `by` is the person."""

    block: int
    granted: bool
    by: str = ""


class ReplyEnded(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="reply.ended"):
    """One reply ended in a turn of several replies.

    It holds the data that a single-reply turn holds itself: the dialect, model and provider, the hash of the
    request (`prefix`), and the usage. `said` is the provider's own stop reason. `parent` is the call of the
    assistant that replied; None is the turn itself.
    """

    finish: Finish = Finish.UNKNOWN
    said: str = ""
    message: Seal | None = None
    usage: Usage = Usage()
    dialect: str = ""
    model: str = ""
    provider: str = ""
    prefix: str = ""
    parent: int | None = None


class TurnEnded(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="turn.ended"):
    """The turn ended: `said` is the provider's own stop reason, `message` its assistant message."""

    finish: Finish = Finish.UNKNOWN
    said: str = ""
    message: Seal | None = None


class TurnFailed(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="turn.failed"):
    """The turn failed; all earlier events remain valid. `status` is the HTTP status of a refusal, else 0."""

    code: str
    message: str = ""
    status: int = 0
    after_ms: int | None = None
    """How long the provider asks to wait before the next attempt."""
    wording: Wording | None = None
    """The message as a template with fields, for translation; None if the message has no fields."""

    @classmethod
    def of(cls, code: str, message: Wording, *, status: int = 0, after_ms: int | None = None) -> "TurnFailed":
        """Return a failure with a message of ours."""
        return cls(code, str(message), status, after_ms, message.needed)


Event = (
    TurnStarted
    | BlockStarted
    | BlockGrew
    | BlockSealed
    | BlockReclassified
    | ToolFinished
    | BlockEnded
    | SummaryWritten
    | UsageReported
    | NoticeGiven
    | ApprovalAsked
    | ApprovalSettled
    | ReplyEnded
    | TurnEnded
    | TurnFailed
)


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event with its sequence number and time. The caller stamps it; the core never reads a clock.

    `at_ms` counts milliseconds from any fixed moment; None is unknown.
    """

    seq: int
    event: Event
    at_ms: int | None = None


def build_types(*types: type) -> None:
    """Let msgspec look at types now. It would at their first use, and crash if two threads are first."""
    for decoded in types:
        msgspec.json.Decoder(decoded)
