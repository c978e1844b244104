"""Builds the next request from a conversation, and reports what was sent, withheld or transformed."""

from thinkaloud.core.canon.requests import ContextMode
from thinkaloud.core.context.build import BuiltRequest, build, fingerprint
from thinkaloud.core.context.context import (
    AnsweredTurn,
    Context,
    Step,
    read_answer,
    read_conversation,
    replies_of,
    steps_of,
    write_answer,
    write_conversation,
)
from thinkaloud.core.context.replay_rules import BuildOptions, UnsupportedThoughts, supports_thinking_blocks
from thinkaloud.core.context.report import REASONS, Report, ReportLine, ReportTotal, SendStatus

__all__ = [
    "REASONS",
    "AnsweredTurn",
    "BuildOptions",
    "BuiltRequest",
    "Context",
    "ContextMode",
    "Report",
    "ReportLine",
    "ReportTotal",
    "SendStatus",
    "Step",
    "UnsupportedThoughts",
    "build",
    "fingerprint",
    "read_answer",
    "read_conversation",
    "replies_of",
    "steps_of",
    "supports_thinking_blocks",
    "write_answer",
    "write_conversation",
]
