"""Seals that a simulator can verify: a note and its HMAC, in one opaque string.

The note says what the seal was made for (a model, a text, a conversation prefix), so that any change is
detected.
"""

import base64
import binascii
import hashlib
import hmac
import json

_MAC_BYTES = 32


class SigningKey:
    """A server's signing key. Two servers with the same key accept each other's seals."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __repr__(self) -> str:
        return "Secret(***)"

    @property
    def id_prefix(self) -> str:
        """A short prefix that distinguishes the ids of this server."""
        return self._mac(b"ids").hex()[:6]

    def seal(self, **claims: str) -> str:
        """Return an opaque string that holds the note."""
        payload = json.dumps(claims, sort_keys=True, separators=(",", ":")).encode()
        return base64.b64encode(self._mac(payload) + payload).decode()

    def read_seal(self, seal: object) -> dict[str, str] | None:
        """Return the note, or None if the seal is foreign or damaged."""
        if not isinstance(seal, str):
            return None
        try:
            raw = base64.b64decode(seal.replace("-", "+").replace("_", "/"), validate=True)
        except (binascii.Error, ValueError):
            return None
        mac, payload = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(payload)):
            return None
        claims: dict[str, str] = json.loads(payload)
        return claims

    def _mac(self, payload: bytes) -> bytes:
        return hmac.new(self._key, payload, hashlib.sha256).digest()


def fingerprint(*values: object) -> str:
    """Return a short hash of these values; the order of an object's keys does not matter."""
    encoded = json.dumps(values, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(encoded.encode()).hexdigest()[:24]
