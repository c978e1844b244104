"""What every framing shares: the frame, the limits, and the fault that keeps what was read before it.

A decoder has two verbs: `feed(bytes)` for more and `close()` for no more, both giving frames. Limits
bound what a hostile or broken sender can make us hold; each is named in the error it causes.
"""

from collections.abc import Callable
from typing import Protocol

import msgspec

from thinkaloud.canon import BadFrame, LimitExceeded

KIB = 1024
MIB = 1024 * KIB


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One unit of a wire format: an SSE event, a JSON value, an AWS message, a run of text."""

    data: bytes
    event: str = ""


class Limits(msgspec.Struct, frozen=True):
    """The most we hold or read. The defaults are far above what any provider sends."""

    line: int = 16 * MIB
    """Longest SSE line or JSON line, in bytes."""
    event: int = 32 * MIB
    """Largest SSE event, JSON body, array element or AWS message, in bytes."""
    lines: int = 10_000
    """Most `data:` lines in one SSE event: empty ones cost no bytes but do cost time."""
    total: int = 512 * MIB
    """Most bytes of one response."""


LIMITS = Limits()


class Decoder(Protocol):
    """Bytes in, frames out. A fault is raised once, with `frames` that came before it."""

    def feed(self, data: bytes) -> list[Frame]:
        """More bytes."""

    def close(self) -> list[Frame]:
        """No more bytes."""


Framing = Callable[[Limits], Decoder]
"""What makes a decoder for one framing."""


class BrokenFrame(BadFrame):
    """A frame that does not keep to its format, after the frames that did."""

    def __init__(self, message: str, frames: list[Frame]) -> None:
        super().__init__(message)
        self.frames = frames


class TooLarge(LimitExceeded):
    """A limit was passed, after the frames that kept to it."""

    def __init__(self, what: str, most: int, frames: list[Frame]) -> None:
        super().__init__(f"{what} is over the limit of {most:,}; raise it in Limits if you trust the sender")
        self.frames = frames


class Metered:
    """A decoder that reads at most `limits.total` bytes; what fits is still decoded."""

    def __init__(self, decoder: Decoder, limits: Limits = LIMITS) -> None:
        self._decoder = decoder
        self._most = self._left = limits.total

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that these bytes complete, up to the limit."""
        if len(data) <= self._left:
            self._left -= len(data)
            return self._decoder.feed(data)
        raise TooLarge("the response in bytes", self._most, self._decoder.feed(data[: self._left]))

    def close(self) -> list[Frame]:
        """No more bytes."""
        return self._decoder.close()
