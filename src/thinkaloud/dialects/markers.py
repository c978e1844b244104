"""Finding markers in text that comes in pieces: a set of them, looked for in one pass.

A `*` in a marker stands for up to 24 characters that vary (`<think:*>` is any `<think:SUFFIX>`).
Two questions are all there is: where is the next marker, and where may one have begun that the text
does not finish.
"""

import re
import sys
from collections.abc import Mapping
from functools import lru_cache

_WILD = r"[^<>\s]{1,24}"
_WILD_LONGEST = 24
_NEVER = "(?!)"


class Markers:
    """Markers by role; the longest wins where one begins like another."""

    def __init__(self, roles: Mapping[str, tuple[str, ...]]) -> None:
        marks = [mark for group in roles.values() for mark in group]
        self.longest = max((_length(mark) for mark in marks), default=0)
        self.first_letters = "".join(sorted({mark[0] for mark in marks}))
        self.last_letters = "".join(sorted({mark[-1] for mark in marks}))
        self._tails = _tails(marks)
        named = (f"(?P<{role}>{_either(group)})" for role, group in roles.items() if group)
        self._whole = re.compile("|".join(named) or _NEVER)
        self._begun = re.compile(rf"(?:{'|'.join(map(_beginning, marks)) or _NEVER})\Z")

    def find(self, text: str, at: int, end: int = sys.maxsize) -> re.Match[str] | None:
        """The next marker from `at` on and before `end`; its `lastgroup` is its role."""
        return self._whole.search(text, at, end)

    def match(self, text: str, at: int) -> re.Match[str] | None:
        """The marker that stands exactly at `at`."""
        return self._whole.match(text, at)

    def begun(self, text: str, at: int) -> int:
        """Where the text ends in the beginning of a marker; its length where it does not."""
        found = self._begun.search(text, max(at, len(text) - self.longest + 1))
        return found.start() if found else len(text)

    def part(self, text: str) -> tuple[str, str]:
        """A text without a whole marker, parted where one may have begun that it does not finish."""
        if self._tails:
            before, letter, tail = text.rpartition(self.first_letters)
            return (before, letter + tail) if letter and tail in self._tails else (text, "")
        at = self.begun(text, 0)
        return text[:at], text[at:]

    def unfinished(self, text: str, at: int) -> bool:
        """Whether everything from `at` on is the beginning of a longer marker."""
        return len(text) - at < self.longest and self._begun.match(text, at) is not None


@lru_cache(maxsize=256)
def markers(**roles: tuple[str, ...]) -> Markers:
    """The markers for these roles, compiled once."""
    return Markers(roles)


def _tails(marks: list[str]) -> frozenset[str]:
    """What can follow the first letter of an unfinished marker, if all share it and have it nowhere else.

    Then only its last place in a text can be the beginning of one. Empty where that does not hold.
    """
    if any("*" in mark or mark[0] != marks[0][0] or mark[0] in mark[1:] for mark in marks):
        return frozenset()
    return frozenset(mark[1:end] for mark in marks for end in range(1, len(mark)))


def _length(mark: str) -> int:
    return len(mark) + (_WILD_LONGEST - 1 if "*" in mark else 0)


def _whole(mark: str) -> str:
    return re.escape(mark).replace(r"\*", _WILD)


def _either(group: tuple[str, ...]) -> str:
    return "|".join(_whole(mark) for mark in sorted(group, key=len, reverse=True))


def _beginning(mark: str) -> str:
    """A pattern for every proper beginning of a marker: `<`, `<t`, `<th`, ..."""
    head, wild, tail = mark.partition("*")
    if not wild:
        return _nested(mark[:-1])
    return f"{_nested(head)}|{re.escape(head)}{_WILD}(?:{_nested(tail[:-1])})?"


def _nested(letters: str) -> str:
    pattern = ""
    for letter in reversed(letters):
        pattern = f"{re.escape(letter)}(?:{pattern})?" if pattern else re.escape(letter)
    return pattern
