"""The clock of a live turn: the time of its last entry, and what has passed since that entry arrived."""

import time


class TurnClock:
    """Runs between two entries. The times of entries may count from any moment."""

    def __init__(self) -> None:
        self._last_at_ms: int | None = None
        self._arrived_s = 0.0

    def set(self, at_ms: int | None) -> None:
        """Set the clock to the time of an entry that has arrived now."""
        self._last_at_ms, self._arrived_s = at_ms, time.monotonic()

    def now_ms(self) -> int | None:
        """Return the present time; None if the last entry had no time."""
        if self._last_at_ms is None:
            return None
        return self._last_at_ms + int((time.monotonic() - self._arrived_s) * 1000)
