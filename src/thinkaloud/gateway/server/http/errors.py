"""HTTP errors: each has a status, a code for programs, and a message for people.

Handlers raise, and `error_response` turns the exception into `{"error": {"code": ..., "message": ...}}`.
Clients branch on the codes, so they never change, even when a class is renamed. A missing resource and a
resource of another user get the same 404. An internal error shows no details, only an id that is in the
log.
"""

import logging
import secrets
from typing import Any, ClassVar

import msgspec

from thinkaloud.core.canon import ProviderFault, Refused, Wording
from thinkaloud.core.canon.errors import (
    BadCatalog,
    BadPosition,
    BudgetTooSmall,
    KeyMissing,
    NotAResponse,
    ThinkingNotOffered,
    UnknownDialect,
    UnknownLocale,
    UnknownModel,
    UnknownPreset,
    UnknownProfile,
    UnsafeAddress,
)
from thinkaloud.gateway.store.engine.database import DatabaseInUse, NotSaved
from thinkaloud.gateway.store.queries.agents import NotAgentOwner
from thinkaloud.gateway.store.queries.sessions import SessionGone, TurnRunning
from thinkaloud.gateway.store.queries.turns import IdempotencyConflict
from thinkaloud.importers.json_items import DamagedFile, UnknownFormat

logger = logging.getLogger(__name__)

ResponseHeaders = tuple[tuple[str, str], ...]

REFUSAL_CODES: dict[type[Refused], tuple[int, str]] = {
    Refused: (422, "refused"),
    BadCatalog: (422, "bad_catalog"),
    BadPosition: (400, "bad_request"),
    BudgetTooSmall: (422, "budget_too_small"),
    DamagedFile: (422, "damaged_file"),
    DatabaseInUse: (422, "in_use"),
    IdempotencyConflict: (409, "idempotency_conflict"),
    KeyMissing: (422, "key_missing"),
    NotAResponse: (422, "not_a_response"),
    NotAgentOwner: (404, "not_found"),
    SessionGone: (404, "not_found"),
    ThinkingNotOffered: (422, "thinking_not_offered"),
    TurnRunning: (409, "turn_running"),
    UnknownDialect: (422, "unknown_dialect"),
    UnknownFormat: (422, "unknown_format"),
    UnknownLocale: (422, "unknown_locale"),
    UnknownModel: (422, "unknown_model"),
    UnknownPreset: (422, "unknown_preset"),
    UnknownProfile: (422, "unknown_profile"),
    UnsafeAddress: (422, "unsafe_address"),
}
"""Status and code of each refusal that other packages raise. A subclass has those of its nearest parent."""


class HttpRefusal(Refused):
    """A refusal with its own status, code and response headers."""

    status: ClassVar[int]
    code: ClassVar[str]

    headers: ResponseHeaders = ()


class BadRequest(HttpRefusal):
    """The request is malformed."""

    status, code = 400, "bad_request"


class Unauthorised(HttpRefusal):
    """The request has no valid credentials."""

    status, code = 401, "unauthorised"
    headers = (("WWW-Authenticate", "Bearer"),)


class Forbidden(HttpRefusal):
    """The request comes from a page of another site."""

    status, code = 403, "forbidden"


class NotFound(HttpRefusal):
    """The resource does not exist, or belongs to another user. The response does not say which."""

    status, code = 404, "not_found"

    def __init__(
        self,
        template: str = (
            "Not found: it does not exist, was deleted, or belongs to another user. Check the id."
        ),
        /,
        **message: Any,
    ) -> None:
        super().__init__(template, **message)


class ThreadNotFound(HttpRefusal):
    """The response that a request continues is not held. The client has to send the whole conversation."""

    status, code = 404, "thread_not_found"


class ThreadBusy(HttpRefusal):
    """Another request continues the same conversation at the moment."""

    status, code = 400, "thread_continue_in_flight"


class MethodNotAllowed(HttpRefusal):
    """The path exists, but not with this method."""

    status, code = 405, "method_not_allowed"

    def __init__(self, method: str, allowed: str) -> None:
        super().__init__(
            "{method} is not allowed for this path. Use one of: {allowed}.",
            method=method[:20],
            allowed=allowed,
        )
        self.headers = (("Allow", allowed),)


class RequestTimeout(HttpRefusal):
    """The headers or the body did not arrive in time."""

    status, code = 408, "too_slow"
    headers = (("Connection", "close"),)


class Conflict(HttpRefusal):
    """The request conflicts with the present state of the resource."""

    status, code = 409, "conflict"


class PayloadTooLarge(HttpRefusal):
    """The body is larger than the limit."""

    status, code = 413, "too_large"


class UnsupportedMediaType(HttpRefusal):
    """The route does not accept bodies of this type."""

    status, code = 415, "unsupported_media_type"


class MisdirectedRequest(HttpRefusal):
    """The Host header names a host that the gateway does not serve."""

    status, code = 421, "misdirected"


class Unprocessable(HttpRefusal):
    """The request is well-formed and cannot be carried out."""

    status, code = 422, "unprocessable"


class TooManyRequests(HttpRefusal):
    """The caller has reached a limit on simultaneous use."""

    status, code = 429, "too_many"


class HeadersTooLarge(HttpRefusal):
    """The headers are larger than the limit."""

    status, code = 431, "headers_too_large"


class ServiceUnavailable(HttpRefusal):
    """The gateway is starting, stopping, or cannot save anything."""

    status, code = 503, "unavailable"
    headers = (("Retry-After", "1"),)


class ErrorDetail(msgspec.Struct, frozen=True, omit_defaults=True):
    """A code for programs, and a message that says what happened, why, and what to do."""

    code: str
    message: str
    id: str = ""
    """The id of an internal error in the log."""
    wording: Wording | None = None
    """The message as a template with fields, for translation; None if the message has no fields."""

    @classmethod
    def of(cls, code: str, message: Wording, id: str = "") -> "ErrorDetail":
        """Return the detail with a message of ours."""
        return cls(code, str(message), id, message.needed)


class ErrorBody(msgspec.Struct, frozen=True):
    """The body of every error response."""

    error: ErrorDetail


class HttpErrorResponse(msgspec.Struct, frozen=True):
    """A complete error response."""

    status: int
    detail: ErrorDetail
    headers: ResponseHeaders = ()
    client_body: bytes = b""
    """The body in the format of the client of a compatible endpoint."""

    @property
    def body(self) -> bytes:
        """The body as JSON."""
        return self.client_body or _encode_json(ErrorBody(self.detail))


_encode_json = msgspec.json.Encoder().encode


def error_response(error: Exception) -> HttpErrorResponse:
    """Return the response for an exception. An unexpected exception is logged here, and only here."""
    match error:
        case HttpRefusal():
            return HttpErrorResponse(error.status, ErrorDetail.of(error.code, error.wording), error.headers)
        case NotSaved():
            message = Wording(
                "{reason} Nothing was changed. Try again when it accepts writes.", reason=error.wording
            )
            detail = ErrorDetail.of("not_saved", message)
            return HttpErrorResponse(503, detail, (("Retry-After", "1"),))
        case SessionGone() | NotAgentOwner():
            # The generic message: the one of the exception would confirm that the resource exists.
            return error_response(NotFound())
        case Refused():
            status, code = next(REFUSAL_CODES[cls] for cls in type(error).__mro__ if cls in REFUSAL_CODES)
            return HttpErrorResponse(status, ErrorDetail.of(code, error.wording))
        case ProviderFault():
            return HttpErrorResponse(502, ErrorDetail.of(error.code, error.wording))
    return _unexpected_error(error)


def _unexpected_error(error: Exception) -> HttpErrorResponse:
    error_id = secrets.token_hex(6)
    logger.error("unexpected error %s", error_id, exc_info=error, extra={"error_id": error_id})
    message = Wording(
        "Internal error of the gateway; the request may not have been carried out. Look for {id} in the "
        "gateway's log.",
        id=error_id,
    )
    return HttpErrorResponse(500, ErrorDetail.of("internal", message, error_id))
