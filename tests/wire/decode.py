"""What a decoder makes of some bytes, in a form that can be compared with a written story."""

from collections.abc import Iterable
from typing import NamedTuple

from thinkaloud.wire import BrokenFrame, Decoder, Frame, WireLimitExceeded


class Decoded(NamedTuple):
    """All frames, those that came with a fault as well, and what the fault said."""

    frames: list[Frame]
    fault: str = ""


def decode_all(decoder: Decoder, reads: Iterable[bytes]) -> Decoded:
    """Feed these reads and close, up to the first fault."""
    frames: list[Frame] = []
    try:
        for read in reads:
            frames += decoder.feed(read)
        frames += decoder.close()
    except (BrokenFrame, WireLimitExceeded) as fault:
        return Decoded(frames + fault.frames, str(fault))
    return Decoded(frames)


def expected_frames(*data: bytes) -> Decoded:
    """A story of frames without a name and without a fault."""
    return Decoded([Frame(payload) for payload in data])
