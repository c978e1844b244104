"""Zeroes the unused space within the pages of a SQLite file.

With `secure_delete` SQLite zeroes what it deletes, but not what it moves: when it divides a page, copies of
rows that are on another page now can stay in the unused space of the first. If such a row is deleted later,
its copy would stay in the file. SQLite has no command for this except VACUUM, which writes the whole file.

Only bytes that SQLite never reads are changed, so a stop in between does no harm.
"""

import os
import struct
import time
from collections.abc import Iterable, Iterator
from io import FileIO
from typing import NamedTuple

FILE_HEADER_BYTES = 100
_TREE_PAGES = {2: 12, 5: 12, 10: 8, 13: 8}
"""The first byte of a page of a tree, and the size of its header. Other pages begin with a page number."""
_MOST_PAGES = 2 << 24
"""A page that begins with a higher page number looks like a page of a tree. Such a file has 137 GB."""
_PAGES_AT_ONCE = 256


class _Layout(NamedTuple):
    page_bytes: int
    used_bytes: int
    """Without the end of a page that is reserved for extensions."""
    pages: int


def pages_with_remains(file: FileIO) -> list[int]:
    """Return the numbers of the pages whose unused space is not zero; the first page is 0."""
    layout = _read_layout(file)
    found: list[int] = []
    for first in range(0, layout.pages, _PAGES_AT_ONCE):
        data = _read_at(file, first * layout.page_bytes, _PAGES_AT_ONCE * layout.page_bytes)
        for index in range(len(data) // layout.page_bytes):
            start = index * layout.page_bytes
            unused = _unused_space(data[start : start + layout.page_bytes], first + index, layout)
            if data[start + unused.start : start + unused.stop].strip(b"\0"):
                found.append(first + index)
        # This is pure Python: without a pause it would keep the interpreter lock from the event loop.
        time.sleep(0)
    return found


def zero_unused_space(file: FileIO, pages: Iterable[int]) -> None:
    """Zero the unused space of these pages. Nobody may write to the file meanwhile."""
    layout = _read_layout(file)
    for page, unused in _unused_spaces(file, pages, layout):
        if unused:
            file.seek(page * layout.page_bytes + unused.start)
            file.write(bytes(len(unused)))
    os.fsync(file.fileno())


def _unused_spaces(file: FileIO, pages: Iterable[int], layout: _Layout) -> Iterator[tuple[int, range]]:
    for page in pages:
        if page < layout.pages:
            data = _read_at(file, page * layout.page_bytes, layout.page_bytes)
            yield page, _unused_space(data, page, layout)


def _read_layout(file: FileIO) -> _Layout:
    header = _read_at(file, 0, FILE_HEADER_BYTES)
    (stored_bytes,) = struct.unpack_from(">H", header, 16)
    page_bytes = 65_536 if stored_bytes == 1 else stored_bytes
    pages = os.fstat(file.fileno()).st_size // page_bytes
    (largest_root,) = struct.unpack_from(">I", header, 52)
    if largest_root or pages >= _MOST_PAGES:
        # With `auto_vacuum` some pages are lists, which look like pages of a tree. We never set it.
        pages = 0
    return _Layout(page_bytes, page_bytes - header[20], pages)


def _unused_space(page: bytes, number: int, layout: _Layout) -> range:
    """Return the bytes between the list of cells and the first cell; empty for a page that is of no tree."""
    header = FILE_HEADER_BYTES if number == 0 else 0
    if len(page) < layout.page_bytes or page[header] not in _TREE_PAGES:
        return range(0)
    cells, content_start = struct.unpack_from(">HH", page, header + 3)
    list_end = header + _TREE_PAGES[page[header]] + 2 * cells
    content_start = content_start or 65_536
    return range(list_end, content_start) if content_start <= layout.used_bytes else range(0)


def _read_at(file: FileIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)
