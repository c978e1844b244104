"""Where a request may go: only below the base URL of its provider's row, and never to a link-local address.

The URL that is checked is the URL that is used, so there is no second parser to fool. Names are checked
by the addresses that are then connected to.
"""

import ipaddress
import socket
from collections.abc import Mapping

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from thinkaloud.canon import Refused

_LOOPBACK_NAME = "localhost"


class UnsafeAddress(Refused):
    """A place where no request, or no key, may be sent."""


def request_url(name: str, base_url: str, path: str) -> URL:
    """The URL of a path below a provider's base; it cannot leave the base's origin."""
    base = _check_base(name, base_url)
    try:
        url = URL(str(base).rstrip("/") + path, encoded=True)  # sent as it was written, so it must be clean
        same_origin = _origin_parts(url) == _origin_parts(base) and url.user is None
    except ValueError:
        same_origin, url = False, base
    printable = path.startswith("/") and path.isascii() and path.isprintable() and " " not in path
    if not (same_origin and printable):
        raise UnsafeAddress(
            f"The path {path[:80]!r} leads away from {base.origin()}, where the key of {name} belongs. "
            "Nothing was sent. Use a path of quoted parts that begins with a slash."
        )
    return url


def _origin_parts(url: URL) -> tuple[str, str | None, int | None]:
    return url.scheme, url.host, url.port


def _check_base(name: str, base_url: str) -> URL:
    remedy = f"Correct base_url in the row of {name}: https://host/path and nothing more."
    try:
        base = URL(base_url)
        origin = base.origin()
    except ValueError:
        raise UnsafeAddress(f"The base URL of {name} is not a URL. {remedy}") from None
    if origin.scheme not in ("http", "https"):
        raise UnsafeAddress(f"The base URL of {name} is {origin.scheme}, not http or https. {remedy}")
    if base.user is not None or base.password is not None or base.query_string or base.fragment:
        raise UnsafeAddress(f"The base URL of {name} has a user, a query or a fragment. {remedy}")
    if _ip_address(origin.host or "") is not None:
        _check_address(origin.host or "", name)
    return base


def may_send_key(url: URL, *, local: bool) -> bool:
    """Whether a key may be sent there: over TLS, or to a machine that the row calls local, or to this one."""
    host = url.host or ""
    address = _ip_address(host)
    loopback = host == _LOOPBACK_NAME if address is None else address.is_loopback
    return url.scheme == "https" or local or loopback


def proxy_for(url: URL, environ: Mapping[str, str]) -> URL | None:
    """The proxy that the usual variables name for this URL: `https_proxy`, `all_proxy`, `no_proxy`."""
    proxies = {kind: _environ_value(environ, f"{kind}_proxy") for kind in (url.scheme, "all", "no")}
    proxy_url = proxies[url.scheme] or proxies["all"]
    if not proxy_url or any(_matches_no_proxy(url, entry.strip()) for entry in proxies["no"].split(",")):
        return None
    proxy = URL(proxy_url if "://" in proxy_url else f"http://{proxy_url}")
    if proxy.scheme not in ("http", "https"):
        raise UnsafeAddress(
            f"The proxy for {url.scheme} is a {proxy.scheme} proxy, and only http and https ones are known. "
            f"Nothing was sent. Name another in {url.scheme}_proxy, or list the host in no_proxy."
        )
    return proxy


def _matches_no_proxy(url: URL, entry: str) -> bool:
    """Whether an entry of `no_proxy` (`*`, `host`, `.domain`, `host:port`) takes in this host."""
    name, port = entry.lower(), ""
    if name.rpartition(":")[2].isdigit():
        name, _, port = name.rpartition(":")
    name = name.strip("[]").removeprefix("*").removeprefix(".")
    host = (url.host or "").lower()
    host_matches = host == name or host.endswith(f".{name}") if name else entry == "*"
    return host_matches and port in ("", str(url.port))


def _environ_value(environ: Mapping[str, str], name: str) -> str:
    # A CGI server puts the request header `Proxy` into HTTP_PROXY, so there only the small letters count.
    upper = "" if "REQUEST_METHOD" in environ else environ.get(name.upper(), "")
    return environ.get(name, "") or upper


def _ip_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _check_address(host: str, name: str) -> None:
    """Link-local addresses are where clouds keep a machine's own credentials; nobody serves a model there."""
    address = _ip_address(host)
    if address is None or address.is_link_local or address.is_multicast or address.is_unspecified:
        raise UnsafeAddress(
            f"{name} is at {host}, an address that no provider can have (link-local, multicast or none). "
            "Nothing was sent. Correct base_url, or find out who answers for that name."
        )


class GuardedResolver(AbstractResolver):
    """Resolves names as the system does, and refuses what nobody should connect to."""

    def __init__(self) -> None:
        self._system = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses that will be connected to."""
        results = await self._system.resolve(host, port, family)
        for result in results:
            _check_address(result["host"], host)
        return results

    async def close(self) -> None:
        """Nothing is held."""
