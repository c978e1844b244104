"""The HTTP client for providers, and the functions that ask a model: `ask`, `stream`, and their sync forms.

Every name is imported on first use, so that settings can be read without the HTTP library and the dialects.

It may import the core. Read first: `api.py`, `prepared_request.py`, `http.py`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thinkaloud.client.api import ask, entries, send, stream
    from thinkaloud.client.errors import ConnectionLost, ProviderRefused, RateLimited, Stalled, Unreachable
    from thinkaloud.client.follow import Following, follow, monotonic_clock
    from thinkaloud.client.http import Client, ClientEnvironment, GetRequest, HttpRequest
    from thinkaloud.client.keys import Secret, resolve_key
    from thinkaloud.client.prepared_request import Options, PreparedRequest, prepare
    from thinkaloud.client.response import ResponseStream, SizeLimits
    from thinkaloud.client.retry import TIMEOUTS, RetryPolicy, Timeouts
    from thinkaloud.client.sync import ask_sync, stream_sync
    from thinkaloud.core.canon.errors import UnsafeAddress

__all__ = [
    "TIMEOUTS",
    "Client",
    "ClientEnvironment",
    "ConnectionLost",
    "Following",
    "GetRequest",
    "HttpRequest",
    "Options",
    "PreparedRequest",
    "ProviderRefused",
    "RateLimited",
    "ResponseStream",
    "RetryPolicy",
    "Secret",
    "SizeLimits",
    "Stalled",
    "Timeouts",
    "Unreachable",
    "UnsafeAddress",
    "ask",
    "ask_sync",
    "entries",
    "follow",
    "monotonic_clock",
    "prepare",
    "resolve_key",
    "send",
    "stream",
    "stream_sync",
]

_MODULES = {
    "thinkaloud.core.canon.errors": ("UnsafeAddress",),
    "thinkaloud.client.api": ("ask", "entries", "send", "stream"),
    "thinkaloud.client.sync": ("ask_sync", "stream_sync"),
    "thinkaloud.client.errors": (
        "ConnectionLost",
        "ProviderRefused",
        "RateLimited",
        "Stalled",
        "Unreachable",
    ),
    "thinkaloud.client.follow": ("Following", "follow", "monotonic_clock"),
    "thinkaloud.client.http": ("Client", "ClientEnvironment", "GetRequest", "HttpRequest"),
    "thinkaloud.client.keys": ("Secret", "resolve_key"),
    "thinkaloud.client.prepared_request": ("Options", "PreparedRequest", "prepare"),
    "thinkaloud.client.response": ("ResponseStream", "SizeLimits"),
    "thinkaloud.client.retry": ("TIMEOUTS", "RetryPolicy", "Timeouts"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'thinkaloud.client' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value  # the next access does not come here
    return value
