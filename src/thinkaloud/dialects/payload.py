"""Errors that providers send as data: one shape out of the many they use.

An error may be an object with a message, a bare string, or a code beside it, and it may come inside a
stream that began with HTTP 200.

Token counts as providers report them: some leave out what others include.
"""

import msgspec


class ErrorObject(msgspec.Struct):
    """An error object, as far as providers agree on one."""

    type: str | None = None
    code: str | int | None = None
    status: str | None = None
    message: str | None = None


_error_decoder = msgspec.json.Decoder(ErrorObject)
_string_decoder = msgspec.json.Decoder(str)


def has_error(raw: msgspec.Raw | bytes) -> bool:
    """Whether an `error` field says that there is one."""
    return bytes(raw) not in (b"", b"null", b"{}", b'""', b"false")


def parse_error(raw: msgspec.Raw | bytes) -> tuple[str, str]:
    """The code and the message of an error, whatever its shape; the raw JSON where there is no message."""
    try:
        error = _error_decoder.decode(raw)
    except msgspec.MsgspecError:
        try:
            return "provider_error", _string_decoder.decode(raw)
        except msgspec.MsgspecError:
            return "provider_error", bytes(raw).decode(errors="replace")
    code_name = error.code if isinstance(error.code, str) else None
    code = error.status or code_name or error.type or error.code or "provider_error"
    return str(code), error.message or bytes(raw).decode(errors="replace")


def add_counts(count: int | None, *others: int | None) -> int | None:
    """A sum of counts, unknown when the first is; the others may be missing."""
    if count is None:
        return None
    for other in others:
        count += other or 0
    return count
