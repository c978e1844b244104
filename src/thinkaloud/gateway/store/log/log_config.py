"""The settings of the event log, and what it reports about its commits."""

import msgspec

from thinkaloud.core.wire.frames import KIB


class LogConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How often the log is committed, and how much is cached in memory."""

    commit_interval_s: float = 0.05
    """How long an ordinary delta waits. Twenty commits a second; the delay is not noticeable."""
    commit_spacing_s: float = 0.01
    """The time from one commit to the next. Under load, what is due at once shares commits too."""
    commit_bytes: int = 4 * KIB
    """More waiting bytes of one turn are committed immediately."""
    cached_bytes: int = 256 * KIB
    """Cached for the readers of each running turn. A reader that is further behind reads the database."""
    max_unsaved_bytes: int = 16 * KIB * KIB
    """Of all turns together while writes fail. Beyond it further text is refused.

    In memory it is about five times as much: a line, its copy in a batch, and the text of the turn.
    """
    slow_commit_s: float = 1.0
    """A commit that takes longer counts as failed: readers get the entries, marked as not saved."""
    retry_s: float = 1.0
    """The time between retries of failed writes."""
    poll_interval_s: float = 0.25
    """How often a turn without a writer here is polled, where no other process can write it."""
    follow_poll_s: float = 1.0
    """How often turns of other gateways are read even if no notification comes."""


DEFAULT_LOG_CONFIG = LogConfig()

SHORT_LOG_BYTES = 16 * KIB
"""A log up to this size is compressed by the thread that writes it: another thread would cost more."""


class CommitStats(msgspec.Struct, frozen=True):
    """The size and duration of one commit, for metrics."""

    entries: int
    size_bytes: int
    seconds: float
