"""Parses the parts of a payload that providers share: error objects and token counts.

An error may be an object with a message and a code or a bare string, and it may arrive in a stream that
started with HTTP 200. Some providers leave out of a count what others include in it.
"""

import msgspec

from thinkaloud.dialects.lenient import LenientDecoder, OddFields, Text


class ErrorMetadata(msgspec.Struct):
    """What OpenRouter adds to an error: `raw` is the error of the provider behind it."""

    raw: Text | None = None


class ErrorObject(msgspec.Struct):
    """The fields of an error object that providers have in common."""

    type: str | None = None
    code: str | int | None = None
    status: str | None = None
    message: Text | None = None
    metadata: ErrorMetadata | None = None


_error_decoder = LenientDecoder(ErrorObject)
_string_decoder = msgspec.json.Decoder(str)


def has_error(raw: msgspec.Raw | bytes) -> bool:
    """Return whether an `error` field contains an error: an object, a list or a string that is not empty."""
    return bytes(raw)[:1] in (b"{", b"[", b'"') and bytes(raw) not in (b"{}", b"[]", b'""')


def parse_error(raw: msgspec.Raw | bytes) -> tuple[str, str]:
    """Return the code and the message of an error of any shape; without a message, its raw JSON."""
    try:
        error = _error_decoder.decode(raw, OddFields())
    except msgspec.MsgspecError:
        try:
            return "provider_error", _string_decoder.decode(raw)
        except msgspec.MsgspecError:
            return "provider_error", bytes(raw).decode(errors="replace")
    code_name = error.code if isinstance(error.code, str) else None
    code = error.status or code_name or error.type or error.code or "provider_error"
    message = error.message or bytes(raw).decode(errors="replace")
    cause = error.message and error.metadata and error.metadata.raw
    return str(code), f"{message}: {cause}" if cause else message


def add_counts(count: int | None, *others: int | None) -> int | None:
    """Return the sum of counts; None if the first is unknown, while missing others count as zero."""
    if count is None:
        return None
    for other in others:
        count += other or 0
    return count
