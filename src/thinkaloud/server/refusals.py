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
from thinkaloud.store.agents import NotYours
from thinkaloud.store.database import NotSaved
from thinkaloud.store.sessions import SessionGone, TurnRunning
from thinkaloud.store.turns import IdempotencyConflict

logger = logging.getLogger(__name__)

Headers = tuple[tuple[str, str], ...]


class Denied(Refused):
    """Refused with a status of its own; `headers` go out with it."""

    status: ClassVar[int]
    code: ClassVar[str]

    def __init__(self, message: str, *, headers: Headers = ()) -> None:
        super().__init__(message)
        self.headers = headers


class BadRequest(Denied):
    """It cannot be understood."""

    status, code = 400, "bad_request"


class Unauthorised(Denied):
    """Nobody the gateway knows."""

    status, code = 401, "unauthorised"

    def __init__(self, message: str) -> None:
        super().__init__(message, headers=(("WWW-Authenticate", "Bearer"),))


class Forbidden(Denied):
    """It comes from a page of another site."""

    status, code = 403, "forbidden"


class NotFound(Denied):
    """Missing or somebody else's; nobody can tell which."""

    status, code = 404, "not_found"

    def __init__(
        self, message: str = "There is nothing here for you: it never was, is gone, or is not yours."
    ) -> None:
        super().__init__(message)


class WrongMethod(Denied):
    """The path is right and the method is not."""

    status, code = 405, "method_not_allowed"

    def __init__(self, method: str, allowed: str) -> None:
        super().__init__(
            f"{method[:20]} is not offered here. Use one of: {allowed}.", headers=(("Allow", allowed),)
        )


class TooSlow(Denied):
    """A body that does not come to its end."""

    status, code = 408, "too_slow"

    def __init__(self, message: str) -> None:
        super().__init__(message, headers=(("Connection", "close"),))


class Conflict(Denied):
    """It cannot be done while things stand as they do."""

    status, code = 409, "conflict"


class TooLarge(Denied):
    """A body beyond the limit."""

    status, code = 413, "too_large"


class WrongType(Denied):
    """A body of a kind that the route does not read."""

    status, code = 415, "unsupported_media_type"


class Misdirected(Denied):
    """Asked for under a name that is not ours."""

    status, code = 421, "misdirected"


class Unprocessable(Denied):
    """Understood, and not possible."""

    status, code = 422, "unprocessable"


class TooMany(Denied):
    """More at once than one may have."""

    status, code = 429, "too_many"


class HeadersTooLarge(Denied):
    """Headers beyond the limit."""

    status, code = 431, "headers_too_large"


class Unavailable(Denied):
    """Not now: starting, stopping, or nothing can be saved."""

    status, code = 503, "unavailable"

    def __init__(self, message: str) -> None:
        super().__init__(message, headers=(("Retry-After", "1"),))


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """What went wrong: one word to branch on, and what, why and what to do for people."""

    code: str
    message: str
    id: str = ""
    """Of an error of our own, to be found in the log."""


class ErrorBody(msgspec.Struct, frozen=True):
    """The body of every answer that is not what was asked for."""

    error: Problem


class Answer(msgspec.Struct, frozen=True):
    """A refusal, ready to be sent."""

    status: int
    problem: Problem
    headers: Headers = ()

    @property
    def body(self) -> bytes:
        """As JSON."""
        return _encode(ErrorBody(self.problem))


_encode = msgspec.json.Encoder().encode


def answer_to(error: Exception) -> Answer:
    """The answer that an exception stands for; one that nobody meant is logged here, once."""
    match error:
        case Denied():
            return Answer(error.status, Problem(error.code, str(error)), error.headers)
        case NotSaved():
            problem = Problem("not_saved", f"{error} Nothing was changed; try again once it can be saved.")
            return Answer(503, problem, (("Retry-After", "1"),))
        case SessionGone() | NotYours():
            return answer_to(NotFound())
        case Refused():
            status = 409 if isinstance(error, TurnRunning | IdempotencyConflict) else 422
            return Answer(status, Problem(_snake(type(error).__name__), str(error)))
        case ProviderFault():
            return Answer(502, Problem(error.code, str(error)))
    return _unexpected(error)


def _unexpected(error: Exception) -> Answer:
    number = secrets.token_hex(6)
    logger.error("unexpected error %s", number, exc_info=error, extra={"error_id": number})
    message = (
        f"The gateway made a mistake, and what you asked for may not have been done. "
        f"Its log says more at {number}."
    )
    return Answer(500, Problem("internal", message, number))


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
