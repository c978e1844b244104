"""Turns into the next request: what goes back to whom, in what form, and a report of every block."""

from thinkaloud.context.building import Built, build
from thinkaloud.context.conversation import (
    Conversation,
    Said,
    Step,
    read_conversation,
    write_conversation,
)
from thinkaloud.context.fingerprints import fingerprint
from thinkaloud.context.replaying import supports_thinking_blocks
from thinkaloud.context.replies import replies_of, steps_of
from thinkaloud.context.report import WHY, Fate, Line, Report, Total
from thinkaloud.context.terms import ContextMode, Terms, Unsupported

__all__ = [
    "WHY",
    "Built",
    "ContextMode",
    "Conversation",
    "Fate",
    "Line",
    "Report",
    "Said",
    "Step",
    "Terms",
    "Total",
    "Unsupported",
    "build",
    "fingerprint",
    "read_conversation",
    "replies_of",
    "steps_of",
    "supports_thinking_blocks",
    "write_conversation",
]
