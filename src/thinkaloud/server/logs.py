"""What the gateway says of itself on stderr: one line each, as JSON for machines or as text for people.

Only named fields go out: method, route, status, time, user, id of an error. Headers, bodies, queries, prompts
and thoughts are never given to a log; should a secret get into a message or a traceback all the same, it is
blackened on its way out.
"""

import logging
import re
import sys
import time
from enum import StrEnum
from typing import TextIO

import msgspec

MASK = "***"
FIELDS = ("method", "route", "status", "ms", "user", "error_id")
"""What a record may carry beside its message; whatever else it carries stays inside."""

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
"""Everything that moves a cursor or rings a bell, but for tabs and line ends."""
_C1_CONTROLS = {code: f"\\u{code:04x}" for code in range(127, 160)}
"""Those that JSON would let through."""


class LogFormat(StrEnum):
    """How lines look."""

    TEXT = "text"
    JSON = "json"


def set_up(log_format: LogFormat | None = None, stream: TextIO | None = None) -> None:
    """Send all logs and warnings to stderr: as text on a terminal, else as JSON."""
    output = stream or sys.stderr
    handler = logging.StreamHandler(output)
    chosen_format = log_format or (LogFormat.TEXT if output.isatty() else LogFormat.JSON)
    handler.setFormatter(_TextFormatter() if chosen_format is LogFormat.TEXT else _JsonFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("thinkaloud").setLevel(logging.INFO)
    # What a client did wrong is in the line of its request; uvicorn would say it again.
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    logging.captureWarnings(True)


def redact(text: str) -> str:
    """The text without anything that looks like a token of ours, a key, or the value of such a header."""
    return _SECRETS.sub(_mask_match, text)


def _mask_match(match: re.Match[str]) -> str:
    return (match["before"] or match["scheme"] or "") + MASK


class _RedactingFormatter(logging.Formatter):
    def redacted_parts(self, record: logging.LogRecord) -> tuple[str, str]:
        """The message and the traceback, if there is one."""
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        return redact(record.getMessage()), redact(trace)


class _TextFormatter(_RedactingFormatter):
    """`12:00:01 info  GET /api/sessions 200 3.1 ms`; a traceback follows on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        message, trace = self.redacted_parts(record)
        line = f"{self.formatTime(record, '%H:%M:%S')} {record.levelname.lower():<7} {message}"
        if (ms := getattr(record, "ms", None)) is not None:
            line += f" {ms:g} ms"
        line = line.replace("\n", "\\n")
        return (f"{line}\n{trace}" if trace else line).translate(_CONTROLS)


class _JsonFormatter(_RedactingFormatter):
    """One object per line."""

    def format(self, record: logging.LogRecord) -> str:
        message, trace = self.redacted_parts(record)
        fields = {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        line = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message,
            **fields,
        }
        encoded = msgspec.json.encode({**line, "traceback": trace} if trace else line).decode()
        return encoded.translate(_C1_CONTROLS)
