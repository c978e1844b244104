"""Makes markdown of a model harmless: HTML is shown as text, and images become links.

A page that renders an export must not run a script or load a picture that a model chose. Code stays as it is
where it certainly is code: in fences that begin at the start of a line, and in code spans of a line whose
backticks all match. Everything else is treated as text, because renderers may disagree about it.
"""

import re
from collections.abc import Iterator

_TAG_OR_IMAGE = re.compile(r"(?<!\\)(?:\\\\)*(?:<(?=[A-Za-z/!?])|!(?=\[))")
_FENCE_LINE = re.compile(r"[\s>*+\-\d.)(]*(`{3,}|~{3,})")
# A line with a pipe may be the head of a table instead of a fence.
_PLAIN_FENCE = re.compile(r"(`{3,})[^`|]*|(~{3,})[^|]*")
_BACKTICKS = re.compile(r"`+")


def without_html(text: str) -> str:
    """Return markdown in which no HTML tag and no image is left outside of code."""
    if not _TAG_OR_IMAGE.search(text):
        return text
    lines = text.split("\n")
    fenced = _fenced_lines(lines)
    outside = [line for line, in_fence in zip(lines, fenced, strict=True) if not in_fence]
    has_spans = all(_code_spans(line) is not None for line in outside)
    return "\n".join(
        line if in_fence else _harmless_line(line, has_spans=has_spans)
        for line, in_fence in zip(lines, fenced, strict=True)
    )


def _fenced_lines(lines: list[str]) -> list[bool]:
    """Return for each line whether it is in a fence. A text with indented or nested fences has none."""
    fenced: list[bool] = []
    fence = ""
    for line in lines:
        marker = _FENCE_LINE.match(line)
        fenced.append(bool(fence))
        if fence:
            if line.startswith(fence) and not line.strip(fence[0] + " \t"):
                fence = ""
            elif marker is not None and marker[1].startswith(fence):
                return [False] * len(lines)
        elif marker is not None:
            opening = _PLAIN_FENCE.fullmatch(line)
            if opening is None:
                return [False] * len(lines)
            fence, fenced[-1] = opening[1] or opening[2], True
    return fenced


def _code_spans(line: str) -> list[tuple[int, int]] | None:
    """Return the code spans of a line; None if a backtick has no partner in it, or may have another one."""
    runs = list(_BACKTICKS.finditer(line))
    if not runs:
        return []
    if "|" in line or "\\" in line:  # a cell of a table ends a span, and a backslash may hide a backtick
        return None
    partners: dict[int, int] = {}
    newest: dict[int, int] = {}
    for index in reversed(range(len(runs))):
        length = len(runs[index][0])
        partners[index] = newest.get(length, -1)
        newest[length] = index
    spans: list[tuple[int, int]] = []
    index = 0
    while index < len(runs):
        closing = partners[index]
        if closing < 0:
            return None
        spans.append((runs[index].start(), runs[closing].end()))
        index = closing + 1
    return spans


def _harmless_line(line: str, *, has_spans: bool) -> str:
    return "".join(
        piece if is_code else _TAG_OR_IMAGE.sub(_escape, piece)
        for piece, is_code in _pieces(line, (_code_spans(line) or []) if has_spans else [])
    )


def _pieces(line: str, spans: list[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    end = 0
    for start, span_end in spans:
        yield line[end:start], False
        yield line[start:span_end], True
        end = span_end
    yield line[end:], False


def _escape(match: re.Match[str]) -> str:
    return f"{match[0][:-1]}\\{match[0][-1]}"
