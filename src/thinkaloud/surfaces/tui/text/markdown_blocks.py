"""Cuts a stream of Markdown into pieces: blocks, or the items of a list.

A piece is complete when another one follows it, because nothing that arrives later can change it. A fenced
code block is cut into lines while it grows.
"""

import re
from itertools import pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])

_FENCE_START = re.compile(r"( {0,3})(`{3,}(?=[^`]*\Z)|~{3,})(.*)")
_MAYBE_FENCE_END = re.compile(r" {0,3}(`+|~+)[ \t]*")


class MarkdownPiece(NamedTuple):
    """A block or a list item, as it was written."""

    source: str
    gap: bool
    """Whether an empty row separates it from the piece before it."""
    tokens: list[Token] | None = None
    """The source after parsing, if it was parsed alone."""


class FenceStarted(NamedTuple):
    """A fenced code block starts. `info` is what stands behind the fence: a language, and perhaps more."""

    info: str
    gap: bool

    @property
    def language(self) -> str:
        """The first word behind the fence."""
        return next(iter(self.info.split()), "")


class FenceLines(NamedTuple):
    """Complete lines of the code block that is open, and the start of the next."""

    lines: list[str]
    partial_line: str


class FenceEnded(NamedTuple):
    """The code block that is open has ended."""


Part = MarkdownPiece | FenceStarted | FenceLines | FenceEnded


class _Previous(NamedTuple):
    """The piece before the next one: is it an item of a list, and does it end with a blank line."""

    item: bool
    ends_blank: bool


class MarkdownBlocks:
    """Cuts one stream. `rest` is the last piece, which may still change."""

    def __init__(self) -> None:
        self.rest = ""
        self._rest_gap = False
        self._rest_tokens: list[Token] | None = None
        self._fence = ""
        self._fence_indent = 0
        self._previous: _Previous | None = None

    @property
    def last_piece(self) -> MarkdownPiece | None:
        """The last piece, which may still change; None in a code block and if there is none."""
        if self._fence or not self.rest.strip():
            return None
        return MarkdownPiece(self.rest, self._rest_gap, self._rest_tokens)

    def feed(self, text: str) -> list[Part]:
        """Return the parts that are complete; the rest is in `rest`."""
        self.rest += text
        parts: list[Part] = []
        while True:
            if self._fence:
                self._take_fence_lines(parts)
                if self._fence:
                    return parts
            if not self._take_pieces(parts):
                return parts

    def _take_pieces(self, parts: list[Part]) -> bool:
        """Take the pieces before the last one; return whether the last one is a fence that was opened."""
        lines = self.rest.split("\n")
        tokens = PARSER.parse(self.rest)
        starts = _piece_starts(tokens)
        self._rest_tokens = tokens if len(starts) == 1 else None
        if not starts:
            return False
        for (start, item), (end, _) in pairwise(starts):
            source = "\n".join(lines[start:end])
            gap = self._gap(item)
            parts += _whole_fence(source, gap) or [MarkdownPiece(source, gap)]
            self._previous = _Previous(item, ends_blank=not lines[end - 1].strip())
        start, item = starts[-1]
        self._rest_gap = self._gap(item)
        self.rest = "\n".join(lines[start:])
        fence = _FENCE_START.match(lines[start])
        if item or fence is None or start == len(lines) - 1:
            return False
        parts.append(FenceStarted(fence[3], self._rest_gap))
        self._fence, self._fence_indent = fence[2], len(fence[1])
        self._previous = _Previous(item=False, ends_blank=False)
        self.rest = "\n".join(lines[start + 1 :])
        return True

    def _gap(self, item: bool) -> bool:
        """Return whether a row is left empty before the next piece; in a list, if a line was left empty."""
        if self._previous is None:
            return False
        return self._previous.ends_blank or not (item and self._previous.item)

    def _take_fence_lines(self, parts: list[Part]) -> None:
        *lines, partial_line = self.rest.split("\n")
        for index, line in enumerate(lines):
            if _ends_fence(line, self._fence):
                parts += [FenceLines(self._code(lines[:index]), ""), FenceEnded()]
                self._fence = ""
                self.rest = "\n".join([*lines[index + 1 :], partial_line])
                return
        shown = "" if _MAYBE_FENCE_END.fullmatch(partial_line) else partial_line
        parts.append(FenceLines(self._code(lines), *self._code([shown])))
        self.rest = partial_line

    def _code(self, lines: list[str]) -> list[str]:
        """Return lines without the indentation of the fence."""
        return [line[min(self._fence_indent, len(line) - len(line.lstrip(" "))) :] for line in lines]

    def close(self) -> list[Part]:
        """Return the end of a code block that was not closed."""
        if not self._fence:
            return []
        closed = _ends_fence(self.rest, self._fence)
        parts: list[Part] = [] if closed or not self.rest else [FenceLines(self._code([self.rest]), "")]
        self._fence = self.rest = ""
        return [*parts, FenceEnded()]


def _piece_starts(tokens: list[Token]) -> list[tuple[int, bool]]:
    """Return the first line of each piece, and whether it is an item of a list."""
    starts: list[tuple[int, bool]] = []
    for token in tokens:
        if token.map is None or token.nesting < 0:
            continue
        if token.level == 0 and token.type not in ("bullet_list_open", "ordered_list_open"):
            starts.append((token.map[0], False))
        elif token.level == 1 and token.type == "list_item_open":
            starts.append((token.map[0], True))
    return starts


def _whole_fence(source: str, gap: bool) -> list[Part]:
    """Return the parts of a piece that is a complete code block; empty for another piece."""
    first_line, *lines = source.rstrip("\n").split("\n")
    fence = _FENCE_START.match(first_line)
    if fence is None or not lines:
        return []
    code = lines[:-1] if _ends_fence(lines[-1], fence[2]) else lines
    return [FenceStarted(fence[3], gap), FenceLines(code, ""), FenceEnded()]


def _ends_fence(line: str, fence: str) -> bool:
    end = _MAYBE_FENCE_END.fullmatch(line)
    return end is not None and end[1].startswith(fence)
