"""Folds entries into a turn, unfolds a turn into entries, and measures turns."""

from thinkaloud.core.transcript.callbacks import Callbacks, Handler
from thinkaloud.core.transcript.reducer import (
    apply,
    events_to_end_blocks,
    events_to_end_turn,
    fold,
    fold_entries,
)
from thinkaloud.core.transcript.timing import ReplayTimeline, ThinkingTime, thinking_time
from thinkaloud.core.transcript.turn import (
    CALL_KINDS,
    PAUSE_TURN,
    Approval,
    Block,
    BlockStatus,
    Delta,
    Ending,
    Outcome,
    Reply,
    Turn,
)
from thinkaloud.core.transcript.unfold import has_timestamps, unfold

__all__ = [
    "CALL_KINDS",
    "PAUSE_TURN",
    "Approval",
    "Block",
    "BlockStatus",
    "Callbacks",
    "Delta",
    "Ending",
    "Handler",
    "Outcome",
    "ReplayTimeline",
    "Reply",
    "ThinkingTime",
    "Turn",
    "apply",
    "events_to_end_blocks",
    "events_to_end_turn",
    "fold",
    "fold_entries",
    "has_timestamps",
    "thinking_time",
    "unfold",
]
