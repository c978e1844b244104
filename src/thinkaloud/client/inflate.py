"""Bodies that come compressed although we asked for plain ones: unpacked within bounds, or refused.

A kilobyte can unpack to a megabyte. What comes out is counted against what went in, before it is held.
"""

import zlib

import msgspec

from thinkaloud.canon import BadFrame, ProviderFault
from thinkaloud.client.faults import limit_exceeded

KIB = 1024
MIB = 1024 * KIB


class SizeLimits(msgspec.Struct, frozen=True):
    """The most we take from a provider, in bytes unless the name says otherwise."""

    body_bytes: int = 512 * MIB
    """Largest response, unpacked."""
    inflate_ratio: int = 50
    """How many bytes one byte may unpack to, once `ratio_from` bytes have come out."""
    ratio_from_bytes: int = MIB
    error_bytes: int = 64 * KIB
    """How much of an error's body is read."""
    header_bytes: int = 16 * KIB
    """Longest header field."""


SIZE_LIMITS = SizeLimits()
_WBITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_STEP_BYTES = 256 * KIB


def can_inflate(encoding: str) -> bool:
    """Whether bodies of this content encoding can be read at all."""
    return encoding in ("", "identity") or encoding in _WBITS


class Inflater:
    """Unpacks one body, piece by piece. What cannot be unpacked sets `fault`, after what could be."""

    def __init__(self, encoding: str, limits: SizeLimits = SIZE_LIMITS) -> None:
        self._limits = limits
        self._wbits = _WBITS[encoding]
        self._zlib = zlib.decompressobj(self._wbits)
        self._bytes_in = self._bytes_out = 0
        self.fault: ProviderFault | None = None

    def feed(self, data: bytes) -> bytes:
        """What these bytes unpack to."""
        self._bytes_in += len(data)
        limit = max(self._limits.ratio_from_bytes, self._bytes_in * self._limits.inflate_ratio)
        pieces = [b""]
        while data or len(pieces[-1]) == _STEP_BYTES:  # a full step may have left more inside
            if self._bytes_out >= limit:
                self.fault = limit_exceeded(
                    f"a body that unpacks to {self._limits.inflate_ratio} times its size, in bytes,", limit
                )
            else:
                pieces.append(self._inflate_step(data, min(limit - self._bytes_out, _STEP_BYTES)))
            if self.fault is not None:
                break
            data = self._zlib.unconsumed_tail
            if self._zlib.eof:
                data = self._zlib.unused_data
                self._zlib = zlib.decompressobj(self._wbits)
        return b"".join(pieces)

    def _inflate_step(self, data: bytes, limit: int) -> bytes:
        try:
            piece = self._zlib.decompress(data, limit)
        except zlib.error:
            if (
                self._wbits == _WBITS["deflate"] and not self._bytes_out
            ):  # some send deflate without its wrapping
                self._wbits = -15
                self._zlib = zlib.decompressobj(self._wbits)
                return self._inflate_step(data, limit)
            self.fault = BadFrame(
                "The body says it is compressed and cannot be unpacked. Ask again, or report it."
            )
            return b""
        self._bytes_out += len(piece)
        return piece
