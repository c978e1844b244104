"""Fences of backticks: text put into one that nothing in it can close, and found again; code told from prose.

One pass over the lines each time, whatever is in them.
"""

import re
from collections.abc import Iterator

SHORTEST_FENCE = 3

_BACKTICKS = re.compile("`+")
_FENCE_START = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")


def fence_text(text: str, language: str = "") -> str:
    """The text in a fence that is longer than any run of backticks in it."""
    fence = "`" * max(SHORTEST_FENCE, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def text_in_fence(section: str) -> str | None:
    """What stands between the first fence of a part and the last that can close it; None without either."""
    lines = section.split("\n")
    start = next(
        (index for index, line in enumerate(lines) if line.startswith("`" * SHORTEST_FENCE)), len(lines)
    )
    fence = _BACKTICKS.match(lines[start]) if start < len(lines) else None
    for end in range(len(lines) - 1, start, -1):
        if fence and lines[end].startswith(fence[0]) and not lines[end].strip("` \t"):
            return "\n".join(lines[start + 1 : end])
    return None


def lines_with_fences(text: str) -> Iterator[tuple[str, str, str]]:
    """Each line with the fence that is open before it and the one that is open after it; empty for none."""
    fence = ""
    for line in text.split("\n"):
        fence_before = fence
        if not fence:
            start = _FENCE_START.match(line)
            fence = start[1] if start else ""
        elif _closes_fence(line, fence):
            fence = ""
        yield line, fence_before, fence


def unclosed_fence(text: str) -> str:
    """The fence that a text opens and never closes."""
    *_, (_, _, fence) = lines_with_fences(text)
    return fence


def _closes_fence(line: str, fence: str) -> bool:
    stripped = line.strip(" \t")
    return stripped.startswith(fence) and not stripped.strip(fence[0])
