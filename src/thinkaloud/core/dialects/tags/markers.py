"""Finds a set of markers in text that arrives in chunks, in one pass; and the pieces that a splitter returns.

A `*` in a marker matches 1 to 24 characters (`<think:*>` is any `<think:SUFFIX>`). The searches find the next
complete marker, and the start of a marker that the text does not finish.
"""

import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from thinkaloud.core.canon import Kind

_WILDCARD = r"[^<>\s]{1,24}"
_WILDCARD_MAX_LENGTH = 24
_MATCHES_NOTHING = "(?!)"


class Markers:
    """Markers by role; where one marker is a prefix of another, the longer one wins."""

    def __init__(self, roles: Mapping[str, tuple[str, ...]]) -> None:
        all_markers = [marker for group in roles.values() for marker in group]
        self.max_length = max((_max_length(marker) for marker in all_markers), default=0)
        self.first_characters = "".join(sorted({marker[0] for marker in all_markers}))
        self.last_characters = "".join(sorted({marker[-1] for marker in all_markers}))
        self._unfinished_tails = _unfinished_tails(all_markers)
        role_patterns = [f"(?P<{role}>{_any_of(group)})" for role, group in roles.items() if group]
        complete = "|".join(role_patterns) or _MATCHES_NOTHING
        unfinished = "|".join(map(_unfinished_pattern, all_markers)) or _MATCHES_NOTHING
        self._complete_pattern = re.compile(complete)
        self._unfinished_pattern = re.compile(rf"(?:{unfinished})\Z")

    def find(self, text: str, start: int, end: int = sys.maxsize) -> re.Match[str] | None:
        """Return the next marker between `start` and `end`; `lastgroup` of the match is its role."""
        return self._complete_pattern.search(text, start, end)

    def match(self, text: str, position: int) -> re.Match[str] | None:
        """Return the marker that starts exactly at `position`."""
        return self._complete_pattern.match(text, position)

    def unfinished_start(self, text: str, start: int) -> int:
        """Return where an unfinished marker at the end of the text starts, or the length of the text."""
        match = self._unfinished_pattern.search(text, max(start, len(text) - self.max_length + 1))
        return match.start() if match else len(text)

    def split_unfinished(self, text: str) -> tuple[str, str]:
        """Split a text without a complete marker into its complete part and an unfinished marker."""
        if self._unfinished_tails:
            complete, first_character, tail = text.rpartition(self.first_characters)
            if first_character and tail in self._unfinished_tails:
                return complete, first_character + tail
            return text, ""
        position = self.unfinished_start(text, 0)
        return text[:position], text[position:]

    def unfinished_at(self, text: str, position: int) -> bool:
        """Return whether the text from `position` on is the start of a longer marker."""
        return (
            len(text) - position < self.max_length
            and self._unfinished_pattern.match(text, position) is not None
        )


@lru_cache(maxsize=256)
def compile_markers(**roles: tuple[str, ...]) -> Markers:
    """Return the markers for these roles, compiled once."""
    return Markers(roles)


def _unfinished_tails(markers: list[str]) -> frozenset[str]:
    """Return what may follow the first character of an unfinished marker.

    Empty unless all markers share a first character that occurs nowhere else in them. If they do, only the
    last occurrence of that character can start an unfinished marker, and no regular expression is needed.
    """
    for marker in markers:
        first, rest = marker[0], marker[1:]
        if "*" in marker or first != markers[0][0] or first in rest:
            return frozenset()
    return frozenset(marker[1:end] for marker in markers for end in range(1, len(marker)))


def _max_length(marker: str) -> int:
    return len(marker) + (_WILDCARD_MAX_LENGTH - 1 if "*" in marker else 0)


def _complete_pattern(marker: str) -> str:
    return re.escape(marker).replace(r"\*", _WILDCARD)


def _any_of(markers: tuple[str, ...]) -> str:
    return "|".join(_complete_pattern(marker) for marker in sorted(markers, key=len, reverse=True))


def _unfinished_pattern(marker: str) -> str:
    """Return a pattern for every proper prefix of a marker: `<`, `<t`, `<th`, ..."""
    head, wildcard, tail = marker.partition("*")
    if not wildcard:
        return _prefix_pattern(marker[:-1])
    return f"{_prefix_pattern(head)}|{re.escape(head)}{_WILDCARD}(?:{_prefix_pattern(tail[:-1])})?"


def _prefix_pattern(text: str) -> str:
    pattern = ""
    for character in reversed(text):
        pattern = f"{re.escape(character)}(?:{pattern})?" if pattern else re.escape(character)
    return pattern


class CallStarted(NamedTuple):
    """A tool call starts; its arguments follow as pieces of that kind."""

    name: str


class Reclassified(NamedTuple):
    """The latest block, or its last `tail` characters, is of another kind."""

    kind: Kind
    tail: int | None = None


Piece = tuple[Kind, str] | CallStarted | Reclassified
