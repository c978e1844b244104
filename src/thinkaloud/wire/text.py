"""Plain text: UTF-8 that may be split inside a character; invalid bytes become U+FFFD."""

import codecs

from thinkaloud.wire.frames import DEFAULT_LIMITS, Frame, WireLimits

PLAIN_TEXT = "plain"
"""`Frame.event` of a frame whose data is the text itself and not JSON."""


class TextDecoder:
    """Decodes raw model text; each frame holds complete characters."""

    def __init__(self, limits: WireLimits = DEFAULT_LIMITS) -> None:
        del limits  # nothing is buffered beyond one character, so there is nothing to limit
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._at_start = True
        self.unfinished = b""

    def feed(self, data: bytes) -> list[Frame]:
        """Return the characters that these bytes complete."""
        return self._frames(self._decoder.decode(data))

    def close(self) -> list[Frame]:
        """Return U+FFFD for a character that was cut off."""
        return self._frames(self._decoder.decode(b"", final=True))

    def _frames(self, text: str) -> list[Frame]:
        if self._at_start and text:
            self._at_start = False
            text = text.removeprefix("\ufeff")
        return [Frame(text.encode(), PLAIN_TEXT)] if text else []
