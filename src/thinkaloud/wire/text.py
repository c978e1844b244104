"""Plain text: UTF-8 whose characters may be cut anywhere; bytes that are not UTF-8 become U+FFFD."""

import codecs

from thinkaloud.wire.frames import LIMITS, Frame, Limits

PLAIN = "plain"
"""The event of a frame that is text itself, and not JSON that holds it."""


class Text:
    """Decodes raw model text; each frame holds whole characters."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        del limits  # characters are passed on at once, so there is nothing to bound
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")

    def feed(self, data: bytes) -> list[Frame]:
        """The characters that these bytes complete."""
        return self._frames(self._decoder.decode(data))

    def close(self) -> list[Frame]:
        """What is left of a character that was cut off, as U+FFFD."""
        return self._frames(self._decoder.decode(b"", final=True))

    @staticmethod
    def _frames(text: str) -> list[Frame]:
        return [Frame(text.encode(), PLAIN)] if text else []
