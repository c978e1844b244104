"""Server-sent events, encoded: streams of the gateway and of web frameworks, and dialects that have them.

An entry is an event with an id, so a reader that lost its connection can say where to go on. What is large
is encoded in chunks: no copy of a whole text is held for a slow reader.
"""

from collections.abc import Iterator, Sequence

import msgspec

from thinkaloud.core.canon import BadPosition

CHUNK_BYTES = 32 * 1024
"""The size of one send. It bounds the unsent bytes that are held for a slow reader."""
STREAM_HEADERS = (
    ("content-type", "text/event-stream"),
    ("cache-control", "no-store"),
    ("x-accel-buffering", "no"),
)
"""The last one tells nginx, and proxies that follow it, to pass each event on at once."""
RETRY = b"retry: 1000\n\n"
"""How long a browser waits before it connects again, in milliseconds."""
HEARTBEAT = b": alive\n\n"
"""A comment, which readers ignore. It keeps proxies from closing a silent connection."""
_MAX_ID_DIGITS = 15
_encode = msgspec.json.Encoder().encode


def sse(data: object, event: str = "") -> bytes:
    """Encode one event; `data` is sent as JSON."""
    head = b"event: %b\n" % event.encode() if event else b""
    return b"%bdata: %b\n\n" % (head, _encode(data))


def sse_id(position: str) -> bytes:
    """Encode an id without data: it only moves the position of the reader."""
    return b"id: %b\n\n" % position.encode()


def sse_chunks(lines: Sequence[bytes], first: int, stream: str = "") -> Iterator[bytes]:
    """Encode lines of JSON as events, in chunks of at most about `CHUNK_BYTES`. Usually there is one chunk.

    Their ids count from `first`. Ids of a stream with a name begin with it and a dot.
    """
    prefix = f"{stream}.".encode() if stream else b""
    pending: list[bytes] = []
    size = 0
    for number, line in enumerate(lines, first):
        if size + len(line) > CHUNK_BYTES and pending:
            yield b"".join(pending)
            pending, size = [], 0
        if len(line) > CHUNK_BYTES:
            yield b"id: %b%d\ndata: " % (prefix, number)
            yield from (line[offset : offset + CHUNK_BYTES] for offset in range(0, len(line), CHUNK_BYTES))
            line = b""
            pending.append(b"\n\n")
        else:
            pending.append(b"id: %b%d\ndata: %b\n\n" % (prefix, number, line))
        size += len(line)
    if pending:
        yield b"".join(pending)


def last_seen_id(header: str, after: int | None) -> int:
    """Return the last id that a reader has, or -1.

    A browser that reconnects requests the same URL again and adds its last id as a header, so the header
    may be ahead of `after`. If the header is behind, the two contradict each other.
    """
    if not header:
        return -1 if after is None else after
    if len(header) > _MAX_ID_DIGITS or not (header.isascii() and header.isdecimal()):
        raise BadPosition(
            "Last-Event-ID is not an id of this stream: ids are numbers. Correct it, or leave it out."
        )
    if after is not None and int(header) < after:
        raise BadPosition(
            "Last-Event-ID ({header}) is smaller than `after` ({after}). The position is ambiguous. "
            "Send only one of them.",
            header=header,
            after=after,
        )
    return int(header)
