"""Seals that a simulator makes and can tell from any other: a note and its HMAC, in one opaque word.

The note says what the seal was made for (a model, a text, a conversation so far), so that a changed text
or a changed conversation is really found and not guessed.
"""

import base64
import binascii
import hashlib
import hmac
import json

_MAC_BYTES = 32


class SigningKey:
    """A server's own key; two servers with the same key read each other's seals."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __repr__(self) -> str:
        return "Secret(***)"

    @property
    def id_prefix(self) -> str:
        """A short word that tells the ids of this server from those of any other."""
        return self._mac(b"ids").hex()[:6]

    def seal(self, **claims: str) -> str:
        """An opaque word that holds the note."""
        payload = json.dumps(claims, sort_keys=True, separators=(",", ":")).encode()
        return base64.b64encode(self._mac(payload) + payload).decode()

    def read_seal(self, seal: object) -> dict[str, str] | None:
        """The note, or None when the seal is not ours or not whole."""
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
    """A short word for these values; the order of an object's keys does not matter."""
    encoded = json.dumps(values, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(encoded.encode()).hexdigest()[:24]
