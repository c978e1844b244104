"""Splits bytes into lines, for framings that consist of lines.

LF, CRLF and CR all end a line. A CR may be the last byte of one read and its LF the first byte of the next.
A byte-order mark before the first line is removed. A line that arrives in many reads is joined once, at its
end, so that the cost stays linear.
"""

CR, LF = b"\r", b"\n"
BOM = b"\xef\xbb\xbf"


class LineSplitter:
    """Returns complete lines without their line ends; the unfinished line is buffered.

    With `skip_space`, the white space before a line is dropped as it arrives, so it counts towards no limit.
    """

    def __init__(self, *, skip_space: bool = False) -> None:
        self._skip_space = skip_space
        self._chunks: list[bytes] = []
        self.buffered_bytes = 0
        self._after_cr = False
        self._at_start = True
        self._bom_prefix = b""

    @property
    def between_lines(self) -> bool:
        """Whether the next byte begins a line, whatever it is."""
        return not (self._chunks or self._after_cr or self._at_start)

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that these bytes complete."""
        if self._at_start:
            data = self._without_bom(data)
        if self._after_cr and data:
            self._after_cr = False
            if data[:1] == LF:
                data = data[1:]
        if LF not in data and CR not in data:
            self._buffer(data)
            return []
        if self._chunks:
            data = b"".join((*self._chunks, data))
            self._chunks.clear()
        self.buffered_bytes = 0
        lines = data.splitlines()
        last_byte = data[-1:]
        if last_byte == CR:
            self._after_cr = True
        elif last_byte != LF:
            self._buffer(lines.pop())
        return [line.lstrip() for line in lines] if self._skip_space else lines

    def take_unfinished(self) -> bytes:
        """Return the unfinished line and clear the buffer."""
        line = b"".join(self._chunks)
        self._chunks.clear()
        self.buffered_bytes = 0
        return line

    def _without_bom(self, data: bytes) -> bytes:
        """Return the first bytes without a byte-order mark; empty while they may still be part of one."""
        data = self._bom_prefix + data
        self._at_start = BOM.startswith(data) and data != BOM
        self._bom_prefix = data if self._at_start else b""
        return b"" if self._at_start else data.removeprefix(BOM)

    def _buffer(self, data: bytes) -> None:
        if self._skip_space and not self._chunks:
            data = data.lstrip()
        self.buffered_bytes += len(data)
        if data:
            self._chunks.append(data)
