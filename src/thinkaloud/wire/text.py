"""Plain text: UTF-8 whose characters may be cut anywhere; bytes that are not UTF-8 become U+FFFD."""

import codecs

from thinkaloud.wire.frames import DEFAULT_LIMITS, Frame, WireLimits

PLAIN_TEXT = "plain"
"""The event of a frame that is text itself, and not JSON that holds it."""


class TextDecoder:
    """Decodes raw model text; each frame holds whole characters."""

    def __init__(self, limits: WireLimits = DEFAULT_LIMITS) -> None:
        del limits  # characters are passed on at once, so there is nothing to bound
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._at_start = True

    def feed(self, data: bytes) -> list[Frame]:
        """The characters that these bytes complete."""
        return self._frames(self._decoder.decode(data))

    def close(self) -> list[Frame]:
        """What is left of a character that was cut off, as U+FFFD."""
        return self._frames(self._decoder.decode(b"", final=True))

    def _frames(self, text: str) -> list[Frame]:
        if self._at_start and text:
            self._at_start = False
            text = text.removeprefix("\ufeff")
        return [Frame(text.encode(), PLAIN_TEXT)] if text else []
