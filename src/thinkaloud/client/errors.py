"""Errors of a request to a provider. Every message says what happened, why, and what to do.

* ProviderFault
  x Unreachable                    no response: unknown host, connection refused, TLS failure, timeout
  x ProviderRefused + RateLimited  an error response; like Unreachable, raised before a turn begins
  x ConnectionLost, Stalled        after the first byte: the connection broke or fell silent; ends the turn
"""

import os
import socket
import ssl

import msgspec

from thinkaloud.client.retry import Timeouts
from thinkaloud.core.canon import LimitExceeded, ProviderFault
from thinkaloud.core.dialects.payload import has_error, parse_error

MAX_QUOTE_CHARACTERS = 500
"""The largest part of a provider's own message that is quoted in ours."""


class Unreachable(ProviderFault):
    """No response arrived. `retryable` says whether another attempt may succeed."""

    code = "unreachable"

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class ErrorResponse(msgspec.Struct, frozen=True):
    """The error response of a provider."""

    status: int
    code: str = ""
    message: str = ""
    request_id: str = ""
    after_ms: int | None = None
    should_retry: bool | None = None


class ProviderRefused(ProviderFault):
    """The provider answered with an error."""

    def __init__(self, message: str, response: ErrorResponse) -> None:
        super().__init__(message)
        self.status = response.status
        self.code = response.code or "provider_error"
        self.message = response.message
        self.request_id = response.request_id
        self.after_ms = response.after_ms
        self.retryable = may_retry(response)


class RateLimited(ProviderRefused):
    """Too many requests, or an overloaded provider; waiting helps."""


class ConnectionLost(ProviderFault):
    """The connection broke before the response was complete."""

    code = "cut_off"


class Stalled(ProviderFault):
    """Nothing arrived for longer than the idle timeout."""

    code = "stalled"


_RETRYABLE_STATUSES = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
_PERMANENT_CODES = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached"})
_RATE_LIMIT_STATUSES = frozenset({429, 529})


def may_retry(response: ErrorResponse) -> bool:
    """Return whether the same request may succeed later. A provider's `x-should-retry` decides first."""
    if response.should_retry is not None:
        return response.should_retry
    return response.status in _RETRYABLE_STATUSES and response.code not in _PERMANENT_CODES


def refusal_error(name: str, response: ErrorResponse, key: str = "") -> ProviderRefused:
    """Build the error for an error response. `key` is the reference of the key that was sent."""
    error_type = (
        RateLimited if response.status in _RATE_LIMIT_STATUSES and may_retry(response) else ProviderRefused
    )
    status_text = f"HTTP {response.status}" + (f", {response.code}" if response.code else "")
    message = response.message[:MAX_QUOTE_CHARACTERS].strip() or "no reason given"
    message += "" if message.endswith((".", "!", "?")) else "."
    request_note = f" (request {response.request_id})" if response.request_id else ""
    return error_type(
        f"{name} refused the request ({status_text}): {message} {_remedy(response, key)}{request_note}",
        response,
    )


_NO_SUCH_MODEL_STATUSES = frozenset({400, 404, 410})


def with_advice(error: ProviderRefused, advice: str) -> ProviderRefused:
    """Add what is known about the model to an error that may come from it."""
    if advice and error.status in _NO_SUCH_MODEL_STATUSES:
        error.args = (f"{error} {advice}",)
    return error


def _remedy(response: ErrorResponse, key: str) -> str:
    match response.status:
        case 401 | 403:
            return f"Check the key ({key or 'the provider row has none'}) and its permissions."
        case 404:
            return "Check the model name and the provider's base_url."
        case 407:
            return "The proxy requires a user and a password: add them to the URL in the proxy variable."
        case 413:
            return "The request is too large: shorten the conversation or use smaller images."
        case 429 | 529 if may_retry(response):
            wait = "a while" if response.after_ms is None else f"{response.after_ms / 1000:g} s"
            return f"Wait {wait}, then retry."
        case 429:
            return "Waiting will not help: check your plan and billing at the provider."
        case status if 200 <= status < 300:
            return (
                "This is not a model response. Check base_url, and whether a login page intercepts the "
                "request."
            )
        case status if 300 <= status < 400:
            return (
                "Redirects are not followed, so that the key is sent only to its own address. Correct "
                "base_url."
            )
        case status if status >= 500:
            return "This is a fault at the provider: retry later, or use another provider."
    return "Correct the request, then retry."


class InvalidHttp(OSError):
    """The server sent something that is not HTTP."""


class ConnectTimeout(OSError):
    """No connection was made in time."""


class ConnectFailed(OSError):
    """None of the addresses of a host accepts connections, each for another reason."""


class ProxyUnreachable(OSError):
    """The proxy does not answer."""


class ProxyRefused(OSError):
    """The proxy refused to connect to the provider."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


def unreachable_error(name: str, origin: str, error: OSError, timeouts: Timeouts) -> Unreachable:
    """Build the error for a request that got no response."""
    prefix = f"Cannot reach {name} at {origin}:"
    match error:
        case ConnectTimeout():
            reason = (
                f"no connection within {timeouts.connect_s:g} s. Check the network and the proxy variables."
            )
            return Unreachable(f"{prefix} {reason}", retryable=True)
        case TimeoutError(errno=None):
            return no_answer_error(name, origin, timeouts, connection_lost=False)
        case ssl.SSLError():
            reason = "its TLS certificate or configuration was rejected. "
            reason += (
                "If a private authority signed the certificate, set SSL_CERT_FILE to the authority's file."
            )
            return Unreachable(f"{prefix} {reason}")
        case socket.gaierror():
            reason = "the host name does not resolve. Check base_url and the network connection."
            return Unreachable(f"{prefix} {reason}", retryable=True)
        case ProxyRefused():
            return Unreachable(f"{prefix} the proxy answered HTTP {error.status}. Check the proxy variables.")
        case ProxyUnreachable():
            return Unreachable(
                f"{prefix} the proxy does not answer. Check the proxy variables.", retryable=True
            )
        case InvalidHttp():
            return Unreachable(f"{prefix} the response is not valid HTTP. Check base_url.")
        case ConnectFailed():
            reason = (
                "none of its addresses accepts connections. Check base_url and that the server is running."
            )
            return Unreachable(f"{prefix} {reason}", retryable=True)
        case OSError(errno=int(number)):
            # asyncio writes the address into `strerror`, as Python writes it.
            reason = f"{os.strerror(number).lower()}. Check base_url and that the server is running."
            return Unreachable(f"{prefix} {reason}", retryable=True)
    return no_answer_error(name, origin, timeouts, connection_lost=True)


def no_answer_error(name: str, origin: str, timeouts: Timeouts, *, connection_lost: bool) -> Unreachable:
    """Build the error for a connection on which no byte of a response arrived."""
    if connection_lost:
        reason = "it closed the connection without a response. Retry, or check the server's log."
        return Unreachable(f"Cannot reach {name} at {origin}: {reason}", retryable=True)
    return Unreachable(
        f"{name} at {origin} sent no response within {timeouts.first_byte_s:g} s. "
        "Retry, or raise first_byte_s in Timeouts (`thinkaloud serve --first-byte-timeout`) if the model "
        "thinks longer before it answers."
    )


def limit_exceeded(what: str, limit: int) -> LimitExceeded:
    """Build the error for a response that exceeds a size limit."""
    return LimitExceeded(
        f"{what} exceeds the limit of {limit:,}; raise it in SizeLimits if you trust the sender"
    )


class _ErrorBody(msgspec.Struct):
    """The fields in which providers put an error."""

    error: msgspec.Raw = msgspec.Raw(b"")
    message: str | None = None
    detail: msgspec.Raw = msgspec.Raw(b"")
    code: str | int | None = None
    type: str | None = None


_decoder = msgspec.json.Decoder(_ErrorBody)
_list_decoder = msgspec.json.Decoder(list[_ErrorBody])


def read_error_body(data: bytes) -> tuple[str, str]:
    """Return code and message of an error body of any shape, or its text if it is not JSON."""
    try:
        if data.lstrip()[:1] == b"[":
            body = (_list_decoder.decode(data) or [_ErrorBody()])[0]
        else:
            body = _decoder.decode(data)
    except msgspec.MsgspecError:
        return "", " ".join(data.decode(errors="replace").split())[:MAX_QUOTE_CHARACTERS]
    for field in (body.error, body.detail):
        if has_error(field):
            code, message = parse_error(field)
            return "" if code == "provider_error" else code, message
    code_text = body.code if isinstance(body.code, str) else None
    return code_text or body.type or "", body.message or ""
