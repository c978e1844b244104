"""What a provider can do to a request, as errors that say what, why and what to do.

* ProviderFault
  x Unreachable                    no answer at all: no such host, refused, no TLS, nothing in time
  x ProviderRefused + RateLimited  an answer that is no response; like Unreachable, before a turn begins
  x ConnectionLost, Stalled        after the first byte the connection broke or fell silent: the end of a turn
"""

import msgspec

from thinkaloud.canon import LimitExceeded, ProviderFault
from thinkaloud.dialects.faults import is_error, read_error

LONGEST_QUOTE = 500
"""So many characters of a provider's own words stand in our message."""


class Unreachable(ProviderFault):
    """No answer came; `retryable` when another attempt may fare better."""

    code = "unreachable"
    after_ms: int | None = None

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class Answer(msgspec.Struct, frozen=True):
    """What a provider said instead of a response."""

    status: int
    code: str = ""
    message: str = ""
    request_id: str = ""
    after_ms: int | None = None
    should_retry: bool | None = None


class ProviderRefused(ProviderFault):
    """The provider answered, and not with a response."""

    def __init__(self, words: str, answer: Answer) -> None:
        super().__init__(words)
        self.status = answer.status
        self.code = answer.code or "provider_error"
        self.message = answer.message
        self.request_id = answer.request_id
        self.after_ms = answer.after_ms
        self.retryable = may_retry(answer)


class RateLimited(ProviderRefused):
    """Too many requests, or too many at once for the provider; waiting helps."""


class ConnectionLost(ProviderFault):
    """The connection broke before the provider had said all."""

    code = "cut_off"


class Stalled(ProviderFault):
    """Nothing came for longer than the idle timeout."""

    code = "stalled"


_WORTH_ANOTHER_TRY = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
_WAITING_IS_NO_CURE = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached"})
_RATE_LIMITS = frozenset({429, 529})


def may_retry(answer: Answer) -> bool:
    """Whether the same request may succeed later; the provider's own word on it counts first."""
    if answer.should_retry is not None:
        return answer.should_retry
    return answer.status in _WORTH_ANOTHER_TRY and answer.code not in _WAITING_IS_NO_CURE


def refused(name: str, answer: Answer, key: str = "") -> ProviderRefused:
    """The error for an answer that is no response; `key` is the reference, for those who must check it."""
    kind = RateLimited if answer.status in _RATE_LIMITS and may_retry(answer) else ProviderRefused
    told = f"HTTP {answer.status}" + (f", {answer.code}" if answer.code else "")
    said = answer.message[:LONGEST_QUOTE].strip() or "it did not say why"
    said += "" if said.endswith((".", "!", "?")) else "."
    id_ = f" (request {answer.request_id})" if answer.request_id else ""
    return kind(f"{name} refused the request ({told}): {said} {_remedy(answer, key)}{id_}", answer)


def _remedy(answer: Answer, key: str) -> str:
    match answer.status:
        case 401 | 403:
            return f"Check the key ({key or 'the row names none'}) and what it is allowed to do."
        case 404:
            return "Check the name of the model and the provider's base_url."
        case 407:
            return "The proxy wants a user and a password: put them into the proxy variable."
        case 413:
            return "Send less: shorten the conversation or the pictures."
        case 429 | 529 if may_retry(answer):
            wait = "a while" if answer.after_ms is None else f"{answer.after_ms / 1000:g} s"
            return f"Wait {wait}, then ask again."
        case 429:
            return "Waiting will not help: check plan and billing at the provider."
        case status if 200 <= status < 300:
            return "That is no model's answer. Check base_url, and whether a login page stands between."
        case status if 300 <= status < 400:
            return "Redirects are not followed, because a key stays with its address. Correct base_url."
        case status if status >= 500:
            return "The fault is the provider's: ask again later, or choose another provider."
    return "Change what it names, then ask again."


def too_large(what: str, most: int) -> LimitExceeded:
    """The error for more bytes than we are willing to take."""
    return LimitExceeded(f"{what} is over the limit of {most:,}; raise it in Caps if you trust the sender")


class _Body(msgspec.Struct):
    """The places where providers put an error."""

    error: msgspec.Raw = msgspec.Raw(b"")
    message: str | None = None
    detail: msgspec.Raw = msgspec.Raw(b"")
    code: str | int | None = None
    type: str | None = None


_body = msgspec.json.Decoder(_Body)
_bodies = msgspec.json.Decoder(list[_Body])


def read_problem(data: bytes) -> tuple[str, str]:
    """Code and message of an error body, whatever its shape; its text where it is not JSON."""
    try:
        body = _body.decode(data) if data.lstrip()[:1] != b"[" else (_bodies.decode(data) or [_Body()])[0]
    except msgspec.MsgspecError:
        return "", " ".join(data.decode(errors="replace").split())[:LONGEST_QUOTE]
    for field in (body.error, body.detail):
        if is_error(field):
            code, message = read_error(field)
            return "" if code == "provider_error" else code, message
    named = body.code if isinstance(body.code, str) else None
    return named or body.type or "", body.message or ""
