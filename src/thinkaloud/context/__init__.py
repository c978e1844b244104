"""Turns into the next request: what goes back to whom, in what form, and a report of every block."""

from thinkaloud.context.building import BuiltRequest, build
from thinkaloud.context.conversation import (
    AnsweredTurn,
    Conversation,
    Step,
    read_conversation,
    write_conversation,
)
from thinkaloud.context.fingerprints import fingerprint
from thinkaloud.context.replaying import supports_thinking_blocks
from thinkaloud.context.replies import replies_of, steps_of
from thinkaloud.context.report import REASONS, Report, ReportLine, ReportTotal, SendStatus
from thinkaloud.context.terms import BuildOptions, ContextMode, UnsupportedThoughts

__all__ = [
    "REASONS",
    "AnsweredTurn",
    "BuildOptions",
    "BuiltRequest",
    "ContextMode",
    "Conversation",
    "Report",
    "ReportLine",
    "ReportTotal",
    "SendStatus",
    "Step",
    "UnsupportedThoughts",
    "build",
    "fingerprint",
    "read_conversation",
    "replies_of",
    "steps_of",
    "supports_thinking_blocks",
    "write_conversation",
]
