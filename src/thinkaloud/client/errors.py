"""What a provider can do to a request, as errors that say what, why and what to do.

* ProviderFault
  x Unreachable                    no answer at all: no such host, refused, no TLS, nothing in time
  x ProviderRefused + RateLimited  an answer that is no response; like Unreachable, before a turn begins
  x ConnectionLost, Stalled        after the first byte the connection broke or fell silent: the end of a turn
"""

import msgspec

from thinkaloud.canon import LimitExceeded, ProviderFault
from thinkaloud.dialects.payload import has_error, parse_error

MAX_QUOTE_CHARACTERS = 500
"""So many characters of a provider's own words stand in our message."""


class Unreachable(ProviderFault):
    """No answer came; `retryable` when another attempt may fare better."""

    code = "unreachable"
    after_ms: int | None = None

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class ErrorResponse(msgspec.Struct, frozen=True):
    """What a provider said instead of a response."""

    status: int
    code: str = ""
    message: str = ""
    request_id: str = ""
    after_ms: int | None = None
    should_retry: bool | None = None


class ProviderRefused(ProviderFault):
    """The provider answered, and not with a response."""

    def __init__(self, message: str, response: ErrorResponse) -> None:
        super().__init__(message)
        self.status = response.status
        self.code = response.code or "provider_error"
        self.message = response.message
        self.request_id = response.request_id
        self.after_ms = response.after_ms
        self.retryable = may_retry(response)


class RateLimited(ProviderRefused):
    """Too many requests, or too many at once for the provider; waiting helps."""


class ConnectionLost(ProviderFault):
    """The connection broke before the provider had said all."""

    code = "cut_off"


class Stalled(ProviderFault):
    """Nothing came for longer than the idle timeout."""

    code = "stalled"


_RETRYABLE_STATUSES = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
_PERMANENT_CODES = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached"})
_RATE_LIMIT_STATUSES = frozenset({429, 529})


def may_retry(response: ErrorResponse) -> bool:
    """Whether the same request may succeed later; the provider's own word on it counts first."""
    if response.should_retry is not None:
        return response.should_retry
    return response.status in _RETRYABLE_STATUSES and response.code not in _PERMANENT_CODES


def refusal_error(name: str, response: ErrorResponse, key: str = "") -> ProviderRefused:
    """The error for an answer that is no response; `key` is the reference, for those who must check it."""
    error_type = (
        RateLimited if response.status in _RATE_LIMIT_STATUSES and may_retry(response) else ProviderRefused
    )
    status_text = f"HTTP {response.status}" + (f", {response.code}" if response.code else "")
    message = response.message[:MAX_QUOTE_CHARACTERS].strip() or "it did not say why"
    message += "" if message.endswith((".", "!", "?")) else "."
    request_note = f" (request {response.request_id})" if response.request_id else ""
    return error_type(
        f"{name} refused the request ({status_text}): {message} {_remedy(response, key)}{request_note}",
        response,
    )


def _remedy(response: ErrorResponse, key: str) -> str:
    match response.status:
        case 401 | 403:
            return f"Check the key ({key or 'the row names none'}) and what it is allowed to do."
        case 404:
            return "Check the name of the model and the provider's base_url."
        case 407:
            return "The proxy wants a user and a password: put them into the proxy variable."
        case 413:
            return "Send less: shorten the conversation or the pictures."
        case 429 | 529 if may_retry(response):
            wait = "a while" if response.after_ms is None else f"{response.after_ms / 1000:g} s"
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


def limit_exceeded(what: str, limit: int) -> LimitExceeded:
    """The error for more bytes than we are willing to take."""
    return LimitExceeded(f"{what} is over the limit of {limit:,}; raise it in Caps if you trust the sender")


class _ErrorBody(msgspec.Struct):
    """The places where providers put an error."""

    error: msgspec.Raw = msgspec.Raw(b"")
    message: str | None = None
    detail: msgspec.Raw = msgspec.Raw(b"")
    code: str | int | None = None
    type: str | None = None


_decoder = msgspec.json.Decoder(_ErrorBody)
_list_decoder = msgspec.json.Decoder(list[_ErrorBody])


def read_error_body(data: bytes) -> tuple[str, str]:
    """Code and message of an error body, whatever its shape; its text where it is not JSON."""
    try:
        body = (
            _decoder.decode(data)
            if data.lstrip()[:1] != b"["
            else (_list_decoder.decode(data) or [_ErrorBody()])[0]
        )
    except msgspec.MsgspecError:
        return "", " ".join(data.decode(errors="replace").split())[:MAX_QUOTE_CHARACTERS]
    for field in (body.error, body.detail):
        if has_error(field):
            code, message = parse_error(field)
            return "" if code == "provider_error" else code, message
    code_text = body.code if isinstance(body.code, str) else None
    return code_text or body.type or "", body.message or ""
