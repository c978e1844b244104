"""The error classes. Every message says what failed, why, and what to do.

* ThinkaloudError
  x Refused          the call is invalid: fix the call
    + NotAResponse, BadCatalog, KeyMissing, ThinkingNotOffered, BudgetTooSmall, Unknown...
  x BadOutput        the answer does not have the requested shape: ask again
  x ProviderFault    the provider misbehaved (BadFrame, LimitExceeded): keep the events so far, then retry
* OutOfOrder         an invalid sequence of entries: a bug in the code that wrote them, not caught here
"""

from typing import Any

from thinkaloud.core.canon.template import Wording


class ThinkaloudError(Exception):
    """The base class of the errors that Thinkaloud raises on purpose.

    Its message is a literal template with its fields, so that it can be translated, or a `wording` that was
    made elsewhere.
    """

    def __init__(self, template: str = "", /, *, wording: Wording | None = None, **fields: object) -> None:
        self.wording = wording or Wording(template, **fields)
        super().__init__(str(self.wording))


class Refused(ThinkaloudError):
    """The call is invalid or cannot be carried out."""


class BadOutput(ThinkaloudError):
    """The answer does not have the requested shape. The message says where."""

    turn: Any = None
    """The turn with the answer, if `ask` was to return its value."""


class UnknownDialect(Refused):
    """No dialect has this name."""


class UnknownProfile(Refused):
    """No tag profile has this name."""


class UnknownLocale(Refused):
    """There is no translation for this language."""


class UnknownPreset(Refused):
    """No display preset has this name."""


class BadPosition(Refused):
    """The last id that a reader of a stream sent is none of this stream."""


class NotAResponse(Refused):
    """The bytes are not a model's response in any known format."""


class BadCatalog(Refused):
    """A catalog row, built-in or the user's, that is malformed or inconsistent."""


class UnknownModel(Refused):
    """The catalog has no row for this model, and its name does not include a provider."""


class ThinkingNotOffered(Refused):
    """Thinking was requested from a model that does not offer it."""


class BudgetTooSmall(Refused):
    """The thinking budget is below the model's minimum."""


class KeyMissing(Refused):
    """The provider requires an API key and none was found. `fault` says why a stored one was not used."""

    def __init__(self, template: str = "", /, *, fault: Wording | None = None, **message: Any) -> None:
        super().__init__(template, **message)
        self.fault = fault


class UnsafeAddress(Refused):
    """The request, or its key, must not be sent to this address."""


class ProviderFault(ThinkaloudError):
    """The provider sent data that violates its own format or our limits."""

    code = "provider_fault"
    status = 0
    """The HTTP status of an error response; 0 for all other faults."""
    after_ms: int | None = None
    """How long the provider asks to wait before the next attempt."""


class BadFrame(ProviderFault):
    """A frame that cannot be decoded."""

    code = "bad_frame"


class LimitExceeded(ProviderFault):
    """A line, an event or a body is larger than its limit."""

    code = "limit_exceeded"


class OutOfOrder(Exception):
    """An entry that is invalid after the entries before it.

    Not a `ThinkaloudError`: code that handles those must not hide a bug in the writer of the entries.
    """


_OS_REASONS = {
    reason.template: reason
    for reason in (
        Wording("Connection refused"),
        Wording("Is a directory"),
        Wording("No space left on device"),
        Wording("No such file or directory"),
        Wording("Permission denied"),
    )
}
"""What operating systems say most often."""


def reason_of(error: BaseException) -> Wording:
    """Return why something failed, as a field of the message about it."""
    if isinstance(error, ThinkaloudError):
        return error.wording
    text = (isinstance(error, OSError) and error.strerror) or str(error)
    return _OS_REASONS.get(text) or Wording.plain(text)
