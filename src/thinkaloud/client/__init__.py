"""The HTTP client for providers, and the functions that ask a model: `ask`, `stream` and their sync forms."""

from thinkaloud.client.address import UnsafeAddress
from thinkaloud.client.api import ask, ask_sync, entries, monotonic_clock, send, stream, stream_sync
from thinkaloud.client.errors import ConnectionLost, ProviderRefused, RateLimited, Stalled, Unreachable
from thinkaloud.client.http import Client, ClientEnvironment, GetRequest, HttpRequest
from thinkaloud.client.keys import Secret, resolve_key
from thinkaloud.client.prepare import Options, PreparedRequest, prepare
from thinkaloud.client.response import ResponseStream, SizeLimits
from thinkaloud.client.retry import TIMEOUTS, RetryPolicy, Timeouts

__all__ = [
    "TIMEOUTS",
    "Client",
    "ClientEnvironment",
    "ConnectionLost",
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
    "monotonic_clock",
    "prepare",
    "resolve_key",
    "send",
    "stream",
    "stream_sync",
]
