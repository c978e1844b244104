"""What a table of words is made of: a sentence, or a pair of them to choose from by number."""

from collections.abc import Mapping

import msgspec


class Plural(msgspec.Struct, frozen=True):
    """A text that depends on a count, `{n}`."""

    one: str
    other: str


class Locale(msgspec.Struct, frozen=True, kw_only=True):
    """One language: its words by key, how it writes numbers, and which counts are "one"."""

    name: str
    decimal: str
    thousands: str
    singular_counts: frozenset[int]
    words: Mapping[str, str | Plural]
