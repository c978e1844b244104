"""The body of a streamed response: the provider's own bytes as long as they can be sent on, else new ones.

A response that has sent bytes on can still go on with a writer, for example when a turn fails: the writer is
given all entries so far, and what it writes for them is discarded. The end is made only when it is asked for,
because a turn that has ended can still be lost until it is stored.
"""

from collections.abc import Sequence

from thinkaloud.core.canon import BlockGrew, Entry, Event, ReplyEnded, TurnEnded, TurnFailed
from thinkaloud.core.dialects.relay import ByteRelay
from thinkaloud.core.dialects.writer import StreamWriter
from thinkaloud.core.transcript import Turn, apply, events_to_end_turn
from thinkaloud.gateway.server.streams.entry_feed import FeedBatch

_ENDS = frozenset((TurnEnded, TurnFailed))
_NOT_IN_BYTES = frozenset((TurnFailed, ReplyEnded))


class _SentEntries:
    """Entries that are kept for the case that they are needed. Of a text in a row, only its pieces are."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._pieces: list[str] = []
        """The text since the last entry, which is the newest text of its block."""

    def add(self, entries: Sequence[Entry]) -> None:
        """Keep these entries."""
        for entry in entries:
            event, last = entry.event, self._entries[-1].event if self._entries else None
            if type(event) is BlockGrew and type(last) is BlockGrew and last.block == event.block:
                self._pieces.append(event.text)
            else:
                self._end_text()
                self._entries.append(entry)

    def take(self) -> list[Entry]:
        """Return the entries, with one for each text, and keep none."""
        self._end_text()
        entries, self._entries = self._entries, []
        return entries

    def _end_text(self) -> None:
        if not self._pieces:
            return
        last = self._entries[-1]
        assert type(last.event) is BlockGrew
        grown = BlockGrew(last.event.block, "".join((last.event.text, *self._pieces)))
        self._entries[-1] = Entry(last.seq, grown, last.at_ms)
        self._pieces.clear()


class StreamBody:
    """Makes the bytes to send for the entries of a turn."""

    def __init__(self, writer: StreamWriter, relay: ByteRelay | None) -> None:
        self._writer = writer
        self._relay = relay
        self._relayed = False
        self._turn = Turn()
        self._sent = _SentEntries()
        """The entries whose bytes were sent on, and which the writer has not been given."""
        self._held: list[Entry] = []
        """The entries whose bytes are held back by the relay."""
        self._waiting: list[Entry] = []
        """The entries whose bytes have not come yet."""
        self._end: Entry | None = None
        """The end of the turn, which the writer has not been given."""
        self.live = True
        """Whether more follows before the end."""

    def feed(self, batch: FeedBatch) -> bytes:
        """Return what to send for these entries, without the end of the response."""
        entries = batch.entries
        if self._waiting:
            entries = self._waiting + entries
            self._waiting = []
        events: list[Event] = []
        for entry in entries:
            events.append(entry.event)
        kinds = set(map(type, events))
        self.live = kinds.isdisjoint(_ENDS)
        if self._relay is None:
            return self._write(entries)
        # Bytes end the turn only where it ends: a failure and the end of a reply are not in them.
        if batch.with_bytes and kinds.isdisjoint(_NOT_IN_BYTES) and (batch.ended or self.live):
            data = self._relay_bytes(self._relay, entries, events, batch)
            if data is not None:
                return data
        return self._stop_relaying() + self._write(entries)

    def end(self) -> bytes:
        """Return the end of the response. The turn must be stored."""
        if self._relay is not None:
            return self._relay.close()
        assert self._end is not None
        apply(self._turn, self._end)
        return self._writer.feed(self._end.event, self._turn)

    def fail(self, failure: TurnFailed) -> bytes:
        """Return the end of a response whose turn was lost: this failure, in the form of the dialect."""
        self._catch_up()
        data = b""
        for event in events_to_end_turn(self._turn, failure):
            apply(self._turn, Entry(self._turn.seq + 1, event))
            data += self._writer.feed(event, self._turn)
        return data

    def keep_alive(self) -> bytes:
        """Return what to send while there is nothing to say."""
        data = b""
        if self._relay is not None and not self._relayed:
            data = self._stop_relaying()  # the writer begins the response now, and it has one beginning
        self._catch_up()
        return data + self._writer.keep_alive()

    def _relay_bytes(
        self, relay: ByteRelay, entries: list[Entry], events: list[Event], batch: FeedBatch
    ) -> bytes | None:
        """Return the bytes of the provider to send; None if they cannot be sent on."""
        if not batch.data and not batch.ended:
            self._waiting = entries
            return b""
        data = relay.feed(batch.data, events, ended=batch.ended)
        if data is None:
            return None
        if relay.ending:
            self._held += entries
        else:
            self._sent.add(entries)
        self._relayed = self._relayed or bool(data)
        return data

    def _stop_relaying(self) -> bytes:
        """Go on with the writer. Return what it writes for the entries whose bytes were not sent."""
        self._relay = None
        self._catch_up()
        entries, self._held = self._held, []
        return self._write(entries)

    def _catch_up(self) -> None:
        """Give the writer the entries that were sent in the provider's own bytes."""
        self._write(self._sent.take())

    def _write(self, entries: list[Entry]) -> bytes:
        data = b""
        for entry in entries:
            if isinstance(entry.event, TurnEnded | TurnFailed):
                self._end = entry
            else:
                apply(self._turn, entry)
                data += self._writer.feed(entry.event, self._turn)
        return data
