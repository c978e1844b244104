"""Requests as the client takes them, before it adds address and key."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


class HttpRequest(Protocol):
    """The request a dialect builds: a path below the base URL, headers without the key, and a body."""

    @property
    def path(self) -> str:
        """The path, with leading slash and query."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, without the key."""

    @property
    def body(self) -> bytes:
        """The encoded body."""


@dataclass(frozen=True)
class GetRequest:
    """A GET request, such as for a provider's list of models."""

    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
