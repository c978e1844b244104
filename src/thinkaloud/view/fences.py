"""Fences of backticks: text put into one that nothing in it can close, and found again; code told from prose.

One pass over the lines each time, whatever is in them.
"""

import re
from collections.abc import Iterator

SHORTEST = 3

_RUN = re.compile("`+")
_OPENING = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")


def fenced(text: str, language: str = "") -> str:
    """The text in a fence that is longer than any run of backticks in it."""
    fence = "`" * max(SHORTEST, 1 + max(map(len, _RUN.findall(text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def unfenced(part: str) -> str | None:
    """What stands between the first fence of a part and the last that can close it; None without either."""
    lines = part.split("\n")
    start = next((at for at, line in enumerate(lines) if line.startswith("`" * SHORTEST)), len(lines))
    fence = _RUN.match(lines[start]) if start < len(lines) else None
    for end in range(len(lines) - 1, start, -1):
        if fence and lines[end].startswith(fence[0]) and not lines[end].strip("` \t"):
            return "\n".join(lines[start + 1 : end])
    return None


def lines_of(text: str) -> Iterator[tuple[str, str, str]]:
    """Each line with the fence that is open before it and the one that is open after it; empty for none."""
    fence = ""
    for line in text.split("\n"):
        before = fence
        if not fence:
            opening = _OPENING.match(line)
            fence = opening[1] if opening else ""
        elif _closes(line, fence):
            fence = ""
        yield line, before, fence


def left_open(text: str) -> str:
    """The fence that a text opens and never closes."""
    *_, (_, _, fence) = lines_of(text)
    return fence


def _closes(line: str, fence: str) -> bool:
    mark = line.strip(" \t")
    return mark.startswith(fence) and not mark.strip(fence[0])
