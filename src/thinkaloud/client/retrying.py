"""When to ask again, and after how long: only before anything was visible, a bounded number of times.

The wait grows with each attempt and is spread by chance, so that many clients do not come back together.
A provider that says when to come back is taken at its word, within what one is willing to wait.
"""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import msgspec


class Retries(msgspec.Struct, frozen=True):
    """How patient to be. Numbers are seconds but for `most`, which counts attempts after the first."""

    most: int = 2
    first_s: float = 0.5
    longest_s: float = 8.0
    patience_s: float = 60.0
    """A provider that wants more than this is not waited for: the error says how long it asked for."""

    def wait_s(self, attempt: int, after_ms: int | None, chance: float) -> float | None:
        """How long to wait after this attempt (0 is the first); None when there is to be no other."""
        if attempt >= self.most:
            return None
        spread = min(self.longest_s, self.first_s * 2.0**attempt)
        if after_ms is None:
            return spread * (0.5 + chance / 2)
        asked = after_ms / 1000
        return None if asked > self.patience_s else asked + min(1.0, spread) * chance


RETRIES = Retries()


def retry_after_ms(headers: Mapping[str, str], now_s: float) -> int | None:
    """How long a provider asks to wait, by a number or by a date; None when it does not say."""
    exact = _number(headers.get("retry-after-ms", ""))
    if exact is not None:
        return round(exact)
    said = headers.get("retry-after", "")
    seconds = _number(said)
    if seconds is not None:
        return round(seconds * 1000)
    try:
        return max(0, round((parsedate_to_datetime(said).timestamp() - now_s) * 1000))
    except (ValueError, OverflowError):
        return None


def should_retry(headers: Mapping[str, str]) -> bool | None:
    """What the provider itself says about another attempt."""
    return {"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower())


def _number(said: str) -> float | None:
    try:
        value = float(said)
    except ValueError:
        return None
    return value if 0 <= value < 1e9 else None
