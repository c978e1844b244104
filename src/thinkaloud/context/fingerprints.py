"""The fingerprint of what a turn was answered to: system prompt, tools, and every message before it.

A changed byte anywhere before a prefix-bound thought voids it, so the fingerprint covers the messages as they
are sent, not as they are kept.
"""

import hashlib
from collections.abc import Iterable

import msgspec

from thinkaloud.canon.requests import Message, ToolDefinition

_encoder = msgspec.json.Encoder(order="deterministic")


class PrefixHash:
    """A fingerprint that grows with each message, at the cost of that message alone."""

    def __init__(self, system: str, tools: Iterable[ToolDefinition]) -> None:
        self._hash = hashlib.sha256(_encoder.encode((system, tuple(tools))))

    def add(self, message: Message) -> None:
        """One more message."""
        self._hash.update(b"\n")
        self._hash.update(_encoder.encode(message))

    @property
    def fingerprint(self) -> str:
        """The fingerprint of everything so far, in hex."""
        return self._hash.copy().hexdigest()


def fingerprint(system: str, tools: Iterable[ToolDefinition], messages: Iterable[Message]) -> str:
    """SHA-256 over the canonical JSON of all that comes before an answer, in hex."""
    prefix = PrefixHash(system, tools)
    for message in messages:
        prefix.add(message)
    return prefix.fingerprint
