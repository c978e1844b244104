"""Errors that providers send as data: one shape out of the many they use.

An error may be an object with a message, a bare string, or a code beside it, and it may come inside a
stream that began with HTTP 200.
"""

import msgspec


class Problem(msgspec.Struct):
    """An error object, as far as providers agree on one."""

    type: str | None = None
    code: str | int | None = None
    status: str | None = None
    message: str | None = None


_problem = msgspec.json.Decoder(Problem)
_text = msgspec.json.Decoder(str)


def is_error(raw: msgspec.Raw | bytes) -> bool:
    """Whether an `error` field says that there is one."""
    return bytes(raw) not in (b"", b"null", b"{}", b'""', b"false")


def read_error(raw: msgspec.Raw | bytes) -> tuple[str, str]:
    """The code and the message of an error, whatever its shape; the raw JSON where there is no message."""
    try:
        problem = _problem.decode(raw)
    except msgspec.MsgspecError:
        try:
            return "provider_error", _text.decode(raw)
        except msgspec.MsgspecError:
            return "provider_error", bytes(raw).decode(errors="replace")
    named = problem.code if isinstance(problem.code, str) else None
    code = problem.status or named or problem.type or problem.code or "provider_error"
    return str(code), problem.message or bytes(raw).decode(errors="replace")
