"""Names that go out to the world: 128 random bits behind a prefix that says what they name.

Nobody can guess one, and what does not look like one is never asked of the database.
"""

import re
import secrets

_RANDOM_BYTES = 16
_RANDOM = re.compile(r"[A-Za-z0-9_-]{22}")


def new(prefix: str) -> str:
    """An id that nobody has seen before."""
    return f"{prefix}_{secrets.token_urlsafe(_RANDOM_BYTES)}"


def matches(prefix: str, text: str) -> bool:
    """Whether a text from outside can be an id of this kind."""
    start, _, random = text.partition("_")
    return start == prefix and _RANDOM.fullmatch(random) is not None
