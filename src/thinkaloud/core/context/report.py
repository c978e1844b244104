"""The report on a built request: one line for every block, with the reason. Nothing is dropped silently."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from thinkaloud.core.canon import Wording


class SendStatus(StrEnum):
    """What happened to a block."""

    SENT = "sent"
    WITHHELD = "withheld"
    TRANSFORMED = "transformed"


REASONS = {
    "verbatim": Wording("Sent back byte for byte to the model that issued it."),
    "drop_block": (
        Wording(
            "Something before it changed, but the open tool loop requires it, so it is sent with the "
            "request to drop it."
        )
    ),
    "plain": Wording("Sent in plain form, which every model can read."),
    "field": Wording("Its text is sent back in the field that this provider uses for thoughts."),
    "note": Wording("A short note in the next user message summarizes this thought of another model."),
    "renamed": Wording("The call got a new id, because its own was missing or already used."),
    "wrapped": Wording("The arguments were not a JSON object, so they were wrapped in one."),
    "foreign": Wording("This thought of another model is kept here and not sent."),
    "stripped": Wording("Thoughts are stripped, and the provider does not require this one."),
    "not_due": Wording("The provider does not need thoughts of this turn."),
    "forbidden": Wording("The provider refuses thoughts of such a turn."),
    "no_form": Wording("The provider does not accept thoughts back."),
    "no_message": Wording("The provider's own message was not stored, so it cannot be sent back unchanged."),
    "no_payload": Wording("It is only a reference to an item that the provider did not store."),
    "prefix": Wording("Something before it changed, which invalidates it and all later thoughts."),
    "interrupted": Wording("The turn was cut off, and an incomplete thought is never sent."),
    "unanswered": Wording(
        "A call of this turn has no result, and calls are sent only together with their results."
    ),
    "orphan": Wording("No earlier call matches this result."),
    "server_tool": Wording("The provider ran this tool itself, and only that provider can read it."),
    "nested": Wording("It belongs to a called assistant; only the call and its result are sent."),
    "reasoning_only": Wording("The turn has thoughts but no answer, so there is no message to send."),
    "empty": Wording("It is empty."),
    "blank": Wording("It is blank, and the provider refuses blank text."),
    "no_images": Wording("This model takes no images, so a note in the text says that there was one."),
    "no_result_images": Wording(
        "This provider takes no images in a tool result, so a note says that there was one."
    ),
    "no_files": Wording("This model takes no PDF files, so a note in the text says that there was one."),
    "no_audio": Wording("This model takes no recordings, so a note in the text says that there was one."),
    "retried": Wording("The turn was cut off and the model was asked again."),
}
"""Every reason code with a sentence for people."""


class ReportLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """What happened to one block.

    `block` is None for a tool result, an image, a file or a turn without blocks.
    """

    step: int
    block: int | None
    kind: str
    status: SendStatus
    code: str
    tokens: int | None = None

    @property
    def reason(self) -> Wording:
        """The reason, as a sentence."""
        return REASONS[self.code]


class ReportTotal(msgspec.Struct, frozen=True):
    """The number of blocks with one status, and their reasoning tokens as far as known."""

    blocks: int = 0
    tokens: int | None = None


class Report(msgspec.Struct, frozen=True):
    """One line for every block of every turn, and notes about other changes."""

    lines: tuple[ReportLine, ...] = ()
    notes: tuple[Wording, ...] = ()

    def total(self, status: SendStatus) -> ReportTotal:
        """Return the total over all lines with this status."""
        lines = [line for line in self.lines if line.status is status and line.block is not None]
        return ReportTotal(len(lines), _sum_known(line.tokens for line in lines))


def _sum_known(counts: Iterable[int | None]) -> int | None:
    """Return the sum of the known counts; None if none is known."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
