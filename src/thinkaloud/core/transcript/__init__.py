"""Folds entries into a turn, unfolds a turn into entries, and measures turns."""

from thinkaloud.core.transcript.callbacks import Callbacks as Callbacks
from thinkaloud.core.transcript.callbacks import Handler as Handler
from thinkaloud.core.transcript.reducer import apply as apply
from thinkaloud.core.transcript.reducer import events_to_end_blocks as events_to_end_blocks
from thinkaloud.core.transcript.reducer import events_to_end_turn as events_to_end_turn
from thinkaloud.core.transcript.reducer import fold as fold
from thinkaloud.core.transcript.reducer import fold_entries as fold_entries
from thinkaloud.core.transcript.timing import ReplayTimeline as ReplayTimeline
from thinkaloud.core.transcript.timing import ThinkingTime as ThinkingTime
from thinkaloud.core.transcript.timing import thinking_time as thinking_time
from thinkaloud.core.transcript.turn import CALL_KINDS as CALL_KINDS
from thinkaloud.core.transcript.turn import PAUSE_TURN as PAUSE_TURN
from thinkaloud.core.transcript.turn import Approval as Approval
from thinkaloud.core.transcript.turn import Block as Block
from thinkaloud.core.transcript.turn import BlockStatus as BlockStatus
from thinkaloud.core.transcript.turn import Delta as Delta
from thinkaloud.core.transcript.turn import Ending as Ending
from thinkaloud.core.transcript.turn import Outcome as Outcome
from thinkaloud.core.transcript.turn import Reply as Reply
from thinkaloud.core.transcript.turn import Turn as Turn
from thinkaloud.core.transcript.turn import delta_of as delta_of
from thinkaloud.core.transcript.unfold import has_timestamps as has_timestamps
from thinkaloud.core.transcript.unfold import unfold as unfold
