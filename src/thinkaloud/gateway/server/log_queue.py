"""Writes log lines in a thread of its own, so that output that nobody reads cannot stop the gateway.

A full pipe blocks the thread only. Lines wait in a bounded queue; what does not fit is dropped and counted,
and the count is logged as soon as somebody reads again.
"""

import logging
import queue
import threading
import time
from typing import TextIO

MAX_WAITING_LINES = 5_000
"""A few megabytes. At a hundred requests a second it fills in less than a minute."""
FLUSH_TIMEOUT_S = 2.0
"""How long a stop waits until the last lines are written."""
_POLL_S = 0.005
_GATHER_S = 0.01
"""How long the thread waits for further lines, to write them together. If it woke for every line, it would
take the interpreter from the event loop each time."""


class QueuedHandler(logging.Handler):
    """Formats records where they are logged, and writes the lines in a thread."""

    def __init__(self, stream: TextIO, max_lines: int = MAX_WAITING_LINES) -> None:
        super().__init__()
        self._stream = stream
        self._max_lines = max_lines
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._queued = self._written = 0
        self._dropped = 0
        threading.Thread(target=self._write_lines, name="thinkaloud-logs", daemon=True).start()

    @property
    def waiting_lines(self) -> int:
        """The number of lines that are not written yet."""
        return self._queued - self._written

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the line of a record, or count it as dropped. Called by one thread at a time."""
        if self.waiting_lines >= self._max_lines:
            self._dropped += 1
            return
        self._queued += 1
        self._lines.put(self.format(record))

    def flush(self) -> None:
        """Wait until all lines are written, but not forever: perhaps nobody reads them."""
        until_s = time.monotonic() + FLUSH_TIMEOUT_S
        while self.waiting_lines and time.monotonic() < until_s:
            time.sleep(_POLL_S)

    def _write_lines(self) -> None:
        while True:
            lines = [self._lines.get()]
            time.sleep(_GATHER_S)
            lines += (self._lines.get() for _ in range(self._lines.qsize()))
            try:
                for line in lines:
                    self._stream.write(f"{line}\n")
                self._stream.flush()
                if self._dropped and self._lines.empty():
                    self._stream.write(f"{self._dropped_line()}\n")
                    self._stream.flush()
            except (OSError, ValueError):
                # The output is closed. There is nowhere left to say so; the gateway goes on.
                self._dropped += len(lines)
            self._written += len(lines)

    def _dropped_line(self) -> str:
        dropped, self._dropped = self._dropped, 0
        message = "%d log lines were dropped because the output was not read"
        return self.format(
            logging.LogRecord("thinkaloud.logs", logging.WARNING, __file__, 0, message, (dropped,), None)
        )
