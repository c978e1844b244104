"""Bodies that come compressed although we asked for plain ones: unpacked within bounds, or refused.

A kilobyte can unpack to a megabyte. What comes out is counted against what went in, before it is held.
"""

import zlib

import msgspec

from thinkaloud.canon import BadFrame, ProviderFault
from thinkaloud.client.faults import too_large

KIB = 1024
MIB = 1024 * KIB


class Caps(msgspec.Struct, frozen=True):
    """The most we take from a provider, in bytes unless the name says otherwise."""

    body: int = 512 * MIB
    """Largest response, unpacked."""
    ratio: int = 50
    """How many bytes one byte may unpack to, once `ratio_from` bytes have come out."""
    ratio_from: int = MIB
    error: int = 64 * KIB
    """How much of an error's body is read."""
    header: int = 16 * KIB
    """Longest header field."""


CAPS = Caps()
_WBITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_STEP = 256 * KIB


def unpacks(encoding: str) -> bool:
    """Whether bodies of this content encoding can be read at all."""
    return encoding in ("", "identity") or encoding in _WBITS


class Inflater:
    """Unpacks one body, piece by piece. What cannot be unpacked sets `fault`, after what could be."""

    def __init__(self, encoding: str, caps: Caps = CAPS) -> None:
        self._caps = caps
        self._wbits = _WBITS[encoding]
        self._zlib = zlib.decompressobj(self._wbits)
        self._taken = self._given = 0
        self.fault: ProviderFault | None = None

    def feed(self, data: bytes) -> bytes:
        """What these bytes unpack to."""
        self._taken += len(data)
        most = max(self._caps.ratio_from, self._taken * self._caps.ratio)
        pieces = [b""]
        while data or len(pieces[-1]) == _STEP:  # a full step may have left more inside
            if self._given >= most:
                self.fault = too_large(
                    f"a body that unpacks to {self._caps.ratio} times its size, in bytes,", most
                )
            else:
                pieces.append(self._step(data, min(most - self._given, _STEP)))
            if self.fault is not None:
                break
            data = self._zlib.unconsumed_tail
            if self._zlib.eof:
                data = self._zlib.unused_data
                self._zlib = zlib.decompressobj(self._wbits)
        return b"".join(pieces)

    def _step(self, data: bytes, most: int) -> bytes:
        try:
            piece = self._zlib.decompress(data, most)
        except zlib.error:
            if self._wbits == _WBITS["deflate"] and not self._given:  # some send deflate without its wrapping
                self._wbits = -15
                self._zlib = zlib.decompressobj(self._wbits)
                return self._step(data, most)
            self.fault = BadFrame(
                "The body says it is compressed and cannot be unpacked. Ask again, or report it."
            )
            return b""
        self._given += len(piece)
        return piece
