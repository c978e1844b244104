"""Follows the stream of a turn and resumes it after every lost connection.

The gateway sends each entry with its number. After a lost connection the client sends the last number that
it has, so that every entry is yielded once and in order.
"""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from thinkaloud.cli.gateway_client.connection import GatewayConnection
from thinkaloud.core.canon import BadFrame, Entry, LimitExceeded, Refused, Wording, reason_of
from thinkaloud.core.wire import Frame, SseDecoder
from thinkaloud.surfaces.chat.backend import (
    BackendUnreachable,
    Reconnecting,
    Restarted,
    StorageChanged,
    StreamItem,
)

_STALL_S = 60.0
"""The gateway sends a heartbeat every 15 s. A connection that is silent for longer is dead."""
_FIRST_WAIT_S = 0.2
_LONGEST_WAIT_S = 5.0
_NO_CONTENT = 204

_entry_decoder = msgspec.json.Decoder(Entry)


class _Reset(msgspec.Struct):
    reason: str = ""


class _Storage(msgspec.Struct):
    saved: bool


class _End(msgspec.Struct, frozen=True):
    """The turn has ended and is saved."""


_END = _End()


async def follow_turn(
    connection: GatewayConnection, turn: str, *, after: int = -1, speed: float | None = None
) -> AsyncGenerator[StreamItem, None]:
    """Yield the entries after a number until the turn has ended. It never gives up by itself."""
    attempt = 0
    while True:
        reason = Wording("The gateway closed the connection before the turn had ended.")
        try:
            async with aclosing(_read_stream(connection, turn, after, speed)) as items:
                async for item in items:
                    if isinstance(item, _End):
                        return
                    attempt = 0
                    if isinstance(item, Restarted):
                        after = -1
                    elif isinstance(item, Entry):
                        after = item.seq
                    yield item
        except BackendUnreachable as error:
            reason = error.wording
        attempt += 1
        yield Reconnecting(attempt, reason)
        await asyncio.sleep(_wait_s(attempt))


async def _read_stream(
    connection: GatewayConnection, turn: str, after: int, speed: float | None
) -> AsyncGenerator[StreamItem | _End, None]:
    """Yield what one connection brings."""
    query: dict[str, str | int] = {} if speed is None else {"speed": str(speed)}
    headers = {"Last-Event-ID": str(after)} if after >= 0 else {}
    decoder = SseDecoder()
    async with connection.open(
        "GET", f"/api/turns/{turn}/events", query=query, headers=headers, stall_s=_STALL_S
    ) as response:
        if response.status == _NO_CONTENT:
            yield _END
            return
        async for chunk in response.chunks():
            try:
                items = [_item(frame) for frame in decoder.feed(chunk)]
            except (msgspec.MsgspecError, BadFrame, LimitExceeded) as error:
                raise Refused(
                    "The stream of turn {turn} cannot be read: {reason} Check that this program and "
                    "the gateway have the same version.",
                    turn=turn,
                    reason=reason_of(error),
                ) from None
            for item in items:
                yield item


def _item(frame: Frame) -> StreamItem | _End:
    match frame.event:
        case "reset":
            return Restarted(msgspec.json.decode(frame.data, type=_Reset).reason)
        case "storage":
            return StorageChanged(msgspec.json.decode(frame.data, type=_Storage).saved)
        case "end":
            return _END
        case _:
            return _entry_decoder.decode(frame.data)


def _wait_s(attempt: int) -> float:
    """Return the pause before an attempt: longer each time, and different for every client."""
    wait_s: float = min(_FIRST_WAIT_S * 2 ** (attempt - 1), _LONGEST_WAIT_S)
    return wait_s * random.uniform(0.5, 1.0)
