"""What thinking costs a browser: `<thinking-block>` beside Streamdown, and beside text nodes that only grow.

Every piece is drawn before the next one comes, all contenders take turns in every round, and what is shown is
held against what was said before a figure is believed. Streamdown runs at its cheapest: no plugins, no
animation.
"""

import json
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.report import Goal, Section, table
from benchmarks.web_pages import BUILT, Cost, Memory, Tab, browser, missing

TITLE = "Thinking in a browser"
OURS, PEER, FLOOR = "thinking-block", "streamdown", "bare-text"
VERSION = json.loads((BUILT.parent / "package.json").read_text("utf-8"))["dependencies"][PEER]
NAMES = {OURS: "`<thinking-block>`", PEER: f"Streamdown {VERSION}", FLOOR: "bare text nodes"}
KB = 1024
AT_ONCE = 8
"""Deltas between two frames, where a stream is faster than the screen."""
PER_SECOND = 1_000
"""Characters; a fast model."""
LONG = 100 * KB
FEW = 8
"""Deltas of a long text that are enough: each takes the peer many frames."""
RESTED = 2 * KB
SMOOTH_ROUNDS = 3

MOST_GROWTH = 1.5
MIDDLE = 32
"""KB of thinking at which contenders are compared."""
LEAST_TIMES = 20
MOST_CLOSED_MS = 0.1
MOST_IDLE_MS = 1.0

Table = dict[tuple[str, int], list[Cost]]


class Smooth(NamedTuple):
    """How a paced stream looked, what a delta of it cost, and how much of the main thread all of it took."""

    cost: Cost
    frames: int
    dropped: int
    longest: float
    busy: float


class Rest(NamedTuple):
    """Of finished, closed blocks: what one cost to make and holds, and what all of them cost in a second."""

    made: float
    held: Memory
    per_second: float


class Found(NamedTuple):
    """What a run came to."""

    each: Table
    bursts: Table
    closed: Table
    smooth: dict[tuple[str, int], list[Smooth]]
    shown: dict[str, Cost]
    held: dict[str, Memory]
    rest: dict[str, Rest]


def _round(tab: Tab, size: int, deltas: int, at_once: int) -> Cost:
    """What one delta costs with so much text there, where one or more come in a frame."""
    count = min(deltas, FEW) if size > LONG and tab.name == PEER else deltas
    tab.play("stream(3)")
    frames = max(1, count // at_once)
    spent = tab.cost(f"burst({frames}, {at_once})" if at_once > 1 else f"stream({count})", frames * at_once)
    tab.check()
    return spent


def costs(tabs: Sequence[Tab], sizes: Iterable[int], plan: tuple[int, int], wish: tuple[bool, int]) -> Table:
    """`plan`: how many rounds of how many deltas. `wish`: whether it is open, how many come in a frame."""
    rounds, deltas = plan
    is_open, at_once = wish
    taken: Table = {(tab.name, size): [] for tab in tabs for size in sizes}
    for size in sizes:
        for number in range(rounds):
            for tab in tabs:
                if number == 0 or size * KB < LONG:  # a long text is hardly longer after a round
                    tab.play(f"fill({size * KB}, {str(is_open).lower()})")
                taken[tab.name, size].append(_round(tab, size * KB, deltas, at_once))
    return taken


def middle(spent: Sequence[Cost]) -> Cost:
    """The round in the middle, by its whole cost."""
    return sorted(spent, key=lambda cost: cost.total)[len(spent) // 2]


def smoothness(tab: Tab, size: int, seconds: float) -> Smooth:
    tab.play(f"fill({size}, true)")
    before = tab.spent()
    deltas = tab.play(f"pace({PER_SECOND}, {seconds})")
    spent = tab.spent()
    ticks = tab.play(f"tick({PER_SECOND}, {seconds})")
    clock = tab.spent().less(spent, ticks)
    cost = spent.less(before, deltas).less(clock)
    busy = cost.task * deltas / (seconds * 1000)
    found = tab.play(f"watch({PER_SECOND}, {seconds})")
    return Smooth(cost, found["frames"], found["dropped"], found["longest"], busy)


def holding(tab: Tab, size: int) -> tuple[Cost, Memory]:
    """What it costs to show a long text at once, and what a page holds then."""
    tab.play("clear()")
    before = tab.memory()
    shown = tab.cost(f"fill({size}, true)")
    tab.check()
    return shown, tab.memory().less(before)


def resting(tab: Tab, blocks: int, seconds: float) -> Rest:
    """Closed and finished blocks, with time for whatever they do when nothing else is to be done."""
    tab.play("clear()")
    before = tab.memory()
    began = tab.spent()
    tab.play(f"rest({blocks}, {RESTED})")
    tab.page.wait_for_timeout(7_000 * min(1, seconds))
    made = tab.spent().less(began, blocks)
    held = tab.memory().less(before)  # which also takes the garbage of making them away
    settled = tab.spent()
    tab.page.wait_for_timeout(seconds * 1000)
    idle = tab.spent().less(settled, seconds)
    return Rest(made.task, held, idle.task)


def _found(sizes: Sequence[int], plan: tuple[int, int], seconds: float, blocks: int) -> Found:
    with browser() as started:
        tabs = [Tab(started, name) for name in NAMES]
        # Until the browser has compiled what runs often.
        costs(tabs, [_compared(sizes)], (1, 4 * plan[1]), (True, 1))
        each = costs(tabs, sizes, plan, (True, 1))
        bursts = costs(tabs, sizes, plan, (True, AT_ONCE))
        closed = costs(tabs[:2], sizes, plan, (False, 1))
        smooth: dict[tuple[str, int], list[Smooth]] = {(name, kb): [] for name in NAMES for kb in sizes}
        for kb in sizes:
            for tab in tabs * min(SMOOTH_ROUNDS, plan[0]):
                smooth[tab.name, kb].append(smoothness(tab, kb * KB, seconds))
        kept = {tab.name: holding(tab, sizes[-1] * KB) for tab in tabs}
        rest = {tab.name: resting(tab, blocks, seconds) for tab in tabs}
    shown = {name: cost for name, (cost, _) in kept.items()}
    held = {name: memory for name, (_, memory) in kept.items()}
    return Found(each, bursts, closed, smooth, shown, held, rest)


def measure(sizes: Sequence[int], rounds: int, deltas: int, seconds: float, blocks: int) -> Section:
    """The answer, for the report; `sizes` are KB of thinking that is there already."""
    if why := missing():
        return Section(TITLE, f"Not measured: {why}.")
    found = _found(sizes, (rounds, deltas), seconds, blocks)
    body = [
        _per_delta(f"open, {PER_SECOND:,} characters/s by the clock, ms/delta", _paced(found), sizes),
        _per_delta("open, each delta drawn before the next comes, ms/delta", found.each, sizes),
        _per_delta(f"open, {AT_ONCE} deltas a frame, ms/delta", found.bursts, sizes),
        _per_delta("closed, one delta a frame, ms/delta", found.closed, sizes),
        "In parentheses: script, style, layout; by the clock, without what the clock itself costs.",
        _smooth(found, sizes, seconds),
        _held(found, sizes[-1]),
        _rest(found, blocks),
    ]
    return Section(TITLE, "\n\n".join(body), _goals(found, sizes))


def _paced(found: Found) -> Table:
    return {key: [one.cost for one in rounds] for key, rounds in found.smooth.items()}


def _per_delta(title: str, taken: Table, sizes: Sequence[int]) -> str:
    def row(name: str) -> tuple[str, ...]:
        cells = [middle(taken[name, size]) for size in sizes]
        told = [f"{one.total:.2f} ({one.script:.2f}, {one.style:.2f}, {one.layout:.2f})" for one in cells]
        growth = cells[-1].total / cells[0].total
        return NAMES[name], *told, f"{growth:.1f}", f"{_times(taken, name, sizes):.1f}"

    names = [name for name in NAMES if (name, sizes[0]) in taken]
    at = f"× ours at {_compared(sizes)} KB"
    return table((title, *(f"{size:,} KB" for size in sizes), "growth", at), map(row, names))


def _compared(sizes: Sequence[int]) -> int:
    return MIDDLE if MIDDLE in sizes else sizes[-1]


def _times(taken: Table, name: str, sizes: Sequence[int]) -> float:
    """How many times as much as ours: the middle of the rounds, each compared within itself."""
    size = _compared(sizes)
    pairs = zip(taken[name, size], taken[OURS, size], strict=True)
    return median(one.total / ours.total for one, ours in pairs)


def _smooth(found: Found, sizes: Sequence[int], seconds: float) -> str:
    def cell(name: str, size: int) -> tuple[str, ...]:
        rounds = sorted(found.smooth[name, size], key=lambda one: one.dropped)
        one = rounds[len(rounds) // 2]
        dropped = f"{one.dropped} ({rounds[0].dropped}) of {one.frames + one.dropped}"
        return dropped, f"{one.longest:.0f}", f"{one.busy:.0%}"

    head = [
        f"{PER_SECOND:,} characters/s for {seconds:g} s",
        *(f"{size:,} KB: {what}" for size in sizes for what in ("frames dropped", "longest, ms", "busy")),
    ]
    rows = ((NAMES[name], *(one for size in sizes for one in cell(name, size))) for name in NAMES)
    note = (
        "In parentheses: the round with the fewest. What bare text nodes drop at 32 KB, the machine dropped."
    )
    return f"{table(head, rows)}\n\n{note}"


def _held(found: Found, size: int) -> str:
    def row(name: str) -> tuple[str, ...]:
        shown, held = found.shown[name], found.held[name]
        memory = f"{held.heap_mb:.1f}", f"{held.all_mb:.1f}", f"{held.nodes:,}"
        return NAMES[name], f"{shown.total:,.0f}", *memory

    title = f"{size:,} KB, shown at once"
    head = (title, "script, style, layout, ms", "JS heap, MB", "all memory, MB", "DOM nodes")
    return table(head, map(row, found.held))


def _rest(found: Found, blocks: int) -> str:
    def row(name: str) -> tuple[str, ...]:
        made, held, idle = found.rest[name]
        kb = held.all_mb * 1000 / blocks
        if name == FLOOR:
            return "a page with nothing on it", "–", "–", "–", f"{idle:.2f}"
        return NAMES[name], f"{made:.2f}", f"{held.nodes / blocks:.0f}", f"{kb:.1f}", f"{idle:.2f}"

    head = (
        f"{blocks:,} closed blocks of {RESTED // KB} KB at rest",
        "to make one, ms",
        "DOM nodes each",
        "memory each, KB",
        "all of them, ms/s",
    )
    return table(head, map(row, found.rest))


def _goals(found: Found, sizes: Sequence[int]) -> tuple[Goal, ...]:
    first, last, at = sizes[0], sizes[-1], _compared(sizes)
    ours = [middle(found.each[OURS, size]).total for size in sizes]
    growth, times = ours[-1] / ours[0], _times(_paced(found), PEER, sizes)
    each, bursts = (_times(taken, PEER, sizes) for taken in (found.each, found.bursts))
    closed = max(middle(found.closed[OURS, size]).total for size in sizes)
    idle = found.rest[OURS].per_second - found.rest[FLOOR].per_second
    return (
        Goal(
            f"an open block is flat: a delta at {last:,} KB costs at most {MOST_GROWTH} × one at {first} KB",
            f"{growth:.2f} × ({ours[-1]:.2f} ms)",
            growth <= MOST_GROWTH,
        ),
        Goal(
            f"a delta at {at} KB costs Streamdown at least {LEAST_TIMES} times as much",
            f"{times:.1f} × by the clock; {each:.1f} × where each is drawn alone; "
            f"{bursts:.1f} × where {AT_ONCE} come in a frame",
            times >= LEAST_TIMES,
        ),
        Goal(
            f"a closed block costs nothing while it thinks: at most {MOST_CLOSED_MS} ms per delta",
            f"{closed:.2f} ms",
            closed <= MOST_CLOSED_MS,
        ),
        Goal(
            f"closed blocks cost nothing at rest: all of them at most {MOST_IDLE_MS} ms in a second",
            f"{max(idle, 0):.2f} ms more than a page with nothing on it",
            idle <= MOST_IDLE_MS,
        ),
    )


if __name__ == "__main__":
    from benchmarks.report import page_of

    print(page_of([measure(sizes=(1, 32, 500), rounds=5, deltas=40, seconds=5, blocks=1_000)]))
