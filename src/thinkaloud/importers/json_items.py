"""Reads the items of a JSON file one by one: the objects of a list, the lines of JSON Lines, or one object.

Only one item is in memory at a time. An error names its line, and half characters are repaired: ijson does
neither, which is why the items are found here.
"""

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from thinkaloud.core.canon import Refused, Wording
from thinkaloud.core.wire import BOM, repaired_json
from thinkaloud.core.wire.frames import MIB

MAX_ITEM_BYTES = 128 * MIB
"""One conversation of an account, or one line of a log. The longest line seen in a log had 20 MiB."""
MAX_DEPTH = 900
"""Nested lists and objects. The decoder refuses deeper ones."""
_CHUNK_BYTES = 256 * 1024
_SHOWN_BYTES = 20
_BYTE_POSITION = re.compile(r" \(byte (\d+)\)")
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<end>")?|[\[\]{}]', re.DOTALL)
"""A whole string, the beginning of one at the end of the data, or a bracket."""


class DamagedFile(Refused):
    """A file that cannot be read. The message names the line."""


class UnknownFormat(DamagedFile):
    """A file that is of no known format."""


class Item(msgspec.Struct, frozen=True):
    """One JSON value and the line at which it begins; `repaired` if halves of characters were replaced."""

    line: int
    value: Any
    size: int
    repaired: bool = False


def read_items(file: BinaryIO) -> Iterator[Item]:
    """Yield the objects of a list, the lines of a file of JSON Lines, or the one object of a file."""
    head = file.read(_CHUNK_BYTES)
    start = head.removeprefix(BOM).lstrip()[:_SHOWN_BYTES]
    if start.startswith(b"["):
        return _ListScanner(file, head).items()
    if start and not start.startswith(b"{"):
        raise UnknownFormat(
            "The file begins with {start}, so it is neither JSON nor a zip file nor a database of a "
            "known program.",
            start=repr(start.decode(errors="replace")),
        )
    return _read_lines_or_object(file, head)


def damaged(line: int, problem: Wording) -> DamagedFile:
    """Return the error about a line."""
    return DamagedFile("Line {line}: {reason}", line=line, reason=problem)


def decode_item(data: bytes, line: int) -> Item:
    """Decode one item that begins at this line, or refuse it with the line of its first error."""
    problem: Exception
    try:
        return Item(line, msgspec.json.decode(data), len(data))
    except RecursionError:
        raise damaged(
            line, Wording("the JSON is nested more than {max_depth} levels deep.", max_depth=MAX_DEPTH)
        ) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        problem = error
    repaired = repaired_json(data)
    if repaired != data:
        try:
            return Item(line, msgspec.json.decode(repaired), len(data), repaired=True)
        except msgspec.MsgspecError as error:
            data, problem = repaired, error
    raise _decode_error(data, line, str(problem))


def _decode_error(data: bytes, line: int, problem: str) -> DamagedFile:
    position = _BYTE_POSITION.search(problem)
    end = int(position[1]) if position else len(data.rstrip())
    before = data[:end]
    column = end - (before.rfind(b"\n") + 1) + 1
    reason = _BYTE_POSITION.sub("", problem).removeprefix("JSON is malformed: ")
    return damaged(
        line + before.count(b"\n"),
        Wording("this is not valid JSON at column {column}: {reason}.", column=column, reason=reason),
    )


def _read_lines_or_object(file: BinaryIO, head: bytes) -> Iterator[Item]:
    """Yield the lines. A first line that is no JSON value belongs to an object of several lines."""
    lines = _lines(file, head)
    number, first = next(((number, line) for number, line in lines if line.strip()), (1, b""))
    if not first:
        raise damaged(1, Wording("the file is empty."))
    try:
        item = decode_item(first, number)
    except DamagedFile:
        rest = [first]
        size = len(first)
        for _, line in lines:
            size += len(line)
            if size > MAX_ITEM_BYTES:
                raise _too_large(number) from None
            rest.append(line)
        yield decode_item(b"\n".join(rest), number)
        return
    yield item
    del first, item
    for number, line in lines:
        if line.strip():
            yield decode_item(line, number)


def _lines(file: BinaryIO, head: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers. Its first bytes were read already."""
    number, size, chunk = 1, 0, head.removeprefix(BOM)
    pieces: list[bytes] = []
    while chunk:
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            yield number, b"".join([*pieces, line])
            number, size, pieces = number + 1, 0, []
        pieces.append(rest)
        size += len(rest)
        if size > MAX_ITEM_BYTES:
            raise _too_large(number)
        chunk = file.read(_CHUNK_BYTES)
    if last := b"".join(pieces):
        yield number, last


def _too_large(line: int) -> DamagedFile:
    return damaged(
        line,
        Wording(
            "one item has more than {max_item_bytes} MiB. Split the file, or remove that item.",
            max_item_bytes=MAX_ITEM_BYTES // MIB,
        ),
    )


class _ListScanner:
    """Cuts a JSON list into its objects without decoding it as a whole."""

    def __init__(self, file: BinaryIO, head: bytes) -> None:
        self._file = file
        self._data = head.removeprefix(BOM)
        self._position = 0
        self._line = 1

    def items(self) -> Iterator[Item]:
        """Yield the objects of the list."""
        self._position = self._data.index(b"[") + 1
        end, separator = self._position, b""
        while True:
            start = self._next_bracket()
            between = self._data[end:start].strip()
            if self._data[start : start + 1] == b"]" and not between:
                self._refuse_more(start + 1)
                return
            if self._data[start : start + 1] != b"{" or between != separator:
                raise damaged(
                    self._line_of(start),
                    Wording("the list must hold objects, separated by commas, and nothing else."),
                )
            start = self._find_end(start)
            yield decode_item(self._data[start : self._position], self._line_of(start))
            self._drop(self._position)
            end, separator = 0, b","

    def _next_bracket(self) -> int:
        """Return the position of the next item, or of the end of the list."""
        while (token := _TOKEN.search(self._data, self._position)) is None:
            self._position = len(self._data)
            self._read_more()
        self._position = token.end()
        return token.start()

    def _find_end(self, start: int) -> int:
        """Move to the end of the object at `start`. Return where it starts after reading more data."""
        depth, self._position = 1, start + 1
        while depth:
            token = _TOKEN.search(self._data, self._position)
            unfinished = token is not None and token[0][:1] == b'"' and not token["end"]
            if token is None or unfinished:
                self._position = token.start() if token else len(self._data)
                if len(self._data) - start > MAX_ITEM_BYTES:
                    raise _too_large(self._line_of(start))
                self._position -= start
                self._drop(start, keep_position=True)
                start = 0
                self._read_more()
                continue
            self._position = token.end()
            depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(token[0], 0)
            if depth > MAX_DEPTH:
                raise damaged(
                    self._line_of(token.start()),
                    Wording("the JSON is nested more than {max_depth} levels deep.", max_depth=MAX_DEPTH),
                )
        return start

    def _read_more(self) -> None:
        chunk = self._file.read(max(_CHUNK_BYTES, len(self._data)))
        if not chunk:
            raise damaged(
                self._line_of(len(self._data.rstrip())),
                Wording("the file ends here, before its list is complete. Download or copy it again."),
            )
        self._data += chunk

    def _drop(self, end: int, *, keep_position: bool = False) -> None:
        self._line += self._data.count(b"\n", 0, end)
        self._data = self._data[end:]
        if not keep_position:
            self._position = 0

    def _refuse_more(self, end: int) -> None:
        """Refuse anything but white space after the list."""
        while True:
            if rest := self._data[end:].strip():
                line = self._line_of(self._data.index(rest, end))
                raise damaged(line, Wording("the file goes on after the end of its list."))
            self._drop(len(self._data))
            end = 0
            if not (chunk := self._file.read(_CHUNK_BYTES)):
                return
            self._data = chunk

    def _line_of(self, position: int) -> int:
        return self._line + self._data.count(b"\n", 0, position)
