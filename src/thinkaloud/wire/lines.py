"""Bytes into lines, for framings that are made of lines.

LF, CRLF and CR all end a line, and a CR may be the last byte of one read with its LF in the next. A
byte-order mark before the first line is not part of it.
A line that comes in many reads is joined once, when its end is seen.
"""

CR, LF = b"\r", b"\n"
BOM = b"\xef\xbb\xbf"


class Lines:
    """Whole lines without their ends; the unfinished one is held until more comes."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self.held_bytes = 0
        self._after_cr = False
        self._first = True
        self._start = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that these bytes complete."""
        if self._first:
            data = self._without_mark(data)
        if self._after_cr and data:
            self._after_cr = False
            if data[:1] == LF:
                data = data[1:]
        if LF not in data and CR not in data:
            self._hold(data)
            return []
        if self._held:
            data = b"".join((*self._held, data))
            self._held.clear()
        self.held_bytes = 0
        lines = data.splitlines()
        last = data[-1:]
        if last == CR:
            self._after_cr = True
        elif last != LF:
            self._hold(lines.pop())
        return lines

    def rest(self) -> bytes:
        """The unfinished line, given away."""
        held = b"".join(self._held)
        self._held.clear()
        self.held_bytes = 0
        return held

    def _without_mark(self, data: bytes) -> bytes:
        """The very first bytes without a byte-order mark; none while it may still be one."""
        data = self._start + data
        self._first = BOM.startswith(data) and data != BOM
        self._start = data if self._first else b""
        return b"" if self._first else data.removeprefix(BOM)

    def _hold(self, data: bytes) -> None:
        self.held_bytes += len(data)
        if data:
            self._held.append(data)
