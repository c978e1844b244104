"""The client of a gateway, and how a command finds one, or starts one inside its own process."""

from thinkaloud.cli.gateway_client.attach import (
    THIS_HOME,
    ServerChoice,
    add_server_options,
    open_backend,
    server_choice,
)
from thinkaloud.cli.gateway_client.client import GatewayClient
from thinkaloud.cli.gateway_client.connection import GatewayRefusal

__all__ = [
    "THIS_HOME",
    "GatewayClient",
    "GatewayRefusal",
    "ServerChoice",
    "add_server_options",
    "open_backend",
    "server_choice",
]
