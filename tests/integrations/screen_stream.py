"""A stream of entries that a test sends piece by piece, and how the program of a screen reads it.

The test holds the stream, so that what is on the screen can be read between two pieces. The programs run in
the environment of their screen, which has nothing of the tests but this.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread
from typing import Any, NamedTuple
from urllib.request import urlopen

import msgspec

from thinkaloud.core.canon import Entry, Event

URL = "SCREEN_STREAM"
"""The variable that tells a program where its stream is."""


class ScreenStream(NamedTuple):
    """What a program shows: entries as they arrive, and how."""

    entries: Iterator[Entry]
    policy: dict[str, Any]
    lang: str


def open_stream() -> ScreenStream:
    """Open the stream that the test has prepared; called by the program of a screen."""
    response = urlopen(os.environ[URL])
    settings = json.loads(response.readline())
    return ScreenStream(_entries(response), settings["policy"], settings["lang"])


async def entries_async(stream: ScreenStream) -> AsyncIterator[Entry]:
    """Yield the entries of a stream without stopping the event loop, for the program of an app."""
    while (entry := await asyncio.to_thread(next, stream.entries, None)) is not None:
        yield entry


def _entries(response: Iterable[bytes]) -> Iterator[Entry]:
    for line in response:
        yield msgspec.json.decode(line, type=Entry)


class StreamServer:
    """Serves one stream after the other: each to the next program that asks."""

    def __init__(self) -> None:
        streams = self._streams = Queue[Queue[bytes]]()
        self._seq = -1
        self._current: Queue[bytes] = Queue()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()
                pieces = streams.get()
                while piece := pieces.get():
                    self.wfile.write(piece)
                    self.wfile.flush()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def prepare(self, policy: dict[str, Any] | None = None, lang: str = "en-US") -> None:
        """Begin another stream, for the next program that asks."""
        self._seq, self._current = -1, Queue()
        self._current.put(json.dumps({"policy": policy or {}, "lang": lang}).encode() + b"\n")
        self._streams.put(self._current)

    def send(self, events: Iterable[Event], at_ms: int | None = None) -> int:
        """Send events of one moment, and return the number of the newest entry."""
        for event in events:
            self._seq += 1
            self._current.put(msgspec.json.encode(Entry(self._seq, event, at_ms)) + b"\n")
        return self._seq

    def end(self) -> None:
        """End the stream."""
        self._current.put(b"")

    def close(self) -> None:
        """End everything."""
        self._server.shutdown()
        self._server.server_close()
