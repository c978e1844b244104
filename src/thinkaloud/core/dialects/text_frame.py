"""Reads a frame that differs from an earlier one in one text only, without decoding all of it again.

Nearly every frame of a stream is such a frame: ids, names and braces are the same, and some words are new. If
all bytes around a JSON string are those of a frame that is known, and the string is valid, then the frame has
the same fields with the same values, except for this text. So it means the same, whatever its fields are.
"""

import re
from collections.abc import Callable

import msgspec

_STRING = re.compile(rb'\s*+("(?:[^"\\]++|\\.)*+")', re.DOTALL)
_MAX_UNUSED = 8
"""After so many shapes in a row that did not come again, no more are tried: some providers number frames."""
_decode_string = msgspec.json.Decoder(str).decode


class TextFrame:
    """The shape of the last frame that had one text and nothing else, to read the next of this shape.

    `read_texts` takes the texts of consecutive frames of this shape, with the field that has them.
    """

    def __init__(self, read_texts: Callable[[str, list[str]], None]) -> None:
        self._read_texts = read_texts
        self._field = ""
        self._texts: list[str] = []
        """What `take` has taken and `flush` passes on."""
        self._start = self._end = b""
        self._unused = 0

    def learn(self, data: bytes, field: str, text: str) -> None:
        """Take the shape of a frame that says nothing but this text in this field."""
        if self._unused == _MAX_UNUSED:
            return
        key = b'"%b":' % field.encode()
        place = data.find(key)
        string = _STRING.match(data, place + len(key)) if place >= 0 else None
        if string is None or data.find(key, place + 1) >= 0:
            return
        start, end = data[: string.start(1)], data[string.end(1) :]
        # A name that is written with escapes could be the field that was read, and this one another.
        if b"\\" in start or b"\\" in end or _decode_string(string[1]) != text:
            return
        self._field, self._start, self._end = field, start, end
        self._unused += 1

    def take(self, data: bytes) -> bool:
        """Take a frame of this shape; False for any other frame, and for one without text."""
        start, end = self._start, self._end
        if not (start and data.startswith(start) and data.endswith(end)):
            return False
        try:
            text = _decode_string(data[len(start) : len(data) - len(end)])
        except msgspec.MsgspecError:  # a string that ends earlier, so other fields follow, or a broken one
            return False
        if text:
            self._texts.append(text)
            self._unused = 0
        return bool(text)

    def flush(self) -> None:
        """Read what was taken. Call it before another frame is read, and at the end of the frames."""
        if self._texts:
            texts, self._texts = self._texts, []
            self._read_texts(self._field, texts)
