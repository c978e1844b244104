"""The client of a gateway, and how a command finds one, or starts one inside its own process."""

from thinkaloud.cli.gateway.client import GatewayClient
from thinkaloud.cli.gateway.connection import GatewayRefusal

__all__ = ["GatewayClient", "GatewayRefusal"]
