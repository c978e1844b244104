"""What a delta costs the Flutter block, in bytes to the client and in processor time, beside one `Text`.

A delta is appended to a thought of a given size that is open, and sent. The client is a connection that packs
each message as Flet's server does, and counts its bytes. The peer is one `ft.Text` with the whole thought.
"""

import asyncio
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import NamedTuple

import flet as ft
import msgpack
from flet.controls.base_control import BaseControl
from flet.controls.context import _context_page
from flet.messaging.connection import Connection
from flet.messaging.protocol import Message, configure_encode_object_for_msgpack
from flet.messaging.session import Session
from flet.pubsub.pubsub_hub import PubSubHub

from benchmarks.report import Section, table
from thinkaloud.core.canon import BlockGrew, BlockStarted, Entry, Kind, TurnStarted
from thinkaloud.surfaces.flutter import KoderThinkingBlock

TITLE = "Streaming in Flutter"
DELTA = " and so it goes on."
OURS, PEER = "`KoderThinkingBlock`", "one `ft.Text`"


class CountedConnection(Connection):
    """Packs messages as Flet's server does, and counts their bytes."""

    sent_bytes = 0

    def send_message(self, message: Message) -> None:
        """Count one message."""
        self.sent_bytes += 1 + len(self.pack([message.action, message.body]))

    def pack(self, message: object) -> bytes:
        """Return a message as it is sent. Packing a control also notes what the client has of it."""
        packed: bytes = msgpack.packb(message, default=configure_encode_object_for_msgpack(BaseControl))
        return packed


class DeltaCost(NamedTuple):
    """The median cost of a delta."""

    sent_bytes: float
    seconds: float


async def delta_cost(contender: str, size: int, deltas: int) -> DeltaCost:
    """Append deltas to an open thought of `size` characters, and return what one costs."""
    connection = CountedConnection()
    connection.loop, connection.pubsubhub = asyncio.get_running_loop(), PubSubHub()
    session = Session(connection)
    connection.pack(session.get_page_patch())  # as when a client registers
    page = session.page
    _context_page.set(page)
    append = _shown_block(page, size) if contender == OURS else _shown_text(page, size)
    sent_bytes, seconds = [], []
    for _ in range(deltas):
        before, start = connection.sent_bytes, process_time()
        append()
        seconds.append(process_time() - start)
        sent_bytes.append(connection.sent_bytes - before)
    return DeltaCost(sum(sent_bytes) / deltas, median(seconds))


def _thought(size: int) -> str:
    line = "The quick brown fox jumps over the lazy dog, and once again.\n"
    return (line * (size // len(line) + 1))[:size]


def _shown_block(page: ft.Page, size: int) -> Callable[[], None]:
    block = KoderThinkingBlock(policy={"preset": "trace"})
    page.add(block)
    block.feed(Entry(0, TurnStarted(), 0))
    block.feed(Entry(1, BlockStarted(0, Kind.REASONING), 0))
    block.feed(Entry(2, BlockGrew(0, _thought(size)), 1))
    block.flush()

    def append() -> None:
        block.feed(Entry(block.turn.seq + 1, BlockGrew(0, DELTA), 2))
        block.flush()

    return append


def _shown_text(page: ft.Page, size: int) -> Callable[[], None]:
    text = ft.Text(_thought(size))
    page.add(text)

    def append() -> None:
        text.value += DELTA
        text.update()

    return append


def measure(sizes: tuple[int, ...] = (1, 200, 1_000), deltas: int = 200) -> Section:
    """Measure both contenders; sizes are in thousands of characters."""
    rows: list[list[str]] = []
    for contender in (OURS, PEER):
        costs = [asyncio.run(delta_cost(contender, size * 1_000, deltas)) for size in sizes]
        growth = costs[-1].seconds / costs[0].seconds
        rows.append([contender, *(_cell(cost) for cost in costs), f"{growth:.1f} ×"])
    header = ["", *(f"{size:,} KB" for size in sizes), "growth of time"]
    return Section(TITLE, table(header, rows))


def _cell(cost: DeltaCost) -> str:
    return f"{cost.sent_bytes:,.0f} B, {cost.seconds * 1e6:,.0f} µs"


if __name__ == "__main__":
    print(measure().body)
