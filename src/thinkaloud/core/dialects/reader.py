"""Reads a response into events, from bytes, text, lines or objects: detects the framing and the dialect.

A whole response is read like a stream of one chunk. Lines may have lost their ends. An object, of an SDK or
decoded from JSON, is one frame. White space before the response is dropped, unless the dialect is named as
raw text. Bytes that match no dialect raise `NotAResponse`. Once the dialect is known, the result is the same
as if it had been named: frames that came before are read again.

A frame that cannot be read makes the turn end with `TurnFailed`; what was read before and after it is kept.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from thinkaloud.core.canon import (
    BlockEnded,
    Event,
    Finish,
    NotAResponse,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Wording,
    reason_of,
)
from thinkaloud.core.dialects import bedrock_converse, text
from thinkaloud.core.dialects.clues import read_clues
from thinkaloud.core.dialects.emitter import TurnEmitter
from thinkaloud.core.dialects.payload import keep_alive, parse_error
from thinkaloud.core.dialects.registry import AUTO, DIALECTS, DialectReader, detect_dialect, find_dialect
from thinkaloud.core.dialects.tags.profiles import find_profile, may_become_marker, starts_with_marker
from thinkaloud.core.wire import (
    BOM,
    DEFAULT_LIMITS,
    PLAIN_TEXT,
    STRAY_LINE,
    AwsEventStreamDecoder,
    BrokenFrame,
    Decoder,
    Frame,
    Framing,
    JsonDecoder,
    LineEnds,
    MeteredDecoder,
    NdjsonDecoder,
    TextDecoder,
    WireLimitExceeded,
    WireLimits,
    drop_blank_start,
    frame_of,
    repaired_json,
    sniff_framing,
    valid_json,
)
from thinkaloud.core.wire.lines import LF
from thinkaloud.core.wire.sse import DONE

Piece = bytes | bytearray | memoryview | str | Mapping[str, Any] | object
"""A piece of a response: bytes or text, cut anywhere, a line, or an object that is one event or the whole."""

_OBJECT_LINE = re.compile(rb"\s*(?:(?P<name>\w+):\s*)?(?P<object>\{.*)", re.DOTALL)
_SHOWN_BYTES = 256
"""The start of a response in which the message about an unknown format looks for a line to show."""
_MAX_UNRECOGNISED_FRAMES = 64
"""The number of frames of unknown dialect after which detection gives up."""
_MAX_SPACE_BEFORE_TOKENS = 1024
"""Raw text that starts with this much white space is not the JSON of tokens, whatever follows."""


class Reader:
    """Reads one response, in pieces of any size.

    `dialect` is its name, a provider's name, or "auto". `model` is the model's name if the response does not
    contain it. `tags` is the name of the tag profile that separates reasoning from answer; by default the
    model's name decides.
    """

    def __init__(
        self, dialect: str = AUTO, *, model: str = "", tags: str = "", limits: WireLimits = DEFAULT_LIMITS
    ) -> None:
        self._dialect = dialect = find_dialect(dialect)
        self._tag_profile = find_profile(tags) if tags else None
        self._limits = limits
        self._emitter = TurnEmitter(dialect, model)
        self._line_ends: LineEnds | None = None if dialect == text.NAME else LineEnds(limits)
        self._head = bytearray()
        self._blank_bytes = 0
        self._waiting_for_line = False
        self._first_bytes = b""
        self._decoder: Decoder | None = None
        self._reader: DialectReader | None = None
        self._undetected_frames: list[Frame] = []
        self._from_aws = self._from_json = False
        self._frame_count = 0
        self._closed = False

    @property
    def dialect(self) -> str:
        """The dialect; "auto" until it is detected."""
        return self._dialect

    def feed(self, piece: Piece) -> list[Event]:
        """Return the events that this piece completes."""
        if self._closed or self._emitter.ended:
            return []
        if isinstance(piece, bytes):
            self._feed_bytes(piece)
        elif isinstance(piece, str):
            self._feed_bytes(piece.encode(errors="surrogatepass"))
        elif isinstance(piece, bytearray | memoryview):
            self._feed_bytes(bytes(piece))
        else:
            self._feed_object(piece)
        return self._emitter.drain()

    def _feed_bytes(self, data: bytes) -> None:
        if len(self._first_bytes) < _SHOWN_BYTES:
            self._show_first(data)
            if data[:1] == b"\0" and self._decoder is None:
                self._line_ends = None  # not made of lines
        line_ends = self._line_ends
        if line_ends is not None and (line_ends.unfinished or data[-1:] != LF):
            data = line_ends.restore(data)
        self._decode(self._feed_decoder if self._decoder is None else self._decoder.feed, data)

    def _feed_object(self, value: object) -> None:
        """Read an object as one frame. A line before it that has no end is complete."""
        try:
            frame = frame_of(value)
        except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
            raise _not_a_piece(value) from error
        if frame is None:
            return
        if self._line_ends is not None and self._line_ends.unfinished:
            self._feed_bytes(b"\n\n")
        self._show_first(frame.data)
        self._from_json = self._decoder is None
        self._decode(self._checked_frame, frame.data, frame.event)

    def _checked_frame(self, data: bytes, event: str = "") -> list[Frame]:
        if len(data) > self._limits.event_bytes:
            raise WireLimitExceeded(Wording("An event"), "event_bytes", self._limits.event_bytes, [])
        return [Frame(data, event)]

    def _show_first(self, data: bytes) -> None:
        """Keep the start of the response for the message about an unknown format."""
        start = data if self._first_bytes else data.lstrip()
        self._first_bytes += start[: _SHOWN_BYTES - len(self._first_bytes)]

    def close(self) -> list[Event]:
        """Return the remaining events; the last one ends the turn."""
        if self._closed or self._emitter.ended:
            return []
        self._closed = True
        if self._decoder is None:
            self._decode(self._feed_decoder, b"")
        if self._decoder is not None:
            self._decode(lambda _: self._decoder.close() if self._decoder else [], b"")
        if self._reader is None:
            self._fail_empty()
        else:
            self._close_reader(self._reader)
        return self._emitter.drain()

    def break_off(self, end: TurnEnded | TurnFailed) -> list[Event]:
        """Return the remaining events of a response that broke: `end` ends the turn, unless it was complete.

        Blocks that were open are marked as interrupted.
        """
        try:
            events = self.close()
        except NotAResponse:  # nothing was recognised before it broke
            events = self._emitter.drain()
        match events:
            case [*_, TurnEnded(finish=finish)] if finish is not Finish.UNKNOWN:
                return events
            case [*earlier, TurnEnded() | TurnFailed()]:
                return [*map(_interrupted, earlier), end]
        return events if self._emitter.ended else [*events, TurnStarted(self._dialect), end]

    def _close_reader(self, reader: DialectReader) -> None:
        if self._decoder is not None:
            self._emitter.unfinished = self._decoder.unfinished
        self._emitter.whole_body = self._from_json and self._frame_count == 1
        try:
            reader.close()
        except RecursionError:
            self._emitter.fail(
                "bad_frame",
                Wording("{dialect} sent JSON that is nested too deep to send back.", dialect=self._dialect),
            )

    def _feed_decoder(self, data: bytes) -> list[Frame]:
        """Return the frames that these bytes complete; none until the framing is known."""
        if self._decoder is None:
            data = self._detect_framing(data, final=self._closed)
        return [] if self._decoder is None else self._decoder.feed(data)

    def _drop_blank_start(self) -> None:
        """Drop white space before the response as it arrives, except that of raw text, which is its own."""
        if self._dialect == text.NAME:
            return
        size = len(self._head)
        drop_blank_start(self._head)
        self._blank_bytes += size - len(self._head)
        if self._blank_bytes > self._limits.response_bytes:
            raise WireLimitExceeded(
                Wording("The response"), "response_bytes", self._limits.response_bytes, []
            )

    def _detect_framing(self, data: bytes, *, final: bool) -> bytes:
        """Buffer bytes until the framing is known, then create the decoder and return all bytes so far."""
        self._head += data
        if not self._waiting_for_line:
            self._drop_blank_start()
        too_large = len(self._head) > self._limits.event_bytes
        if self._waiting_for_line and b"\n" not in data and not (final or too_large):
            return b""
        head = bytes(self._head)
        framing = sniff_framing(head, final=final)
        body = head.removeprefix(BOM)
        if len(body) - len(body.lstrip()) >= _MAX_SPACE_BEFORE_TOKENS:
            framing = TextDecoder  # only raw text still has its white space here
        if framing is None and too_large:
            framing = JsonDecoder  # which refuses a body of this size and names the limit
        if framing is None or (framing is TextDecoder and not final and self._undecided_text(head)):
            # Only the end of the first line shows whether an object is the whole body (JSON or NDJSON).
            self._waiting_for_line = body.lstrip()[:1] == b"{"
            return b""
        if final and not body.strip():
            return b""
        decoder = self._choose_framing(framing, head)(self._limits)
        self._decoder = MeteredDecoder(decoder, self._limits, read_bytes=self._blank_bytes)
        self._head.clear()
        return head

    def _choose_framing(self, framing: Framing, head: bytes) -> Framing:
        """Return the framing to use with the dialect, and set the dialect if the framing implies it."""
        if self._dialect == text.NAME:
            first_line = read_clues(head.partition(b"\n")[0])
            token_lines = framing is NdjsonDecoder and first_line is not None and first_line.has_token
            return NdjsonDecoder if token_lines else TextDecoder
        if framing is TextDecoder:
            self._line_ends = None
            self._accept_text(head)
        self._from_aws = framing is AwsEventStreamDecoder
        self._from_json = framing in (JsonDecoder, NdjsonDecoder)
        return framing

    def _undecided_text(self, head: bytes) -> bool:
        """Return whether text of unknown dialect may still start with a marker, or is no line to show yet."""
        if self._dialect != AUTO or len(head) >= _SHOWN_BYTES:
            return False
        text = head.decode(errors="ignore")
        return may_become_marker(text) or not (starts_with_marker(text) or b"\n" in head.lstrip())

    def _accept_text(self, head: bytes) -> None:
        """Accept plain text as a response only if it starts with a marker that models write."""
        if self._dialect != AUTO:
            start = head[:64].decode(errors="replace")
            message = Wording(
                "{dialect} is sent as events or as JSON, but this is neither: {start}",
                dialect=self._dialect,
                start=repr(start),
            )
            self._emitter.fail("bad_frame", message)
        elif not starts_with_marker(head.decode(errors="replace")):
            raise NotAResponse(wording=_not_a_response_message(head))
        else:
            self._set_dialect(text.NAME)

    def _decode(self, decode: Callable[..., list[Frame]], *data: bytes | str) -> None:
        try:
            frames = decode(*data)
        except (BrokenFrame, WireLimitExceeded) as fault:
            self._read_frames(fault.frames)
            if self._dialect == AUTO:
                raise NotAResponse(
                    "{message} ({reason})",
                    message=_not_a_response_message(self._first_bytes),
                    reason=reason_of(fault),
                ) from fault
            self._emitter.fail(fault.code, fault.wording)
        else:
            self._frame_count += len(frames)
            self._read_frames(frames)

    def _read_frames(self, frames: list[Frame]) -> None:
        for frame in frames:
            if self._emitter.ended:
                return
            if not frame.data or frame.event == STRAY_LINE:
                self._read_stray_line(frame.data)
                continue
            if not frame.data.isascii() or b"\\u" in frame.data:
                frame = _repaired_frame(frame)
            if self._reader is None:
                self._find_reader(frame)
                continue
            text_frame = self._emitter.text_frame
            if text_frame is not None:
                if text_frame.take(frame.data):  # nearly every frame
                    continue
                text_frame.flush()
            try:
                self._reader.feed(frame)
            except (msgspec.MsgspecError, RecursionError) as error:
                self._read_bad_frame(self._reader, frame, error)
        if self._emitter.text_frame is not None:
            self._emitter.text_frame.flush()

    def _read_stray_line(self, line: bytes) -> None:
        """Read a line of an event stream outside of any field: an object is read as an event all the same.

        Without data it is an event with only a name, which some servers send as a keep-alive.
        """
        if not line:
            return
        self._emitter.odd_fields.add("A line", "a field of an event stream", line)
        field = _OBJECT_LINE.match(line)
        if field and valid_json(field["object"]):
            self._read_frames([Frame(field["object"], "error" if field["name"] == b"error" else "")])

    def _read_bad_frame(self, reader: DialectReader, frame: Frame, error: Exception) -> None:
        """Record a frame that is no object of the dialect, unless it is a keep-alive or a padded `[DONE]`."""
        if frame.data.strip() == DONE != frame.data:
            reader.feed(Frame(DONE))
        elif not keep_alive(frame):
            start = frame.data[:80].decode(errors="replace")
            self._emitter.add_fault(
                "bad_frame",
                Wording(
                    "{dialect} sent a frame that cannot be decoded ({reason}): {start}",
                    dialect=self._dialect,
                    reason=reason_of(error),
                    start=start,
                ),
            )

    def _find_reader(self, frame: Frame) -> None:
        """Create the reader once a frame shows the dialect, and read the frames so far."""
        if self._dialect == AUTO and keep_alive(frame):
            return
        self._undetected_frames.append(frame)
        if self._dialect == AUTO:
            name = bedrock_converse.NAME if self._from_aws and frame.event else detect_dialect(frame)
            if name is None:
                if len(self._undetected_frames) > _MAX_UNRECOGNISED_FRAMES:
                    raise NotAResponse(wording=_not_a_response_message(self._first_bytes))
                return
            self._set_dialect(name)
        self._reader = DIALECTS[self._dialect].make_reader(self._emitter, self._tag_profile)
        if self._from_aws and self._dialect != bedrock_converse.NAME:
            self._reader = InvokeReader(self._emitter, self._reader)
        frames, self._undetected_frames = self._undetected_frames, []
        self._read_frames(frames)

    def _set_dialect(self, name: str) -> None:
        self._dialect = self._emitter.dialect = name

    def _fail_empty(self) -> None:
        if self._dialect == AUTO and self._from_aws:
            self._set_dialect(bedrock_converse.NAME)
        if self._dialect == AUTO:
            raise NotAResponse(wording=_not_a_response_message(self._first_bytes))
        self._emitter.fail_cut_off(Wording("any content"))


class InvokeReader:
    """Reads an AWS event stream of frames in another dialect; a message of AWS itself is an exception."""

    def __init__(self, emitter: TurnEmitter, reader: DialectReader) -> None:
        self._emitter = emitter
        self._reader = reader
        emitter.text_frame = None  # a message of AWS must not be read without a look at its name

    def feed(self, frame: Frame) -> None:
        """Read one unwrapped frame, or fail the turn with the exception."""
        if frame.event:
            self._emitter.fail(frame.event, parse_error(frame.data)[1])
        else:
            self._reader.feed(frame)

    def close(self) -> None:
        """Finish the turn after the last frame."""
        self._reader.close()


def _repaired_frame(frame: Frame) -> Frame:
    """Repair what is not valid text in a frame."""
    plain = frame.event == PLAIN_TEXT
    data = frame.data.decode(errors="replace").encode() if plain else repaired_json(frame.data)
    return frame if data == frame.data else Frame(data, frame.event)


def _interrupted(event: Event) -> Event:
    return msgspec.structs.replace(event, interrupted=True) if isinstance(event, BlockEnded) else event


def _not_a_piece(value: object) -> NotAResponse:
    return NotAResponse(
        "An object of type {kind} is no piece of a response. Pass bytes, text, lines, mappings or objects of "
        "an SDK, one at a time, or pass the whole stream to thinkaloud.follow.",
        kind=type(value).__name__,
    )


def _not_a_response_message(first_bytes: bytes) -> Wording:
    first_line = first_bytes[:_SHOWN_BYTES].decode(errors="replace").strip().partition("\n")[0]
    detail = Wording("it is empty")
    if first_line:
        detail = Wording("it starts with {first_line}", first_line=repr(first_line[:40]))
    return Wording(
        "This is not a model's response in any known format: {detail}. If it is raw model text, "
        'set the dialect to "text".',
        detail=detail,
    )
