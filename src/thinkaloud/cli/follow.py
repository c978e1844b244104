"""Follows a turn of a gateway for a command that prints: what was printed cannot be taken back."""

import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing

from thinkaloud.canon import Entry, Refused
from thinkaloud.cli.gateway import GatewayClient
from thinkaloud.surfaces.backend import BackendUnreachable, Reconnecting, Restarted, StorageChanged
from thinkaloud.surfaces.terminal import clean

_MAX_ATTEMPTS = 8
"""Attempts to reconnect. They take some twenty seconds."""


async def follow_printed(client: GatewayClient, turn: str) -> AsyncGenerator[Entry, None]:
    """Yield the entries of a turn from the first one until it has ended. Lost connections are reported."""
    async with aclosing(client.stream(turn)) as items:
        async for item in items:
            match item:
                case Entry():
                    yield item
                case Reconnecting():
                    _report_loss(turn, item)
                case Restarted():
                    raise Refused(
                        "The gateway was restarted, and this turn ended in another way than was shown here. "
                        f"`thinkaloud show {turn}` shows it."
                    )
                case StorageChanged(saved=True):
                    print("thinkaloud: The turn is saved again.", file=sys.stderr)
                case StorageChanged():
                    print("thinkaloud: The turn is not saved: the disk accepts no writes.", file=sys.stderr)


def _report_loss(turn: str, loss: Reconnecting) -> None:
    if loss.attempt > _MAX_ATTEMPTS:
        raise BackendUnreachable(
            f"{loss.reason} If the gateway still runs, so does the turn: `thinkaloud watch {turn}` shows it."
        )
    if loss.attempt == 1:
        print(clean(f"thinkaloud: {loss.reason} Connecting again."), file=sys.stderr)
