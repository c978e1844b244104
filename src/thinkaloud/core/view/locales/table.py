"""The types of a table of words: a text, or a pair of texts chosen by a count."""

from collections.abc import Mapping

import msgspec


class Plural(msgspec.Struct, frozen=True):
    """A text that depends on a count, `{n}`."""

    one: str
    other: str


class Locale(msgspec.Struct, frozen=True, kw_only=True):
    """One language: its texts by key, its number format, and the counts that use the singular."""

    name: str
    decimal: str
    thousands: str
    singular_counts: frozenset[int]
    words: Mapping[str, str | Plural]
