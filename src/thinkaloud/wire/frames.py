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


class WireLimits(msgspec.Struct, frozen=True):
    """The most we hold or read. The defaults are far above what any provider sends."""

    line_bytes: int = 16 * MIB
    """Longest SSE line or JSON line, in bytes."""
    event_bytes: int = 32 * MIB
    """Largest SSE event, JSON body, array element or AWS message, in bytes."""
    event_lines: int = 10_000
    """Most `data:` lines in one SSE event: empty ones cost no bytes but do cost time."""
    response_bytes: int = 512 * MIB
    """Most bytes of one response."""


DEFAULT_LIMITS = WireLimits()


class Decoder(Protocol):
    """Bytes in, frames out. A fault is raised once, with `frames` that came before it."""

    def feed(self, data: bytes) -> list[Frame]:
        """More bytes."""

    def close(self) -> list[Frame]:
        """No more bytes."""


Framing = Callable[[WireLimits], Decoder]
"""What makes a decoder for one framing."""


class BrokenFrame(BadFrame):
    """A frame that does not keep to its format, after the frames that did."""

    def __init__(self, message: str, frames: list[Frame]) -> None:
        super().__init__(message)
        self.frames = frames


class WireLimitExceeded(LimitExceeded):
    """A limit was passed, after the frames that kept to it."""

    def __init__(self, quantity: str, limit: int, frames: list[Frame]) -> None:
        super().__init__(
            f"{quantity} is over the limit of {limit:,}; raise it in Limits if you trust the sender"
        )
        self.frames = frames


class MeteredDecoder:
    """A decoder that reads at most `limits.total` bytes; what fits is still decoded."""

    def __init__(self, decoder: Decoder, limits: WireLimits = DEFAULT_LIMITS) -> None:
        self._decoder = decoder
        self._limit_bytes = self._remaining_bytes = limits.response_bytes

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that these bytes complete, up to the limit."""
        if len(data) <= self._remaining_bytes:
            self._remaining_bytes -= len(data)
            return self._decoder.feed(data)
        raise WireLimitExceeded(
            "the response in bytes", self._limit_bytes, self._decoder.feed(data[: self._remaining_bytes])
        )

    def close(self) -> list[Frame]:
        """No more bytes."""
        return self._decoder.close()
