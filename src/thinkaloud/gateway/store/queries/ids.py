"""Public ids: a prefix for the kind, then 128 random bits, so they cannot be guessed.

A text that is not a well-formed id is never sent to the database.
"""

import re
import secrets

_RANDOM_BYTES = 16
_RANDOM = re.compile(r"[A-Za-z0-9_-]{22}")


def new(prefix: str) -> str:
    """Return a new id of this kind."""
    return f"{prefix}_{secrets.token_urlsafe(_RANDOM_BYTES)}"


def matches(prefix: str, text: str) -> bool:
    """Whether a text is a well-formed id of this kind."""
    start, _, random = text.partition("_")
    return start == prefix and _RANDOM.fullmatch(random) is not None
