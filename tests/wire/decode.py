"""Runs a decoder and returns its frames and fault, to compare with an expected result."""

from collections.abc import Iterable
from typing import NamedTuple

from thinkaloud.core.wire import BrokenFrame, Decoder, Frame, WireLimitExceeded


class Decoded(NamedTuple):
    """All frames, including those that the fault carried, and the fault's message."""

    frames: list[Frame]
    fault: str = ""


def decode_all(decoder: Decoder, reads: Iterable[bytes]) -> Decoded:
    """Feed the reads and close the decoder; stop at the first fault."""
    frames: list[Frame] = []
    try:
        for read in reads:
            frames += decoder.feed(read)
        frames += decoder.close()
    except (BrokenFrame, WireLimitExceeded) as fault:
        return Decoded(frames + fault.frames, str(fault))
    return Decoded(frames)


def expected_frames(*data: bytes) -> Decoded:
    """Return the result of frames without event names and without a fault."""
    return Decoded([Frame(payload) for payload in data])
