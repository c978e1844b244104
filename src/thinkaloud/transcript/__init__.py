"""The reducer: entries in, a turn out; the way back; and what can be measured on a turn."""

from thinkaloud.transcript.callbacks import Callbacks, Handler
from thinkaloud.transcript.clock import Thinking, thinking_time
from thinkaloud.transcript.reducer import apply, fold
from thinkaloud.transcript.stopping import stopped
from thinkaloud.transcript.turn import Block, Ending, Outcome, Status, Turn
from thinkaloud.transcript.unfolding import stamped, unfold

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
    "stamped",
    "stopped",
    "thinking_time",
    "unfold",
]
