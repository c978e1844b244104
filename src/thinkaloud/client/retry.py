"""When to ask again, and after how long: only before anything was visible, a bounded number of times.

The wait grows with each attempt and is spread by chance, so that many clients do not come back together.
A provider that says when to come back is taken at its word, within what one is willing to wait.
"""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import msgspec


class RetryPolicy(msgspec.Struct, frozen=True):
    """How patient to be. Numbers are seconds but for `most`, which counts attempts after the first."""

    max_retries: int = 2
    first_wait_s: float = 0.5
    max_wait_s: float = 8.0
    max_retry_after_s: float = 60.0
    """A provider that wants more than this is not waited for: the error says how long it asked for."""

    def wait_s(self, attempt: int, after_ms: int | None, jitter: float) -> float | None:
        """How long to wait after this attempt (0 is the first); None when there is to be no other."""
        if attempt >= self.max_retries:
            return None
        backoff_s = min(self.max_wait_s, self.first_wait_s * 2.0**attempt)
        if after_ms is None:
            return backoff_s * (0.5 + jitter / 2)
        requested_s = after_ms / 1000
        return None if requested_s > self.max_retry_after_s else requested_s + min(1.0, backoff_s) * jitter


RETRY_POLICY = RetryPolicy()


def retry_after_ms(headers: Mapping[str, str], now_s: float) -> int | None:
    """How long a provider asks to wait, by a number or by a date; None when it does not say."""
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
    """What the provider itself says about another attempt."""
    return {"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower())


def _parse_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e9 else None
