"""Log lines: one per record on stderr, as JSON or as text, written in a thread of its own.

Only the fields in `FIELDS` are written. Headers, bodies, queries, prompts and reasoning are never logged.
As a second defence, anything that looks like a secret in a message or a traceback is masked.
"""

import logging
import os
import queue
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TextIO

import msgspec

from thinkaloud.client.keys import MASK

FIELDS = ("method", "route", "status", "ms", "user", "error_id")
"""The extra fields of a log record that are written. All others are dropped."""

_SECRETS = re.compile(
    r"""
    (?P<before>
        (?:authorization|x-api-key|x-goog-api-key|api[-_]key) ['"]?
        \s* [:=,] \s* (?:b?['"])? (?:bearer\s+|basic\s+)?
    ) [^\s'",;}]+
    | (?P<scheme> \bbearer\s+ ) [^\s'",;}]{6,}
    | \btka_[A-Za-z0-9_-]{8,}
    | \bsk-[A-Za-z0-9_-]{8,}
    """,
    re.IGNORECASE | re.VERBOSE,
)
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), *range(127, 160))}
"""Escapes for control characters, which could rewrite a terminal. Tabs and line ends stay."""
_C1_CONTROLS = {code: f"\\u{code:04x}" for code in range(127, 160)}
"""Escapes for the control characters that JSON encoding leaves as they are."""


class LogFormat(StrEnum):
    """The format of log lines."""

    TEXT = "text"
    JSON = "json"


def set_up(log_format: LogFormat | None = None, stream: TextIO | None = None) -> None:
    """Send all logs and warnings to stderr. The default format is text on a terminal and JSON elsewhere."""
    output = stream or sys.stderr
    handler = QueuedHandler(output)
    chosen_format = log_format or (LogFormat.TEXT if output.isatty() else LogFormat.JSON)
    handler.setFormatter(_TextFormatter() if chosen_format is LogFormat.TEXT else _JsonFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("thinkaloud").setLevel(logging.INFO)
    # Client errors are in the request line already; uvicorn would log them a second time.
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    logging.captureWarnings(True)


class _FileHandler(logging.Handler):
    """Appends lines to a file that only its owner can read. The file is created with the first line."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        """Append the line of a record. A full disk loses it: a message would go to the user's terminal."""
        line = f"{self.format(record)}\n".encode(errors="replace")
        with suppress(OSError):
            file = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
            try:
                os.write(file, line)
            finally:
                os.close(file)


@contextmanager
def log_to_file(path: Path) -> Iterator[None]:
    """Write warnings to a file until the block ends, for a gateway in a process that uses the terminal."""
    handler = _FileHandler(path)
    handler.setFormatter(_JsonFormatter())
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()


def redact(text: str) -> str:
    """Return the text with gateway tokens, API keys and values of credential headers masked."""
    return _SECRETS.sub(_mask_match, text)


def _mask_match(match: re.Match[str]) -> str:
    return (match["before"] or match["scheme"] or "") + MASK


class _RedactingFormatter(logging.Formatter):
    def redacted_parts(self, record: logging.LogRecord) -> tuple[str, str]:
        """Return the message and the traceback, both masked. Without an exception the traceback is empty."""
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        return redact(record.getMessage()), redact(trace)


class _TextFormatter(_RedactingFormatter):
    """Formats a record as `12:00:01 info  GET /api/sessions 200 3.1 ms`, followed by the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        message, trace = self.redacted_parts(record)
        line = f"{self.formatTime(record, '%H:%M:%S')} {record.levelname.lower():<7} {message}"
        if (ms := getattr(record, "ms", None)) is not None:
            line += f" {ms:g} ms"
        line = line.replace("\n", "\\n")
        return (f"{line}\n{trace}" if trace else line).translate(_CONTROLS)


class _JsonFormatter(_RedactingFormatter):
    """Formats a record as one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        message, trace = self.redacted_parts(record)
        line = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message,
        }
        for name in FIELDS:
            if hasattr(record, name):
                line[name] = getattr(record, name)
        if trace:
            line["traceback"] = trace
        return msgspec.json.encode(line).decode().translate(_C1_CONTROLS)


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
