"""Text that may not be valid: UTF-8 that may be split inside a character; invalid parts become U+FFFD."""

import codecs
import re

from thinkaloud.core.wire.frames import DEFAULT_LIMITS, Frame, WireLimits

PLAIN_TEXT = "plain"
"""`Frame.event` of a frame whose data is the text itself and not JSON."""

_JSON_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""An escape in a JSON string: a surrogate pair, half of one, or any other escape."""


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


def repaired_json(data: bytes) -> bytes:
    """Replace bytes that are not UTF-8, and halves of an escaped surrogate pair, by U+FFFD."""
    data = data.decode(errors="replace").encode()
    if b"\\ud" not in data and b"\\uD" not in data:  # most data: a text may have an escape for each letter
        return data
    return _JSON_ESCAPE.sub(lambda escape: b"\\ufffd" if escape["half"] else escape[0], data)
