"""What a frame of streaming text costs the terminal user interface, beside Textual's own Markdown widget.

Every frame appends a few words to a text, and is over when the screen is laid out and composed. Nothing is
written to a terminal. The contenders are a thought that streams in full, an answer as Markdown, and Textual's
`Markdown` widget, which gets the same answer by `append`, as its `MarkdownStream` does.
"""

import asyncio
import gc
import os
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Markdown

from benchmarks.report import Goal, Section, WrongAnswer, table
from benchmarks.sample_text import prose
from thinkaloud.core.canon import BlockGrew, BlockStarted, Entry, Kind, TurnStarted
from thinkaloud.core.view import preset
from thinkaloud.surfaces.tui.text.answer import AnswerView
from thinkaloud.surfaces.tui.text.line_view import LineView
from thinkaloud.surfaces.tui.turn_view import TurnView

TITLE = "Streaming in a terminal"
SCREEN = (100, 40)
FRAME_TEXT = " and so it goes."
FRAME_MS = 1000 / 60
THOUGHT, ANSWER, PEER = "a thought", "an answer, Markdown", "Textual's `Markdown`"

Append = Callable[[str], Awaitable[None]]


class FrameCost(NamedTuple):
    """Milliseconds of CPU time of one frame, and the memory of the text on the screen."""

    median_ms: float
    p95_ms: float
    memory_mb: float


def measure(*, sizes: tuple[int, ...], peer_sizes: tuple[int, ...], frames: int) -> Section:
    """Measure all contenders at each number of kilobytes."""
    # A process for each: what one contender leaves in memory must not count for the next.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as processes:
        costs: dict[str, dict[int, FrameCost]] = {
            name: {size: processes.submit(_frame_cost, name, size * 1000, frames).result() for size in chosen}
            for name, chosen in ((THOUGHT, sizes), (ANSWER, sizes), (PEER, peer_sizes))
        }
    rows = []
    for name, by_size in costs.items():
        for size, cost in by_size.items():
            peer = costs[PEER].get(size)
            ratio = f"{peer.median_ms / cost.median_ms:.0f}" if peer and name != PEER else ""
            figures = [f"{cost.median_ms:.1f}", f"{cost.p95_ms:.1f}", f"{cost.memory_mb:.1f}", ratio]
            rows.append([name, f"{size} KB", *figures])
    heads = ("a frame of", "on the screen", "ms", "p95", "MB", "× cheaper than Textual's")
    return Section(TITLE, table(heads, rows), _goals(costs))


def _goals(costs: dict[str, dict[int, FrameCost]]) -> tuple[Goal, ...]:
    thoughts = costs[THOUGHT]
    smallest, largest = min(thoughts), max(thoughts)
    growth = thoughts[largest].median_ms / thoughts[smallest].median_ms
    p95_ms = max(cost.p95_ms for cost in thoughts.values())
    compared = max(costs[PEER])
    ratio = costs[PEER][compared].median_ms / thoughts[compared].median_ms
    return (
        Goal(
            f"a thought in a terminal is flat: a frame of {largest} KB costs at most 2 × one of {smallest}",
            f"{growth:.1f} ×",
            growth <= 2,
        ),
        Goal("95 of 100 frames in a terminal take at most 16.7 ms", f"{p95_ms:.1f} ms", p95_ms <= FRAME_MS),
        Goal(
            f"a frame at {compared} KB costs Textual's `Markdown` at least 20 times as much",
            f"{ratio:.0f} ×",
            ratio >= 20,
        ),
    )


def _frame_cost(name: str, size: int, frames: int) -> FrameCost:
    return asyncio.run(_measure_frames(name, size, frames))


async def _measure_frames(name: str, size: int, frames: int) -> FrameCost:
    text = "\n\n".join(prose(size).split("\n"))[:size]
    widget, append = _contender(name)
    app = _Conversation(widget)
    async with app.run_test(size=SCREEN) as pilot:
        objects_before = _memory()
        await append(text)
        await _settle(pilot, widget)
        memory = _memory() - objects_before
        gc.collect()
        gc.disable()
        costs_ms = []
        for _ in range(frames):
            started = time.process_time()
            await append(FRAME_TEXT)
            await pilot.pause()
            costs_ms.append((time.process_time() - started) * 1000)
        gc.enable()
        _check(app, widget)
    p95_ms = quantiles(costs_ms, n=20)[-1]
    return FrameCost(median(costs_ms), p95_ms, memory / 1e6)


def _memory() -> int:
    """Return the bytes that this process has in memory."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _contender(name: str) -> tuple[Widget, Append]:
    """Return a widget, and what appends text to it."""
    if name == PEER:
        peer = Markdown()

        async def append_to_peer(text: str) -> None:
            await peer.append(text)

        return peer, append_to_peer
    if name == ANSWER:
        answer = AnswerView()

        async def append_to_answer(text: str) -> None:
            answer.append(text)

        return answer, append_to_answer
    turn = TurnView(policy=preset("preview"), clock=lambda: None)
    for event in (TurnStarted(), BlockStarted(0, Kind.REASONING)):
        turn.feed(Entry(turn.turn.seq + 1, event))

    async def append_to_thought(text: str) -> None:
        turn.feed(Entry(turn.turn.seq + 1, BlockGrew(0, text)))
        turn.flush()

    return turn, append_to_thought


class _Scroll(VerticalScroll):
    BLANK = True  # as Textual advises for very large containers


class _Conversation(App[None]):
    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self._widget = widget

    def compose(self) -> ComposeResult:
        with _Scroll() as conversation:
            yield self._widget
        conversation.anchor()


async def _settle(pilot: Pilot[None], widget: Widget) -> None:
    """Wait until the text is laid out."""
    height = -1
    views = [view for view in widget.walk_children(with_self=True) if isinstance(view, LineView)]
    while height != widget.virtual_size.height or not all(view.laid_out for view in views):
        height = widget.virtual_size.height
        await pilot.pause(0.2)


def _check(app: _Conversation, widget: Widget) -> None:
    """See that the last words are on the screen."""
    strips = app.screen._compositor.render_strips()
    screen = "".join(segment.text for strip in strips for segment in strip)
    if "it goes." not in screen:
        raise WrongAnswer(f"the end of the text is not on the screen of {widget}")
