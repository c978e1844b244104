"""A turn that is being written, as the log keeps it in memory: what waits, and the newest of what is seen."""

import asyncio
from collections import deque

import msgspec

from thinkaloud.canon import OutOfOrder


class LogSpan(msgspec.Struct, frozen=True, weakref=True):
    """Entries that follow each other, as lines of JSON: `lines[i]` is entry `first + i`."""

    first: int
    lines: tuple[bytes, ...] = ()
    ended: bool = False
    """Whether nothing will follow."""
    saved: bool = True
    """Whether all of it is on disk."""
    truncated: bool = False
    """Whether more was there, and it is only as long as a span may be."""

    @property
    def last(self) -> int:
        """The place to go on from."""
        return self.first + len(self.lines) - 1


class LiveLog:
    """One live turn. `published` is the last entry that readers see, `saved` the last that is on disk."""

    def __init__(self, turn: int, epoch: int, after: int = -1) -> None:
        self.turn = turn
        self.epoch = epoch
        self.taken_over = False
        self.last = self.published = self.saved = after
        self.change_event = asyncio.Event()
        self.first_cached = after + 1
        self.ended = False
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._cached: deque[tuple[int, list[bytes], int]] = deque()
        self._cached_bytes = 0
        self._started_blocks: set[int] = set()

    def add(self, line: bytes, *, ended: bool) -> int:
        """Take a line that waits for its commit; how many bytes wait with it."""
        if self.ended:
            raise OutOfOrder(f"turn {self.turn} is over, and its writer goes on")
        self.ended = ended
        self.last += 1
        self._pending.append(line)
        self._pending_bytes += len(line)
        return self._pending_bytes

    def first_delta(self, block: int) -> bool:
        """Whether a block says something for the first time."""
        if block in self._started_blocks:
            return False
        self._started_blocks.add(block)
        return True

    def drain(self) -> tuple[int, list[bytes]]:
        """What waits, and the number of its first entry."""
        lines, self._pending, self._pending_bytes = self._pending, [], 0
        return self.last - len(lines) + 1, lines

    def publish(self, first: int, lines: list[bytes], cached_bytes: int) -> None:
        """Show lines to readers; of older ones keep so much, and all that the disk has not got."""
        size = sum(map(len, lines))
        self._cached.append((first, lines, size))
        self._cached_bytes += size
        self.published = first + len(lines) - 1
        while self._cached_bytes > cached_bytes and len(self._cached) > 1:
            oldest, old_lines, size = self._cached[0]
            if oldest + len(old_lines) - 1 > self.saved:
                break
            self._cached.popleft()
            self._cached_bytes -= size
            self.first_cached = oldest + len(old_lines)
        self.notify()

    def span(self, after: int, *, saved: bool) -> LogSpan:
        """What is kept after this place."""
        chunks: list[list[bytes]] = []
        for first, lines, _ in reversed(self._cached):
            if first <= after + 1:
                if after + 1 - first < len(lines):
                    chunks.append(lines[after + 1 - first :])
                break
            chunks.append(lines)
        lines_after = tuple(line for lines in reversed(chunks) for line in lines)
        ended = self.taken_over or (self.ended and self.published == self.last)
        return LogSpan(after + 1, lines_after, ended and after + len(lines_after) >= self.published, saved)

    def mark_taken_over(self) -> None:
        """Another writer has the turn: what waits is not ours to say."""
        self.taken_over = True
        self.notify()

    def notify(self) -> None:
        """Wake whoever waits."""
        previous, self.change_event = self.change_event, asyncio.Event()
        previous.set()
