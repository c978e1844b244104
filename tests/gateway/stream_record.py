"""A reader of streams on a raw socket. It can disconnect at any byte, also with a reset, and resume.

A `StreamRecord` takes each entry once and in order; a duplicate or a gap fails where it happens.
"""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec
from tests.gateway.gateway_process import bearer_headers

from thinkaloud.core.canon import Entry, TurnEnded, TurnFailed
from thinkaloud.core.transcript import Turn, apply

_entry_decoder = msgspec.json.Decoder(Entry)
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class EventSink(Protocol):
    """Takes the events of a stream, and knows after which entry to resume it."""

    @property
    def last(self) -> int:
        """The id of the last entry, or -1."""

    def add_event(self, event: bytes) -> None:
        """Record one complete event."""


def parse_event(event: bytes) -> dict[bytes, bytes]:
    """Return the fields of one event. A comment has the empty field name."""
    pairs = (line.partition(b": ") for line in event.split(b"\n"))
    return {name: value for name, _, value in pairs}


class StreamRecord:
    """What one reader received of a turn, over any number of connections."""

    def __init__(self, lines: Iterable[bytes] = (), *, resets_allowed: bool = False) -> None:
        self.lines = list(lines)
        """The raw entries, by number."""
        self.events: list[tuple[str, Any]] = []
        self.comments = 0
        self.last_saved: int | None = None
        """The last entry before a `storage` event said that the following ones are not saved."""
        self._resets_allowed = resets_allowed

    @property
    def last(self) -> int:
        """The id of the last entry, or -1."""
        return len(self.lines) - 1

    @property
    def state(self) -> str:
        """The state in the `end` event, or an empty string."""
        return str(dict(self.events).get("end", {}).get("state", ""))

    @property
    def entries(self) -> list[Entry]:
        return [_entry_decoder.decode(line) for line in self.lines]

    @property
    def turn(self) -> Turn:
        """The turn folded from the entries."""
        turn = Turn()
        for entry in self.entries:
            apply(turn, entry)
        return turn

    @property
    def text(self) -> tuple[str, str]:
        """The reasoning and the answer."""
        turn = self.turn
        return turn.reasoning, turn.answer

    @property
    def end_count(self) -> int:
        """The number of entries that end the turn."""
        return sum(isinstance(entry.event, TurnEnded | TurnFailed) for entry in self.entries)

    def add_event(self, event: bytes) -> None:
        """Record one complete event."""
        fields = parse_event(event)
        if fields.keys() == {b"id"}:
            return  # only a position, for an EventSource that reconnects
        if b"id" in fields:
            number = int(fields[b"id"])
            assert number == len(self.lines), f"entry {number} was sent after entry {self.last}"
            self.lines.append(fields[b"data"])
        elif b"event" in fields:
            self._add_named_event(fields[b"event"].decode(), msgspec.json.decode(fields[b"data"]))
        elif b"" in fields:
            self.comments += 1
        else:
            assert fields == {b"retry": b"1000"}, event

    def _add_named_event(self, name: str, data: Any) -> None:
        self.events.append((name, data))
        if name == "reset":
            assert self._resets_allowed, "what this reader has is not in the log"
            self.lines.clear()
        elif name == "storage" and not data["saved"]:
            self.last_saved = self.last


class StreamConnection:
    """One connection to a stream. Splits the bytes into events and records them."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, record: EventSink) -> None:
        self._reader = reader
        self._writer = writer
        self._record = record
        self._raw = b""
        self._body = b""
        self.status = 0
        self.body_started = False
        """Whether any byte of the body arrived."""
        self.complete = False
        """Whether the response ended properly."""

    async def read(self, max_bytes: int = 65536) -> bool:
        """Read up to this many bytes. Return False at the end."""
        try:
            data = await self._reader.read(max_bytes)
        except ConnectionError:
            return False
        self._raw += data
        if not self.status and b"\r\n\r\n" in self._raw:
            head, _, self._raw = self._raw.partition(b"\r\n\r\n")
            self.status = int(head.split()[1])
            self.complete = self.status == 204
        if self.status == 200:
            self._parse_chunks()
        return bool(data) and not self.complete

    async def read_to_end(self) -> None:
        """Read to the end."""
        while await self.read():
            pass

    async def drop(self, *, reset: bool = False) -> None:
        """Disconnect, with a TCP reset if `reset`."""
        if reset:
            raw_socket: socket.socket = self._writer.get_extra_info("socket")
            raw_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self._writer.transport.abort()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return  # the other side was quicker

    def _parse_chunks(self) -> None:
        while not self.complete and b"\r\n" in self._raw:
            size, _, remainder = self._raw.partition(b"\r\n")
            length = int(size, 16)
            if len(remainder) < length + 2:
                return
            self._body += remainder[:length]
            self._raw = remainder[length + 2 :]
            self.body_started = True
            self.complete = length == 0
        *events, self._body = self._body.split(b"\n\n")
        for event in events:
            self._record.add_event(event)


@asynccontextmanager
async def open_stream(
    url: str, turn: str, record: EventSink, *, token: str = "", by_query: bool = False, query: str = ""
) -> AsyncIterator[StreamConnection]:
    """Open a stream after the last recorded entry, and drop the connection with the block."""
    url_parts = urlsplit(url)
    path, headers = f"/api/turns/{turn}/events{query}", {"Host": url_parts.netloc, **bearer_headers(token)}
    if record.last >= 0 and by_query:
        path += f"{'&' if query else '?'}after={record.last}"
    elif record.last >= 0:
        headers["Last-Event-ID"] = str(record.last)
    reader, writer = await asyncio.open_connection(url_parts.hostname, url_parts.port, family=socket.AF_INET)
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
    stream = StreamConnection(reader, writer, record)
    try:
        yield stream
    finally:
        await stream.drop()


async def follow(url: str, turn: str, record: EventSink, token: str = "") -> StreamConnection:
    """Read from the last recorded entry until the connection ends."""
    async with open_stream(url, turn, record, token=token) as stream:
        await stream.read_to_end()
    return stream
