"""What can happen in a turn: a small closed set of frozen values, in the past tense.

Dialects tell them, the shell stamps them into entries, the transcript folds them. Every event
survives JSON and back unchanged; `type` names it on the wire.

Reports of counts: of one thing, where the newer stands, and of several things together.
"""

from enum import StrEnum
from typing import Literal, TypeVar

import msgspec


class Kind(StrEnum):
    """What a block holds."""

    REASONING = "reasoning"
    TEXT = "text"
    TOOL_CALL = "tool_call"
    ASSISTANT_CALL = "assistant_call"


class Provenance(StrEnum):
    """Whose words a thought is made of."""

    UNKNOWN = "unknown"
    RAW = "raw"
    SUMMARY = "summary"


class SealForm(StrEnum):
    """What a seal means to a person; what is in it is nobody's business."""

    SIGNATURE = "signature"
    REDACTED = "redacted"
    ENCRYPTED = "encrypted"
    ITEM = "item"
    MESSAGE = "message"


class Finish(StrEnum):
    """Why a provider stopped, in one vocabulary."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    REFUSAL = "refusal"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class Seal(msgspec.Struct, frozen=True, omit_defaults=True):
    """Opaque data that goes back unread, byte for byte, and only to the dialect and model that issued it."""

    dialect: str
    form: SealForm
    payload: str
    model: str = ""


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Token counts with one meaning for all providers; None is unknown, never zero.

    `input` includes what was read from and written to a cache; `output` includes `reasoning`.
    """

    input: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


class TurnStarted(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="turn.started"):
    """The provider (or the agent) began to answer."""

    dialect: str = ""
    model: str = ""


class BlockStarted(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="block.started"):
    """A thought, a text, a tool call or a call of an assistant began; `parent` is the call it belongs to."""

    block: int
    kind: Kind
    name: str = ""
    call_id: str = ""
    assistant_id: str = ""
    parent: int | None = None
    provenance: Provenance = Provenance.UNKNOWN


class BlockGrew(msgspec.Struct, frozen=True, tag_field="type", tag="block.grew", gc=False):
    """More text of a block: thought, answer, arguments of a tool, task of an assistant."""

    block: int
    text: str


class BlockSealed(msgspec.Struct, frozen=True, tag_field="type", tag="block.sealed"):
    """A block got opaque continuation data; this may come after the block ended."""

    block: int
    seal: Seal


class BlockReclassified(
    msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="block.reclassified"
):
    """Text told under one kind turned out to be another.

    Without `tail` the whole block changes its kind. With `tail`, its last `tail` characters (Unicode code
    points) leave it and become block `into`, which has not been seen before and has ended.
    """

    block: int
    kind: Kind
    tail: int | None = None
    into: int | None = None


class ToolFinished(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="tool.finished"):
    """A tool or an assistant came back, with a result or with an error."""

    block: int
    result: str = ""
    error: str = ""


class BlockEnded(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="block.ended"):
    """No more text will come; `interrupted` when the provider never said so itself."""

    block: int
    interrupted: bool = False


class SummaryWritten(
    msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="summary.written"
):
    """One line on what the thinking accomplished, and who wrote it."""

    text: str
    by: Literal["provider", "extract", "model"] = "model"


class UsageReported(msgspec.Struct, frozen=True, tag_field="type", tag="usage.reported"):
    """Counts so far; a later report replaces what it names and leaves the rest."""

    usage: Usage


class NoticeGiven(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="notice.given"):
    """Something a person should know that changes nothing in the turn; `block` is what it is about."""

    code: str
    text: str = ""
    block: int | None = None


class ApprovalAsked(msgspec.Struct, frozen=True, tag_field="type", tag="approval.asked"):
    """A call waits until a person lets it run."""

    block: int


class ApprovalSettled(
    msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="approval.settled"
):
    """A person let a call run, or not; `by` is who."""

    block: int
    granted: bool
    by: str = ""


class ReplyEnded(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="reply.ended"):
    """One of several replies that make up a turn came to its end.

    It holds what a turn of one reply keeps of itself: whose it was, to what request (`prefix`), and what it
    took. `parent` is the call of the assistant that replied; None is the turn itself.
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
    """The turn came to its end: `said` is the provider's word for it, `message` its assistant message."""

    finish: Finish = Finish.UNKNOWN
    said: str = ""
    message: Seal | None = None


class TurnFailed(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="turn.failed"):
    """The turn broke; everything told before stands."""

    code: str
    message: str = ""


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
    """An event with its place and time. The shell stamps it; the core never reads a clock.

    `at_ms` counts milliseconds from any fixed moment; None where nobody knows.
    """

    seq: int
    event: Event
    at_ms: int | None = None


CountsT = TypeVar("CountsT", bound=msgspec.Struct)


def merge_usage(older: CountsT, newer_usage: CountsT) -> CountsT:
    """The newer report, and the older one where the newer says nothing."""
    reported = {
        name: value
        for name in newer_usage.__struct_fields__
        if (value := getattr(newer_usage, name)) is not None
    }
    return msgspec.structs.replace(older, **reported)


def add_usage(first: CountsT, second: CountsT) -> CountsT:
    """Both counts in one; where either is unknown, so is their sum."""
    pairs = {name: (getattr(first, name), getattr(second, name)) for name in first.__struct_fields__}
    sums = {name: None if None in pair else sum(pair) for name, pair in pairs.items()}
    return msgspec.structs.replace(first, **sums)
