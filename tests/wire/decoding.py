"""What a decoder makes of some bytes, in a form that can be compared with a written story."""

from collections.abc import Iterable
from typing import NamedTuple

from thinkaloud.wire import BrokenFrame, Decoder, Frame, TooLarge


class Decoded(NamedTuple):
    """All frames, those that came with a fault as well, and what the fault said."""

    frames: list[Frame]
    fault: str = ""


def decoded(decoder: Decoder, reads: Iterable[bytes]) -> Decoded:
    """Feed these reads and close, up to the first fault."""
    frames: list[Frame] = []
    try:
        for read in reads:
            frames += decoder.feed(read)
        frames += decoder.close()
    except (BrokenFrame, TooLarge) as fault:
        return Decoded(frames + fault.frames, str(fault))
    return Decoded(frames)


def frames(*data: bytes) -> Decoded:
    """A story of frames without a name and without a fault."""
    return Decoded([Frame(piece) for piece in data])
