"""The types that all framings share: frame, decoder, limits and errors.

A decoder has two methods that return frames: `feed(bytes)`, and `close()` at the end of the bytes. Limits
bound the memory and time that a hostile or broken sender can cost; an error names the limit to raise. Both
errors carry the frames that were decoded before the fault.
"""

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from thinkaloud.core.canon import BadFrame, LimitExceeded, Wording

KIB = 1024
MIB = 1024 * KIB


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One unit of a wire format: an SSE event, a JSON value, an AWS message, a run of text."""

    data: bytes
    event: str = ""


class WireLimits(msgspec.Struct, frozen=True):
    """The largest input that is accepted. The defaults are far above what any provider sends."""

    line_bytes: int = 16 * MIB
    """Longest SSE line or JSON line, in bytes."""
    event_bytes: int = 32 * MIB
    """Largest SSE event, JSON body, array element or AWS message, in bytes."""
    event_lines: int = 10_000
    """Most `data:` lines in one SSE event. Empty lines add no bytes to the event but still cost time."""
    response_bytes: int = 512 * MIB
    """Most bytes of one response."""


DEFAULT_LIMITS = WireLimits()


class Decoder(Protocol):
    """Turns bytes into frames. An error is raised once and carries the `frames` decoded before it."""

    unfinished: bytes
    """The start of a frame that the end of the bytes cut off; known once the decoder is closed."""

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that these bytes complete."""

    def close(self) -> list[Frame]:
        """Return the frames that the end of the bytes completes."""


Framing = Callable[[WireLimits], Decoder]
"""A factory of decoders for one framing."""


class BrokenFrame(BadFrame):
    """A frame violates its format; `frames` are the valid frames before it."""

    def __init__(self, template: str, frames: list[Frame], **fields: Any) -> None:
        super().__init__(template, **fields)
        self.frames = frames


class WireLimitExceeded(LimitExceeded):
    """A limit was exceeded; `frames` are the frames within the limit before it.

    `subject` starts the message and `field` is the field of `WireLimits`, whose suffix is the unit.
    """

    def __init__(self, subject: Wording, field: str, limit: int, frames: list[Frame]) -> None:
        unit = field.rpartition("_")[2]
        super().__init__(
            "{subject} is larger than the limit of {limit} {unit}. Raise WireLimits.{field} if you trust the "
            "sender.",
            subject=subject,
            limit=f"{limit:,}",
            unit=unit,
            field=field,
        )
        self.frames = frames


class MeteredDecoder:
    """A decoder that reads at most `limits.response_bytes` bytes; those are decoded before the error.

    `read_bytes` is how many bytes of the response were read before it.
    """

    def __init__(self, decoder: Decoder, limits: WireLimits = DEFAULT_LIMITS, *, read_bytes: int = 0) -> None:
        self._decoder = decoder
        self._limit_bytes = limits.response_bytes
        self._remaining_bytes = limits.response_bytes - read_bytes
        self.unfinished = b""

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that these bytes complete, up to the limit."""
        if len(data) <= self._remaining_bytes:
            self._remaining_bytes -= len(data)
            return self._decoder.feed(data)
        frames = self._decoder.feed(data[: self._remaining_bytes])
        raise WireLimitExceeded(Wording("The response"), "response_bytes", self._limit_bytes, frames)

    def close(self) -> list[Frame]:
        """Return the frames that the end of the bytes completes."""
        frames = self._decoder.close()
        self.unfinished = self._decoder.unfinished
        return frames
