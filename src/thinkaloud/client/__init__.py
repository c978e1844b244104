"""The only outgoing HTTP, and what asks a model through it: events as they arrive, or a turn."""

from thinkaloud.client.address import UnsafeAddress
from thinkaloud.client.api import ask, ask_sync, entries, send, steady_clock, stream, stream_sync
from thinkaloud.client.faults import ConnectionLost, ProviderRefused, RateLimited, Stalled, Unreachable
from thinkaloud.client.http import Client, Get, Outgoing, Shell
from thinkaloud.client.inflate import Caps
from thinkaloud.client.keys import Secret, resolve
from thinkaloud.client.prepare import Options, PreparedRequest, prepare
from thinkaloud.client.reply import Reply, Timeouts
from thinkaloud.client.retrying import Retries

__all__ = [
    "Caps",
    "Client",
    "ConnectionLost",
    "Get",
    "Options",
    "Outgoing",
    "PreparedRequest",
    "ProviderRefused",
    "RateLimited",
    "Reply",
    "Retries",
    "Secret",
    "Shell",
    "Stalled",
    "Timeouts",
    "Unreachable",
    "UnsafeAddress",
    "ask",
    "ask_sync",
    "entries",
    "prepare",
    "resolve",
    "send",
    "steady_clock",
    "stream",
    "stream_sync",
]
