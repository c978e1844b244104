"""The reducer: entries in, a turn out; and what can be measured on a turn."""

from thinkaloud.transcript.callbacks import Callbacks, Handler
from thinkaloud.transcript.clock import Thinking, thinking_time
from thinkaloud.transcript.reducer import apply, fold
from thinkaloud.transcript.turn import Block, Ending, Outcome, Status, Turn

__all__ = [
    "Block",
    "Callbacks",
    "Ending",
    "Handler",
    "Outcome",
    "Status",
    "Thinking",
    "Turn",
    "apply",
    "fold",
    "thinking_time",
]
