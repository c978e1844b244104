"""Our errors, each with a message that says what, why and what to do.

* ThinkaloudError
  x Refused          the caller asked for something that cannot be: fix the call
    + NotAResponse, BadCatalog, KeyMissing, ThinkingNotOffered, BudgetTooSmall, and Unknown... with what
  x ProviderFault    the other side misbehaved: keep what was said, then retry or report
    + BadFrame, LimitExceeded
* OutOfOrder         entries that tell no story; a bug in whoever wrote them, never caught here
"""


class ThinkaloudError(Exception):
    """The root of everything Thinkaloud raises on purpose."""


class Refused(ThinkaloudError):
    """The call cannot be carried out as it stands."""


class UnknownDialect(Refused):
    """No dialect has that name."""


class UnknownProfile(Refused):
    """No tag profile has that name."""


class UnknownLocale(Refused):
    """No table of words for that language."""


class UnknownPreset(Refused):
    """No display preset has that name."""


class NotAResponse(Refused):
    """The bytes are not a model's response in any form we know."""


class BadCatalog(Refused):
    """A row of the catalog, ours or the user's, that cannot be read or does not hold together."""


class UnknownModel(Refused):
    """No row, and no provider in the name, says where this model is."""


class ThinkingNotOffered(Refused):
    """Thinking was asked for where there is none to be had."""


class BudgetTooSmall(Refused):
    """Fewer tokens for thinking than the model takes."""


class KeyMissing(Refused):
    """The provider of the route wants a key, and there is none."""


class ProviderFault(ThinkaloudError):
    """The provider sent something that breaks its own format or our limits."""

    code = "provider_fault"


class BadFrame(ProviderFault):
    """A frame that cannot be read."""

    code = "bad_frame"


class LimitExceeded(ProviderFault):
    """A line, an event or a body larger than the named limit."""

    code = "limit_exceeded"


class OutOfOrder(Exception):
    """An entry that cannot follow the ones before it."""
