"""Restricts where requests may be sent: below the provider's base URL, never to a link-local address.

The URL that is checked is the URL object that is used, so no second parser can read it differently. Host
names are checked by the addresses they resolve to, at the time of connecting.
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Mapping
from functools import lru_cache

from aiohappyeyeballs import AddrInfoType
from yarl import URL

from thinkaloud.core.canon import Wording
from thinkaloud.core.canon.errors import UnsafeAddress

_LOOPBACK_NAME = "localhost"
_NUMERIC_HOST = re.compile(r"[0-9.]+")
"""What is no IP address may be an old spelling of one, such as 2130706433, which some resolvers accept."""
_NAT64_NETWORKS = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
"""The prefixes of translators from IPv6 to IPv4. The last 32 bits are the IPv4 address."""


@lru_cache(maxsize=256)
def request_url(name: str, base_url: str, path: str) -> URL:
    """Return the URL of a path below a provider's base URL. It cannot leave the base URL's origin."""
    base = _check_base(name, base_url)
    try:
        url = URL(str(base).rstrip("/") + path, encoded=True)  # sent as written, so it must already be quoted
        same_origin = _origin_parts(url) == _origin_parts(base) and url.user is None
    except ValueError:
        same_origin, url = False, base
    printable = path.startswith("/") and path.isascii() and path.isprintable() and " " not in path
    if not (same_origin and printable):
        raise UnsafeAddress(
            "The path {path} leads away from {origin}, the only origin the key of {name} may be sent "
            "to. Nothing was sent. Use a quoted path that starts with a slash.",
            path=repr(path[:80]),
            origin=base.origin(),
            name=name,
        )
    return url


_PLACEHOLDER = re.compile(r"\{([A-Z][A-Z0-9_]*)\}")
_ADDRESS_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")


def fill_address(name: str, base_url: str, environ: Mapping[str, str]) -> str:
    """Return the base URL with its variables, such as `{AWS_REGION}`, replaced by their values."""

    def value_of(match: re.Match[str]) -> str:
        value = environ.get(match[1], "").strip()
        if not value:
            raise UnsafeAddress(
                "The address of {name} contains {variable}, which is not set. Nothing was sent. Set it: "
                "export {variable}=..., or set base_url in the row of {name} in your catalog.toml.",
                name=name,
                variable=match[1],
            )
        if not _ADDRESS_PART.fullmatch(value):
            raise UnsafeAddress(
                "{variable} cannot be part of the address of {name}: it must have letters, digits and "
                "hyphens only. Nothing was sent. Correct it.",
                variable=match[1],
                name=name,
            )
        return value

    return _PLACEHOLDER.sub(value_of, base_url)


def _origin_parts(url: URL) -> tuple[str, str | None, int | None]:
    return url.scheme, url.host, url.port


def _check_base(name: str, base_url: str) -> URL:
    remedy = Wording(
        "Correct base_url in the row of {name}; it must have the form https://host/path.", name=name
    )
    try:
        base = URL(base_url)
        origin = base.origin()
    except ValueError:
        raise UnsafeAddress(
            "The base URL of {name} is not a valid URL. {remedy}", name=name, remedy=remedy
        ) from None
    if origin.scheme not in ("http", "https"):
        raise UnsafeAddress(
            "The base URL of {name} uses {scheme}, not http or https. {remedy}",
            name=name,
            scheme=origin.scheme,
            remedy=remedy,
        )
    if base.user is not None or base.password is not None or base.query_string or base.fragment:
        raise UnsafeAddress(
            "The base URL of {name} has a user, a query or a fragment. {remedy}", name=name, remedy=remedy
        )
    host = origin.host or ""
    if _ip_address(host) is not None:
        _check_address(host, name)
    elif _NUMERIC_HOST.fullmatch(host):
        raise UnsafeAddress(
            "The host in the base URL of {name} is a number, but no IP address. {remedy}",
            name=name,
            remedy=remedy,
        )
    return base


def may_send_key(url: URL, *, local: bool) -> bool:
    """Return whether a key may be sent there: over TLS, to this machine, or to a provider marked as local."""
    host = url.host or ""
    address = _ip_address(host)
    loopback = host == _LOOPBACK_NAME if address is None else address.is_loopback
    return url.scheme == "https" or local or loopback


def proxy_for(url: URL, environ: Mapping[str, str]) -> URL | None:
    """Return the proxy for this URL from the usual variables: `https_proxy`, `all_proxy`, `no_proxy`."""
    proxies = {kind: _environ_value(environ, f"{kind}_proxy") for kind in (url.scheme, "all", "no")}
    proxy_url = proxies[url.scheme] or proxies["all"]
    if not proxy_url or any(_matches_no_proxy(url, entry.strip()) for entry in proxies["no"].split(",")):
        return None
    proxy = URL(proxy_url if "://" in proxy_url else f"http://{proxy_url}")
    if proxy.scheme not in ("http", "https"):
        raise UnsafeAddress(
            "The proxy for {scheme} is a {proxy_scheme} proxy; only http and https proxies are "
            "supported. Nothing was sent. Set another proxy in {scheme}_proxy, or add the host to "
            "no_proxy.",
            scheme=url.scheme,
            proxy_scheme=proxy.scheme,
        )
    return proxy


def _matches_no_proxy(url: URL, entry: str) -> bool:
    """Return whether an entry of `no_proxy` (`*`, `host`, `.domain`, `host:port`) matches this host."""
    name, port = entry.lower(), ""
    if name.rpartition(":")[2].isdigit():
        name, _, port = name.rpartition(":")
    name = name.strip("[]").removeprefix("*").removeprefix(".")
    host = (url.host or "").lower()
    host_matches = host == name or host.endswith(f".{name}") if name else entry == "*"
    return host_matches and port in ("", str(url.port))


def _environ_value(environ: Mapping[str, str], name: str) -> str:
    # A CGI server copies the request header `Proxy` to HTTP_PROXY, so only the lower-case name is trusted
    # there.
    upper = "" if "REQUEST_METHOD" in environ else environ.get(name.upper(), "")
    return environ.get(name, "") or upper


def _ip_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return _embedded_ipv4(address) or address


def _embedded_ipv4(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address to which a mapped, 6to4 or NAT64 address leads; None if it is not one."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if any(address in network for network in _NAT64_NETWORKS):
        return ipaddress.IPv4Address(address.packed[-4:])
    return address.ipv4_mapped or address.sixtofour


def _check_address(host: str, name: str) -> None:
    """Refuse link-local addresses, where clouds serve a machine's credentials, and unusable ones."""
    address = _ip_address(host)
    if address is None or address.is_link_local or address.is_multicast or address.is_unspecified:
        raise UnsafeAddress(
            "{name} is at {host}, a link-local, multicast or unspecified address, which no provider "
            "can have. Nothing was sent. Correct base_url, or check what that host name resolves to.",
            name=name,
            host=host,
        )


def redirect_origin(location: str) -> str:
    """Return the origin of a redirect; its path and query may be secret."""
    try:
        return str(URL(location).origin())
    except ValueError:
        return "another path" if location.startswith("/") else "nowhere"


async def resolve(host: str, port: int) -> list[AddrInfoType]:
    """Return the addresses of a host, by the system's resolver. Unsafe ones are refused."""
    loop = asyncio.get_running_loop()
    # Without IPv6 on this machine, no IPv6 addresses of a name are wanted. An address itself is always taken.
    flags = 0 if _ip_address(host) else socket.AI_ADDRCONFIG
    addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    for *_, address in addresses:
        _check_address(str(address[0]), host)
    return list(addresses)
