"""Finds the user whose process is at the other end of a local connection. Linux only.

A reverse proxy on this machine connects from a loopback address like any local program, and may leave no
trace in the request. But it usually runs as a user of its own, and the kernel lists the owner of each socket.
"""

import ipaddress
import sys
from pathlib import Path

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_UID_FIELD = 7
_WORD_BYTES = 4
_IPV4_MAPPED = ipaddress.IPv6Address("::ffff:0:0").packed[:12]

Address = tuple[str, int | None]


def peer_uid(peer: Address, server: Address) -> int | None:
    """Return the user id of the process that opened this connection; None if the system does not tell."""
    for table, four_bytes in zip(_TABLES, (True, False), strict=True):
        sockets = _spelling(peer, four_bytes=four_bytes), _spelling(server, four_bytes=four_bytes)
        try:
            lines = table.read_text("ascii").splitlines() if all(sockets) else []
        except OSError:
            return None
        for line in lines:
            if f" {sockets[0]} {sockets[1]} " in line:
                return int(line.split()[_UID_FIELD])
    return None


def _spelling(address: Address, *, four_bytes: bool) -> str:
    """Return an address as the table spells it, or an empty string if the table cannot hold it."""
    packed = ipaddress.ip_address(address[0].partition("%")[0]).packed
    if four_bytes and len(packed) != _WORD_BYTES:
        return ""
    if not four_bytes and len(packed) == _WORD_BYTES:
        packed = _IPV4_MAPPED + packed
    words = (packed[start : start + _WORD_BYTES] for start in range(0, len(packed), _WORD_BYTES))
    digits = "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
    return f"{digits}:{address[1]:04X}"
