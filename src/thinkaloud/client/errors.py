"""Errors of a request to a provider. Every message says what happened, why, and what to do.

* ProviderFault
  x Unreachable                    no response: unknown host, connection refused, TLS failure, timeout
  x ProviderRefused + RateLimited  an error response; like Unreachable, raised before a turn begins
  x ConnectionLost, Stalled        after the first byte: the connection broke or fell silent; ends the turn
"""

import os
import socket
import ssl
from typing import Any

import msgspec

from thinkaloud.client.retry import Timeouts
from thinkaloud.core.canon import LimitExceeded, ProviderFault, Wording
from thinkaloud.core.dialects.payload import has_error, parse_error

MAX_QUOTE_CHARACTERS = 500
"""The largest part of a provider's own message that is quoted in ours."""


class Unreachable(ProviderFault):
    """No response arrived. `retryable` says whether another attempt may succeed."""

    code = "unreachable"

    def __init__(self, template: str = "", /, *, retryable: bool = False, **message: Any) -> None:
        super().__init__(template, **message)
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

    def __init__(self, template: str = "", /, *, response: ErrorResponse, **message: Any) -> None:
        super().__init__(template, **message)
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
    quote = response.message[:MAX_QUOTE_CHARACTERS].strip()
    end = "" if quote.endswith((".", "!", "?")) else "."
    parts = [
        Wording(
            "{provider} refused the request ({status}): {reason}",
            provider=name,
            status=status_text,
            reason=quote + end if quote else Wording("no reason given."),
        ),
        _remedy(response, key),
    ]
    if response.request_id:
        parts.append(Wording("(request {id})", id=response.request_id))
    return error_type(wording=Wording.join(parts), response=response)


_NO_SUCH_MODEL_STATUSES = frozenset({400, 404, 410})


def with_advice(error: ProviderRefused, advice: Wording | None) -> ProviderRefused:
    """Add what is known about the model to an error that may come from it."""
    if advice and error.status in _NO_SUCH_MODEL_STATUSES:
        error.wording = Wording.join([error.wording, advice])
        error.args = (str(error.wording),)
    return error


def _remedy(response: ErrorResponse, key: str) -> Wording:
    match response.status:
        case 401 | 403:
            place = key or Wording("the provider row has none")
            return Wording("Check the key ({key}) and its permissions.", key=place)
        case 404:
            return Wording("Check the model name and the provider's base_url.")
        case 407:
            return Wording(
                "The proxy requires a user and a password: add them to the URL in the proxy variable."
            )
        case 413:
            return Wording("The request is too large: shorten the conversation or use smaller images.")
        case 429 | 529 if may_retry(response):
            return _wait_remedy(response.after_ms)
        case 429:
            return Wording("Waiting will not help: check your plan and billing at the provider.")
        case status if 200 <= status < 300:
            return Wording(
                "This is not a model response. Check base_url, and whether a login page intercepts the "
                "request."
            )
        case status if 300 <= status < 400:
            return Wording(
                "Redirects are not followed, so that the key is sent only to its own address. Correct "
                "base_url."
            )
        case status if status >= 500:
            return Wording("This is a fault at the provider: retry later, or use another provider.")
    return Wording("Correct the request, then retry.")


def _wait_remedy(after_ms: int | None) -> Wording:
    if after_ms is None:
        return Wording("Wait a while, then retry.")
    return Wording("Wait {seconds} s, then retry.", seconds=f"{after_ms / 1000:g}")


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
    if isinstance(error, TimeoutError) and error.errno is None:
        return no_answer_error(name, origin, timeouts, connection_lost=False)
    final = isinstance(error, ssl.SSLError | ProxyRefused | InvalidHttp)
    return _unreachable(name, origin, _unreachable_reason(error, timeouts), retryable=not final)


def _unreachable_reason(error: OSError, timeouts: Timeouts) -> Wording:
    """Return why there is no connection, and what to do."""
    match error:
        case ConnectTimeout():
            return Wording(
                "no connection within {seconds} s. Check the network and the proxy variables.",
                seconds=f"{timeouts.connect_s:g}",
            )
        case ssl.SSLError():
            return Wording(
                "its TLS certificate or configuration was rejected. If a private authority signed the "
                "certificate, set SSL_CERT_FILE to the authority's file."
            )
        case socket.gaierror():
            return Wording("the host name does not resolve. Check base_url and the network connection.")
        case ProxyRefused():
            return Wording(
                "the proxy answered HTTP {status}. Check the proxy variables.", status=error.status
            )
        case ProxyUnreachable():
            return Wording("the proxy does not answer. Check the proxy variables.")
        case InvalidHttp():
            return Wording("the response is not valid HTTP. Check base_url.")
        case ConnectFailed():
            return Wording(
                "none of its addresses accepts connections. Check base_url and that the server is running."
            )
        case ConnectionRefusedError():
            return Wording("connection refused. Check base_url and that the server is running.")
        case OSError(errno=int(number)):
            # asyncio writes the address into `strerror`, as Python writes it.
            return Wording(
                "{reason}. Check base_url and that the server is running.", reason=os.strerror(number).lower()
            )
    return _CLOSED


_CLOSED = Wording("it closed the connection without a response. Retry, or check the server's log.")


def _unreachable(name: str, origin: str, reason: Wording, *, retryable: bool = True) -> Unreachable:
    return Unreachable(
        "Cannot reach {provider} at {origin}: {reason}",
        provider=name,
        origin=origin,
        reason=reason,
        retryable=retryable,
    )


def no_answer_error(name: str, origin: str, timeouts: Timeouts, *, connection_lost: bool) -> Unreachable:
    """Build the error for a connection on which no byte of a response arrived."""
    if connection_lost:
        return _unreachable(name, origin, _CLOSED)
    return Unreachable(
        "{provider} at {origin} sent no response within {seconds} s. Retry, or raise first_byte_s in "
        "Timeouts (`thinkaloud serve --first-byte-timeout`) if the model thinks longer before it answers.",
        provider=name,
        origin=origin,
        seconds=f"{timeouts.first_byte_s:g}",
    )


def limit_exceeded(what: Wording, limit: int) -> LimitExceeded:
    """Build the error for a response that exceeds a size limit."""
    return LimitExceeded(
        "{what} exceeds the limit of {limit}; raise it in SizeLimits if you trust the sender",
        what=what,
        limit=f"{limit:,}",
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
            return "" if code == "provider_error" else code, str(message)
    code_text = body.code if isinstance(body.code, str) else None
    return code_text or body.type or "", body.message or ""
