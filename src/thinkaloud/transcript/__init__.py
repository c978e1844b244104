"""The reducer: entries in, a turn out; the way back; and what can be measured on a turn."""

from thinkaloud.transcript.callbacks import Callbacks, Handler
from thinkaloud.transcript.clock import Thinking, thinking_time
from thinkaloud.transcript.reducer import apply, fold
from thinkaloud.transcript.stopping import given_up, stopped
from thinkaloud.transcript.turn import CALLS, PAUSED, Approval, Block, Ending, Outcome, Reply, Status, Turn
from thinkaloud.transcript.unfolding import stamped, unfold

__all__ = [
    "CALLS",
    "PAUSED",
    "Approval",
    "Block",
    "Callbacks",
    "Ending",
    "Handler",
    "Outcome",
    "Reply",
    "Status",
    "Thinking",
    "Turn",
    "apply",
    "fold",
    "given_up",
    "stamped",
    "stopped",
    "thinking_time",
    "unfold",
]
