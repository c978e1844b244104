"""Why no answer came, in words: what the library below reports, said so that a person can act on it.

Its own errors hold the request with its headers, so they are read here and go no further.
"""

import socket

import aiohttp

from thinkaloud.client.faults import Unreachable
from thinkaloud.client.reply import Timeouts


def unreachable(name: str, origin: str, error: Exception, timeouts: Timeouts) -> Unreachable:
    """The error for a request that got no answer."""
    where = f"{name} cannot be reached at {origin}:"
    match error:
        case aiohttp.ConnectionTimeoutError():
            why = f"no connection within {timeouts.connect_s:g} s. Check the network and the proxy variables."
            return Unreachable(f"{where} {why}", retryable=True)
        case TimeoutError():
            return silent(name, origin, timeouts, lost=False)
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
            why = "its certificate or its TLS is not accepted here. "
            why += "If a company's own authority signed it, name its file in SSL_CERT_FILE."
            return Unreachable(f"{where} {why}")
        case aiohttp.ClientConnectorDNSError():
            why = "its name is not known. Check base_url, and whether this machine is online."
            return Unreachable(f"{where} {why}", retryable=True)
        case aiohttp.ClientHttpProxyError():
            return Unreachable(f"{where} the proxy answered HTTP {error.status}. Check the proxy variables.")
        case aiohttp.ClientProxyConnectionError():
            return Unreachable(f"{where} its proxy does not answer. Check the variables.", retryable=True)
        case aiohttp.InvalidURL():
            return Unreachable(f"{where} that is no address. Nothing was sent. Correct base_url.")
        case aiohttp.ClientResponseError():
            return Unreachable(f"{where} what answers there does not speak proper HTTP. Check base_url.")
        case aiohttp.ClientConnectorError() | OSError(errno=int()):
            why = f"{_reason(error)}. Check that it runs there, and base_url."
            return Unreachable(f"{where} {why}", retryable=True)
    return silent(name, origin, timeouts, lost=True)


def silent(name: str, origin: str, timeouts: Timeouts, *, lost: bool) -> Unreachable:
    """The error for a connection on which no byte of an answer came."""
    if lost:
        why = "it closed the connection without an answer. Ask again, or look at its own log."
        return Unreachable(f"{name} cannot be reached at {origin}: {why}", retryable=True)
    return Unreachable(
        f"{name} at {origin} sent no answer within {timeouts.first_byte_s:g} s. "
        "Ask again, or raise first_byte_s in Timeouts if the model thinks longer in silence."
    )


def _reason(error: Exception) -> str:
    below = getattr(error, "os_error", error)
    if isinstance(below, socket.gaierror):
        return "its name is not known"
    return (getattr(below, "strerror", None) or "the connection failed").lower()
