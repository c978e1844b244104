"""What the gateway answers when it does not do what was asked: a status, a code to branch on, and words.

Handlers raise; one function here turns whatever was raised into the answer. The body is always
`{"error": {"code": ..., "message": ...}}`. What is missing and what belongs to somebody else get the same
answer, and an error of our own shows nothing of the inside: an id leads to the log.
"""

import logging
import re
import secrets
from typing import ClassVar

import msgspec

from thinkaloud.canon import ProviderFault, Refused
from thinkaloud.store.agents import NotAgentOwner
from thinkaloud.store.database import NotSaved
from thinkaloud.store.sessions import SessionGone, TurnRunning
from thinkaloud.store.turns import IdempotencyConflict

logger = logging.getLogger(__name__)

ResponseHeaders = tuple[tuple[str, str], ...]


class HttpRefusal(Refused):
    """Refused with a status of its own; `headers` go out with it."""

    status: ClassVar[int]
    code: ClassVar[str]

    def __init__(self, message: str, *, headers: ResponseHeaders = ()) -> None:
        super().__init__(message)
        self.headers = headers


class BadRequest(HttpRefusal):
    """It cannot be understood."""

    status, code = 400, "bad_request"


class Unauthorised(HttpRefusal):
    """Nobody the gateway knows."""

    status, code = 401, "unauthorised"

    def __init__(self, message: str) -> None:
        super().__init__(message, headers=(("WWW-Authenticate", "Bearer"),))


class Forbidden(HttpRefusal):
    """It comes from a page of another site."""

    status, code = 403, "forbidden"


class NotFound(HttpRefusal):
    """Missing or somebody else's; nobody can tell which."""

    status, code = 404, "not_found"

    def __init__(
        self, message: str = "There is nothing here for you: it never was, is gone, or is not yours."
    ) -> None:
        super().__init__(message)


class MethodNotAllowed(HttpRefusal):
    """The path is right and the method is not."""

    status, code = 405, "method_not_allowed"

    def __init__(self, method: str, allowed: str) -> None:
        super().__init__(
            f"{method[:20]} is not offered here. Use one of: {allowed}.", headers=(("Allow", allowed),)
        )


class RequestTimeout(HttpRefusal):
    """A body that does not come to its end."""

    status, code = 408, "too_slow"

    def __init__(self, message: str) -> None:
        super().__init__(message, headers=(("Connection", "close"),))


class Conflict(HttpRefusal):
    """It cannot be done while things stand as they do."""

    status, code = 409, "conflict"


class PayloadTooLarge(HttpRefusal):
    """A body beyond the limit."""

    status, code = 413, "too_large"


class UnsupportedMediaType(HttpRefusal):
    """A body of a kind that the route does not read."""

    status, code = 415, "unsupported_media_type"


class MisdirectedRequest(HttpRefusal):
    """Asked for under a name that is not ours."""

    status, code = 421, "misdirected"


class Unprocessable(HttpRefusal):
    """Understood, and not possible."""

    status, code = 422, "unprocessable"


class TooManyRequests(HttpRefusal):
    """More at once than one may have."""

    status, code = 429, "too_many"


class HeadersTooLarge(HttpRefusal):
    """Headers beyond the limit."""

    status, code = 431, "headers_too_large"


class ServiceUnavailable(HttpRefusal):
    """Not now: starting, stopping, or nothing can be saved."""

    status, code = 503, "unavailable"

    def __init__(self, message: str) -> None:
        super().__init__(message, headers=(("Retry-After", "1"),))


class ErrorDetail(msgspec.Struct, frozen=True, omit_defaults=True):
    """What went wrong: one word to branch on, and what, why and what to do for people."""

    code: str
    message: str
    id: str = ""
    """Of an error of our own, to be found in the log."""


class ErrorBody(msgspec.Struct, frozen=True):
    """The body of every answer that is not what was asked for."""

    error: ErrorDetail


class HttpErrorResponse(msgspec.Struct, frozen=True):
    """A refusal, ready to be sent."""

    status: int
    detail: ErrorDetail
    headers: ResponseHeaders = ()

    @property
    def body(self) -> bytes:
        """As JSON."""
        return _encode_json(ErrorBody(self.detail))


_encode_json = msgspec.json.Encoder().encode


def error_response(error: Exception) -> HttpErrorResponse:
    """The answer that an exception stands for; one that nobody meant is logged here, once."""
    match error:
        case HttpRefusal():
            return HttpErrorResponse(error.status, ErrorDetail(error.code, str(error)), error.headers)
        case NotSaved():
            detail = ErrorDetail("not_saved", f"{error} Nothing was changed; try again once it can be saved.")
            return HttpErrorResponse(503, detail, (("Retry-After", "1"),))
        case SessionGone() | NotAgentOwner():
            return error_response(NotFound())
        case Refused():
            status = 409 if isinstance(error, TurnRunning | IdempotencyConflict) else 422
            return HttpErrorResponse(status, ErrorDetail(_snake_case(type(error).__name__), str(error)))
        case ProviderFault():
            return HttpErrorResponse(502, ErrorDetail(error.code, str(error)))
    return _unexpected_error(error)


def _unexpected_error(error: Exception) -> HttpErrorResponse:
    error_id = secrets.token_hex(6)
    logger.error("unexpected error %s", error_id, exc_info=error, extra={"error_id": error_id})
    message = (
        f"The gateway made a mistake, and what you asked for may not have been done. "
        f"Its log says more at {error_id}."
    )
    return HttpErrorResponse(500, ErrorDetail("internal", message, error_id))


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
