"""A turn that is being written, as the log keeps it in memory: what waits, and the newest of what is seen."""

import asyncio
from collections import deque

import msgspec

from thinkaloud.canon import OutOfOrder


class Span(msgspec.Struct, frozen=True, weakref=True):
    """Entries that follow each other, as lines of JSON: `lines[i]` is entry `first + i`."""

    first: int
    lines: tuple[bytes, ...] = ()
    over: bool = False
    """Whether nothing will follow."""
    saved: bool = True
    """Whether all of it is on disk."""
    more: bool = False
    """Whether more was there, and it is only as long as a span may be."""

    @property
    def last(self) -> int:
        """The place to go on from."""
        return self.first + len(self.lines) - 1


class Live:
    """One live turn. `published` is the last entry that readers see, `saved` the last that is on disk."""

    def __init__(self, turn: int, epoch: int, after: int = -1) -> None:
        self.turn = turn
        self.epoch = epoch
        self.lost = False
        self.last = self.published = self.saved = after
        self.change = asyncio.Event()
        self.first_kept = after + 1
        self.over = False
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._kept: deque[tuple[int, list[bytes], int]] = deque()
        self._kept_bytes = 0
        self._spoken: set[int] = set()

    def add(self, line: bytes, *, over: bool) -> int:
        """Take a line that waits for its commit; how many bytes wait with it."""
        if self.over:
            raise OutOfOrder(f"turn {self.turn} is over, and its writer goes on")
        self.over = over
        self.last += 1
        self._waiting.append(line)
        self._waiting_bytes += len(line)
        return self._waiting_bytes

    def first_words(self, block: int) -> bool:
        """Whether a block says something for the first time."""
        if block in self._spoken:
            return False
        self._spoken.add(block)
        return True

    def take(self) -> tuple[int, list[bytes]]:
        """What waits, and the number of its first entry."""
        lines, self._waiting, self._waiting_bytes = self._waiting, [], 0
        return self.last - len(lines) + 1, lines

    def publish(self, first: int, lines: list[bytes], kept_bytes: int) -> None:
        """Show lines to readers; of older ones keep so much, and all that the disk has not got."""
        size = sum(map(len, lines))
        self._kept.append((first, lines, size))
        self._kept_bytes += size
        self.published = first + len(lines) - 1
        while self._kept_bytes > kept_bytes and len(self._kept) > 1:
            oldest, gone, size = self._kept[0]
            if oldest + len(gone) - 1 > self.saved:
                break
            self._kept.popleft()
            self._kept_bytes -= size
            self.first_kept = oldest + len(gone)
        self.changed()

    def span(self, after: int, *, saved: bool) -> Span:
        """What is kept after this place."""
        chunks: list[list[bytes]] = []
        for first, lines, _ in reversed(self._kept):
            if first <= after + 1:
                if after + 1 - first < len(lines):
                    chunks.append(lines[after + 1 - first :])
                break
            chunks.append(lines)
        told = tuple(line for lines in reversed(chunks) for line in lines)
        over = self.lost or (self.over and self.published == self.last)
        return Span(after + 1, told, over and after + len(told) >= self.published, saved)

    def lose(self) -> None:
        """Another writer has the turn: what waits is not ours to say."""
        self.lost = True
        self.changed()

    def changed(self) -> None:
        """Wake whoever waits."""
        woken, self.change = self.change, asyncio.Event()
        woken.set()
