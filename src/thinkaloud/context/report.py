"""What became of every block when a request was built, and why: nothing is dropped without a line."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec


class SendStatus(StrEnum):
    """What became of a block."""

    SENT = "sent"
    WITHHELD = "withheld"
    TRANSFORMED = "transformed"


REASONS = {
    "verbatim": "It goes back byte for byte to the model that issued it.",
    "drop_block": "Something before it changed, but the open loop demands it: it goes back to be dropped.",
    "plain": "It is sent in plain form, which every model can read.",
    "field": "Its text goes back in the field that this provider takes thoughts in.",
    "note": "A short note beside the next user message tells what another model thought.",
    "renamed": "The call got another id, since its own was missing or taken.",
    "wrapped": "The arguments were no JSON object, so they were put into one.",
    "foreign": "Another model thought this; it is kept here and not sent.",
    "stripped": "Thoughts were to be left out, and nothing demands this one.",
    "not_due": "The provider does not need thoughts of this turn.",
    "forbidden": "The provider refuses thoughts of such a turn.",
    "no_form": "The provider takes no thoughts back.",
    "no_message": "The provider's own message was not kept, so it cannot go back as it was.",
    "no_payload": "It is only the name of something that the provider did not store.",
    "prefix": "Something before it changed, which voids it and all that was thought after it.",
    "interrupted": "The turn did not come to its end, and half a thought is not sent as a whole one.",
    "unanswered": "A call of this turn has no result, and calls go with their results or not at all.",
    "orphan": "No call before it asked for this result.",
    "server_tool": "The provider ran this tool itself, and only that provider can read it.",
    "nested": "It belongs to an assistant that was called; only the call and its result are sent.",
    "reasoning_only": "The turn thought and said nothing, so there is no message to send.",
    "empty": "There is nothing in it.",
    "retried": "The turn broke off and was asked for again.",
}
"""Every reason: one word to branch on, and a sentence for people."""


class ReportLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of one block (or of a tool's result, or of a turn without blocks: `block` is None)."""

    step: int
    block: int | None
    kind: str
    status: SendStatus
    code: str
    tokens: int | None = None

    @property
    def reason(self) -> str:
        """The reason, for people."""
        return REASONS[self.code]


class ReportTotal(msgspec.Struct, frozen=True):
    """How many blocks had a fate, and the tokens of their thoughts as far as they are known."""

    blocks: int = 0
    tokens: int | None = None


class Report(msgspec.Struct, frozen=True):
    """A line for every block of every turn, and what else changed."""

    lines: tuple[ReportLine, ...] = ()
    notes: tuple[str, ...] = ()

    def total(self, status: SendStatus) -> ReportTotal:
        """The sum over all lines of one fate."""
        lines = [line for line in self.lines if line.status is status and line.block is not None]
        return ReportTotal(len(lines), _sum_known(line.tokens for line in lines))


def _sum_known(counts: Iterable[int | None]) -> int | None:
    """The sum of what is known; None where nothing is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
