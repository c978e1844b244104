"""Timeouts and retries. A request is retried only before its response has started, a limited number of times.

The wait grows with each attempt and is randomized, so that many clients do not retry at the same moment.
A provider's `retry-after` is honoured up to `max_retry_after_s`.
"""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import msgspec


class Timeouts(msgspec.Struct, frozen=True):
    """Timeouts of a request, in seconds."""

    connect_s: float = 10.0
    """To connect, including name resolution and TLS."""
    first_byte_s: float = 600.0
    """From sending to the first byte of the body.

    Long, because some models think before they send anything.
    """
    idle_s: float = 120.0
    """Between two chunks of the body."""
    progress_s: float = 600.0
    """Between two events of the body. Comments that keep the connection open do not count."""


TIMEOUTS = Timeouts()


class RetryPolicy(msgspec.Struct, frozen=True):
    """When to retry. `max_retries` counts the attempts after the first."""

    max_retries: int = 2
    first_wait_s: float = 0.5
    max_wait_s: float = 8.0
    max_retry_after_s: float = 60.0
    """A longer `retry-after` is not waited for; the error reports it instead."""

    def wait_s(self, attempt: int, after_ms: int | None, jitter: float) -> float | None:
        """Return the wait after this attempt (0 is the first), or None if there is no further attempt."""
        if attempt >= self.max_retries:
            return None
        backoff_s = min(self.max_wait_s, self.first_wait_s * 2.0**attempt)
        if after_ms is None:
            return backoff_s * (0.5 + jitter / 2)
        requested_s = after_ms / 1000
        return None if requested_s > self.max_retry_after_s else requested_s + min(1.0, backoff_s) * jitter


RETRY_POLICY = RetryPolicy()


def retry_after_ms(headers: Mapping[str, str], now_s: float) -> int | None:
    """Return how long the provider asks to wait, given as a number or a date; None if it does not say."""
    exact_ms = _parse_number(headers.get("retry-after-ms", ""))
    if exact_ms is not None:
        return round(exact_ms)
    value = headers.get("retry-after", "")
    seconds = _parse_number(value)
    if seconds is not None:
        return round(seconds * 1000)
    try:
        return max(0, round((parsedate_to_datetime(value).timestamp() - now_s) * 1000))
    except (ValueError, OverflowError):
        return None


def should_retry(headers: Mapping[str, str]) -> bool | None:
    """Return the provider's own decision about a retry, if it sent one."""
    return {"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower())


def _parse_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e9 else None
