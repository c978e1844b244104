"""The states of a turn's log at the gateway that writes it, and the events that move it: all of it is here.

What `MOVES` does not list cannot happen, and `next_state` raises `IllegalMove` for it. Readers of `/api` have
only what is on disk, except in the state `UNSAVED`, where they are told so. That the writer has appended the
last entry is no state: a turn can be over before it is stored. Its end is told in the state `ENDED`.
"""

from enum import StrEnum

from thinkaloud.core.canon import ThinkaloudError


class LogState(StrEnum):
    """How far the log of a turn is stored, beside the lines that wait for the next commit."""

    NEW = "new"
    """The turn itself is not stored. Its first commit stores it. SQLite only."""
    STARTING = "starting"
    """A commit has the turn itself. Nothing of it is on disk, and no reader has an entry."""
    OPEN = "open"
    """All is on disk, and readers have it."""
    IN_FLIGHT = "in flight"
    """A commit has entries, or has just stored them. Readers do not have them yet."""
    UNSAVED = "unsaved"
    """Readers have entries that are not on disk, because the database accepts nothing."""
    ENDED = "ended"
    """The turn is stored with its end, by its own writer."""
    TAKEN_OVER = "taken over"
    """Another writer has the turn, or it is deleted. Readers go on in the database."""
    DIVERGED = "diverged"
    """Another writer has the turn, and readers here have entries that are not stored. They start again."""


class LogEvent(StrEnum):
    """What moves a log, and who says so."""

    DRAINED = "drained"
    """The commit loop, or `close` for a short turn: a commit takes the lines that wait."""
    STARTED = "started"
    """The commit loop: the turn itself is stored."""
    PUBLISHED = "published"
    """The commit loop: readers get what was stored."""
    SHOWN = "shown unsaved"
    """The commit loop: readers get entries although their commit has failed or hangs."""
    CAUGHT_UP = "caught up"
    """The commit loop: what readers have is on disk now. A commit has more."""
    SAVED = "saved"
    """The commit loop: what readers have is on disk now, and it is all there is."""
    RETURNED = "returned"
    """`close`: the commit of a short turn has failed, so its lines wait again."""
    FINISHED = "finished"
    """`close`: the turn was saved with its end, under its own epoch."""
    TAKEN = "taken over"
    """Another gateway: told by a commit, by the check after a lease, or by a new writer of the turn."""
    REQUEUED = "queued again"
    """A failover: the database lacks entries that it had, and they are still in memory. PostgreSQL only."""
    LOST = "lost"
    """A failover: the database lacks entries that are not in memory any more. PostgreSQL only."""


MOVES: dict[LogState, dict[LogEvent, LogState]] = {
    LogState.NEW: {
        LogEvent.DRAINED: LogState.STARTING,
        LogEvent.TAKEN: LogState.TAKEN_OVER,
    },
    LogState.STARTING: {
        LogEvent.DRAINED: LogState.STARTING,
        LogEvent.STARTED: LogState.IN_FLIGHT,
        LogEvent.SHOWN: LogState.UNSAVED,
        LogEvent.RETURNED: LogState.NEW,
        LogEvent.FINISHED: LogState.ENDED,
        LogEvent.TAKEN: LogState.TAKEN_OVER,
    },
    LogState.OPEN: {
        LogEvent.DRAINED: LogState.IN_FLIGHT,
        LogEvent.FINISHED: LogState.ENDED,
        LogEvent.TAKEN: LogState.TAKEN_OVER,
        LogEvent.REQUEUED: LogState.UNSAVED,
        LogEvent.LOST: LogState.DIVERGED,
    },
    LogState.IN_FLIGHT: {
        LogEvent.DRAINED: LogState.IN_FLIGHT,
        LogEvent.PUBLISHED: LogState.OPEN,
        LogEvent.SHOWN: LogState.UNSAVED,
        LogEvent.RETURNED: LogState.OPEN,
        LogEvent.FINISHED: LogState.ENDED,
        LogEvent.TAKEN: LogState.TAKEN_OVER,
        LogEvent.REQUEUED: LogState.UNSAVED,
        LogEvent.LOST: LogState.DIVERGED,
    },
    LogState.UNSAVED: {
        LogEvent.DRAINED: LogState.UNSAVED,
        LogEvent.STARTED: LogState.UNSAVED,
        LogEvent.SHOWN: LogState.UNSAVED,
        LogEvent.CAUGHT_UP: LogState.IN_FLIGHT,
        LogEvent.SAVED: LogState.OPEN,
        LogEvent.FINISHED: LogState.ENDED,  # a failover between the save and its acknowledgement
        LogEvent.TAKEN: LogState.DIVERGED,
        LogEvent.REQUEUED: LogState.UNSAVED,
        LogEvent.LOST: LogState.DIVERGED,
    },
    LogState.ENDED: {
        LogEvent.TAKEN: LogState.ENDED,  # too late: the end is stored
        LogEvent.LOST: LogState.DIVERGED,
    },
    LogState.TAKEN_OVER: {
        LogEvent.TAKEN: LogState.TAKEN_OVER,  # a commit and the lease may both tell it
        LogEvent.FINISHED: LogState.ENDED,  # it was a false alarm: the database has accepted the end
    },
    LogState.DIVERGED: {
        LogEvent.TAKEN: LogState.DIVERGED,
        LogEvent.FINISHED: LogState.DIVERGED,  # by a database that was replaced since
    },
}
"""By the state and the event: the next state."""


class IllegalMove(ThinkaloudError):
    """An event that cannot happen in the state of a log. It is a fault of the gateway."""


def next_state(state: LogState, event: LogEvent) -> LogState:
    """Return the state after an event."""
    try:
        return MOVES[state][event]
    except KeyError:
        raise IllegalMove(
            "The log of a turn is {state}, so it cannot be {event}.", state=state, event=event
        ) from None
