"""A reader that follows one turn to its end over any number of connections, and writes down what it receives.

It behaves like the page: it resumes after its last entry, and gives up a connection that is silent for long.
"""

import asyncio
import random
import time
from collections.abc import Callable

import msgspec
from tests.faults.history import (
    Connected,
    EndReceived,
    EntryReceived,
    Observation,
    ResetReceived,
    StorageReported,
)
from tests.gateway.stream_record import open_stream, parse_event

RETRY_S = 0.02
"""The wait before a reader connects again. Short, so that the time to resume is the gateway's."""
_NO_CONTENT = 204
_UNAVAILABLE = 503


class FaultReader:
    """One reader of one turn."""

    def __init__(
        self, *, silence_s: float | None = None, dice: random.Random | None = None, token: str = ""
    ) -> None:
        self.observations: list[Observation] = []
        self.ended = False
        self.resume_ms: list[float] = []
        """From each break of a connection to the next event."""
        self.longest_silence_ms = 0.0
        """Between two entries. Another thing than the wait for a broken connection."""
        self._token = token
        self._entry_at_s = 0.0
        self._last = -1
        self._broken_at_s: float | None = None
        self._silence_s = silence_s
        self._dice = dice or random.Random(0)

    @property
    def last(self) -> int:
        """The id of the last entry, or -1."""
        return self._last

    @property
    def not_saved(self) -> bool:
        """Whether the last report was that entries are not saved."""
        reports = [item.saved for item in self.observations if isinstance(item, StorageReported)]
        return bool(reports) and not reports[-1]

    def add_event(self, event: bytes) -> None:
        """Record one complete event."""
        fields = parse_event(event)
        if b"id" in fields and b"data" in fields:
            self._note(EntryReceived(int(fields[b"id"]), fields[b"data"].decode()))
            self._last = int(fields[b"id"])
            self._measure_silence()
        elif b"event" in fields:
            data = msgspec.json.decode(fields[b"data"])
            match fields[b"event"]:
                case b"end":
                    self._note(EndReceived(data["state"]))
                    self.ended = True
                case b"storage":
                    self._note(StorageReported(data["saved"]))
                case b"reset":
                    self._note(ResetReceived())
                    self._last = -1
                case name:
                    raise AssertionError(f"an event without a meaning: {name!r}")

    async def follow(self, url: Callable[[], str], turn: str) -> None:
        """Read until the turn has ended. `url` is asked for each connection."""
        while not self.ended:
            try:
                await self._read_connection(url(), turn)
            except OSError:
                await asyncio.sleep(RETRY_S)  # nobody listens

    async def _read_connection(self, url: str, turn: str) -> None:
        """Read one connection until it ends, breaks, or is silent for too long."""
        by_query = self._dice.random() < 0.5
        async with open_stream(url, turn, self, token=self._token, by_query=by_query) as stream:
            self.observations.append(Connected())
            while True:
                try:
                    async with asyncio.timeout(self._silence_s):
                        more = await stream.read()
                except TimeoutError:
                    break
                if not more:
                    break
        if stream.status == _NO_CONTENT:
            self.ended = True  # it has everything
            self._measure()
        elif not self.ended and self._broken_at_s is None:
            self._broken_at_s = time.monotonic()
        assert stream.status in (0, 200, _NO_CONTENT, _UNAVAILABLE), f"the status is {stream.status}"
        if stream.status == _UNAVAILABLE:
            await asyncio.sleep(RETRY_S)  # the gateway is stopping

    def _note(self, observation: Observation) -> None:
        self._measure()
        self.observations.append(observation)

    def _measure_silence(self) -> None:
        now_s = time.monotonic()
        if self._entry_at_s:
            self.longest_silence_ms = max(self.longest_silence_ms, (now_s - self._entry_at_s) * 1000)
        self._entry_at_s = now_s

    def _measure(self) -> None:
        if self._broken_at_s is not None:
            self.resume_ms.append((time.monotonic() - self._broken_at_s) * 1000)
            self._broken_at_s = None
