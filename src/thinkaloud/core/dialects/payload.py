"""Parses the parts of a payload that providers share: error objects and token counts.

An error may be an object with a message and a code or a bare string, and it may arrive in a stream that
started with HTTP 200. A frame that a dialect does not know is an error if it says so, and else gives a
notice, so that nothing is skipped silently. Some providers leave out of a count what others include in it.
"""

from collections.abc import Callable

import msgspec

from thinkaloud.core.canon import Wording
from thinkaloud.core.dialects.emitter import TurnEmitter
from thinkaloud.core.dialects.lenient import LenientDecoder, OddFields, Text
from thinkaloud.core.wire import Frame


class ErrorMetadata(msgspec.Struct):
    """What OpenRouter adds to an error: the provider behind it, and the error of that one."""

    raw: Text | None = None
    provider_name: Text | None = None


class ErrorObject(msgspec.Struct):
    """The fields of an error object that providers have in common."""

    type: str | None = None
    code: str | int | None = None
    status: str | None = None
    message: Text | None = None
    metadata: ErrorMetadata | None = None


_error_decoder = LenientDecoder(ErrorObject)
_fields_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_STATUS_DIGITS = 3
_KEEP_ALIVES = ("ping", "heartbeat", "keepalive", "keep-alive", "keep_alive")
_string_decoder = msgspec.json.Decoder(str)


def has_error(raw: msgspec.Raw | bytes) -> bool:
    """Return whether an `error` field contains an error.

    It does if it is an object, a list or a string that is not empty, or a number as high as a HTTP status.
    """
    value = bytes(raw)
    if value[:1] in (b"{", b"[", b'"'):
        return value not in (b"{}", b"[]", b'""')
    return value.isdigit() and len(value) == _STATUS_DIGITS


def parse_error(raw: msgspec.Raw | bytes) -> tuple[str, Wording]:
    """Return the code and the message of an error of any shape; without a message, its raw JSON."""
    try:
        error = _error_decoder.decode(raw, OddFields())
    except msgspec.MsgspecError:
        try:
            return "provider_error", Wording.plain(_string_decoder.decode(raw))
        except msgspec.MsgspecError:
            return "provider_error", Wording.plain(bytes(raw).decode(errors="replace"))
    code_name = error.code if isinstance(error.code, str) else None
    code = error.status or code_name or error.type or error.code or "provider_error"
    message = error.message or bytes(raw).decode(errors="replace")
    cause = error.message and error.metadata and error.metadata.raw
    if cause:
        message = f"{message}: {cause}"
    if error.metadata and error.metadata.provider_name:
        message = f"{message.strip()} (from {error.metadata.provider_name})"
    return str(code), Wording.plain(message)


def keep_alive(frame: Frame) -> bool:
    """Return whether a frame says nothing at all and only keeps the connection open."""
    data = frame.data.strip()
    if frame.event in _KEEP_ALIVES or (not frame.event and data in (b"null", b"{}", b"ping")):
        return True
    try:
        return len(data) < 100 and _error_decoder.decode(data, OddFields()).type in _KEEP_ALIVES
    except (msgspec.MsgspecError, RecursionError):
        return False


def find_error(frame: Frame) -> tuple[str, Wording] | None:
    """Return the code and message of a frame that calls itself an error; None for any other frame."""
    try:
        fields = _fields_decoder.decode(frame.data)
    except msgspec.MsgspecError:
        return parse_error(frame.data) if frame.event == "error" else None
    error = fields.get("error", msgspec.Raw())
    if has_error(error):
        return parse_error(error)
    exception = next((name for name in fields if name.endswith("Exception")), "")
    if exception:
        return exception, parse_error(fields[exception])[1]
    is_error = frame.event == "error" or bytes(fields.get("type", b"")) == b'"error"'
    return parse_error(frame.data) if is_error else None


def read_unknown_frame(
    emitter: TurnEmitter, frame: Frame, close_text: Callable[[], None] | None = None
) -> None:
    """Fail the turn if the frame is an error; else give a notice, unless it only keeps the line open.

    `close_text` emits the text that was held back, before the turn fails.
    """
    error = find_error(frame)
    if error is not None:
        if close_text is not None:
            close_text()
        emitter.fail(*error)
    elif not keep_alive(frame):
        emitter.odd_fields.add("A frame", f"part of a response in {emitter.dialect}", frame.data)


def add_counts(count: int | None, *others: int | None) -> int | None:
    """Return the sum of counts; None if the first is unknown, while missing others count as zero."""
    if count is None:
        return None
    for other in others:
        count += other or 0
    return count
