"""Why no answer came, in words: what the library below reports, said so that a person can act on it.

Its own errors hold the request with its headers, so they are read here and go no further.
"""

import socket

import aiohttp

from thinkaloud.client.errors import Unreachable
from thinkaloud.client.response import Timeouts


def unreachable_error(name: str, origin: str, error: Exception, timeouts: Timeouts) -> Unreachable:
    """The error for a request that got no answer."""
    prefix = f"{name} cannot be reached at {origin}:"
    match error:
        case aiohttp.ConnectionTimeoutError():
            reason = (
                f"no connection within {timeouts.connect_s:g} s. Check the network and the proxy variables."
            )
            return Unreachable(f"{prefix} {reason}", retryable=True)
        case TimeoutError():
            return no_answer_error(name, origin, timeouts, connection_lost=False)
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
            reason = "its certificate or its TLS is not accepted here. "
            reason += "If a company's own authority signed it, name its file in SSL_CERT_FILE."
            return Unreachable(f"{prefix} {reason}")
        case aiohttp.ClientConnectorDNSError():
            reason = "its name is not known. Check base_url, and whether this machine is online."
            return Unreachable(f"{prefix} {reason}", retryable=True)
        case aiohttp.ClientHttpProxyError():
            return Unreachable(f"{prefix} the proxy answered HTTP {error.status}. Check the proxy variables.")
        case aiohttp.ClientProxyConnectionError():
            return Unreachable(f"{prefix} its proxy does not answer. Check the variables.", retryable=True)
        case aiohttp.InvalidURL():
            return Unreachable(f"{prefix} that is no address. Nothing was sent. Correct base_url.")
        case aiohttp.ClientResponseError():
            return Unreachable(f"{prefix} what answers there does not speak proper HTTP. Check base_url.")
        case aiohttp.ClientConnectorError() | OSError(errno=int()):
            reason = f"{_system_reason(error)}. Check that it runs there, and base_url."
            return Unreachable(f"{prefix} {reason}", retryable=True)
    return no_answer_error(name, origin, timeouts, connection_lost=True)


def no_answer_error(name: str, origin: str, timeouts: Timeouts, *, connection_lost: bool) -> Unreachable:
    """The error for a connection on which no byte of an answer came."""
    if connection_lost:
        reason = "it closed the connection without an answer. Ask again, or look at its own log."
        return Unreachable(f"{name} cannot be reached at {origin}: {reason}", retryable=True)
    return Unreachable(
        f"{name} at {origin} sent no answer within {timeouts.first_byte_s:g} s. "
        "Ask again, or raise first_byte_s in Timeouts if the model thinks longer in silence."
    )


def _system_reason(error: Exception) -> str:
    cause = getattr(error, "os_error", error)
    if isinstance(cause, socket.gaierror):
        return "its name is not known"
    return (getattr(cause, "strerror", None) or "the connection failed").lower()
