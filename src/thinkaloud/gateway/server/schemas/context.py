"""The report on the context of a turn: what of the conversation was sent back to the model."""

import msgspec

from thinkaloud.core.context import SendStatus


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
