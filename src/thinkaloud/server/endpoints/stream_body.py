"""The body of a streamed response: the provider's own bytes as long as they can be sent on, else new ones.

A response that has sent bytes on can still go on with a writer, for example when a turn fails: the writer is
given all entries so far, and what it writes for them is discarded.
"""

from thinkaloud.canon import Entry, ReplyEnded, TurnEnded, TurnFailed
from thinkaloud.dialects.relay import ByteRelay
from thinkaloud.dialects.writer import StreamWriter
from thinkaloud.server.entry_feed import FeedBatch
from thinkaloud.transcript import Turn, apply


class StreamBody:
    """Makes the bytes to send for the entries of a turn."""

    def __init__(self, writer: StreamWriter, relay: ByteRelay | None) -> None:
        self._writer = writer
        self._relay = relay
        self._relayed = False
        self._turn = Turn()
        self._sent: list[Entry] = []
        """The entries whose bytes were sent on, and which the writer has not been given."""
        self._waiting: list[Entry] = []
        """The entries whose bytes have not come yet."""
        self.live = True
        """Whether more follows."""

    def feed(self, batch: FeedBatch) -> tuple[bytes, bytes]:
        """Return what to send for these entries, and the end of the response, which waits for the turn."""
        entries = self._waiting + batch.entries
        self._waiting = []
        if self._relay is not None and _may_relay(batch):
            data = self._relay_bytes(self._relay, entries, batch)
            if data is not None:
                return data
        if self._relay is not None:
            self._relay = None
            self._catch_up()
        return self._write(entries)

    def keep_alive(self) -> bytes:
        """Return what to send while there is nothing to say."""
        if not self._relayed:
            self._relay = None  # the writer begins the response now, and a response has one beginning
        self._catch_up()
        return self._writer.keep_alive()

    def _relay_bytes(
        self, relay: ByteRelay, entries: list[Entry], batch: FeedBatch
    ) -> tuple[bytes, bytes] | None:
        """Return the bytes of the provider to send, and its last ones; None if they cannot be sent on."""
        if not batch.data and not batch.ended:
            self._waiting = entries
            return b"", b""
        data = relay.feed(batch.data, [entry.event for entry in entries], ended=batch.ended)
        if data is None:
            return None
        self._sent += entries
        self._relayed = self._relayed or bool(data)
        self.live = not any(isinstance(entry.event, TurnEnded) for entry in entries)
        return data, b"" if self.live else relay.close()

    def _catch_up(self) -> None:
        """Give the writer the entries that were sent in the provider's own bytes."""
        entries, self._sent = self._sent, []
        self._write(entries)

    def _write(self, entries: list[Entry]) -> tuple[bytes, bytes]:
        data = end = b""
        for entry in entries:
            apply(self._turn, entry)
            if self._turn.live:
                data += self._writer.feed(entry.event, self._turn)
            else:
                end = self._writer.feed(entry.event, self._turn)
        self.live = self._turn.live
        return data, end


def _may_relay(batch: FeedBatch) -> bool:
    """Return whether all of these entries were read from bytes that end the turn only where it ends."""
    events = [entry.event for entry in batch.entries]
    if not batch.with_bytes or any(isinstance(event, TurnFailed | ReplyEnded) for event in events):
        return False
    return batch.ended or not any(isinstance(event, TurnEnded) for event in events)
