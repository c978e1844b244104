"""Cost of thinking in a browser: `<thinking-block>`, Streamdown, and plain text nodes that grow.

Every piece is drawn before the next one arrives, every round runs all contenders, and a number counts only
if the page shows the right text. Streamdown runs in its cheapest form: no plugins, no animation.
"""

import json
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.report import Goal, Section, table
from benchmarks.web_browser import (
    BENCHMARK_DIST,
    MainThreadCost,
    PageMemory,
    Tab,
    missing_requirement,
    running_browser,
)

TITLE = "Thinking in a browser"
OURS, PEER, BASELINE = "thinking-block", "streamdown", "bare-text"
VERSION = json.loads((BENCHMARK_DIST.parent / "package.json").read_text("utf-8"))["dependencies"][PEER]
NAMES = {OURS: "`<thinking-block>`", PEER: f"Streamdown {VERSION}", BASELINE: "bare text nodes"}
KB = 1024
DELTAS_PER_FRAME = 8
"""Deltas between two frames, if a stream is faster than the screen."""
CHARACTERS_PER_SECOND = 1_000
"""The speed of a fast model."""
LONG_TEXT_BYTES = 100 * KB
DELTAS_OF_LONG_TEXT = 8
"""Fewer deltas for a long text: each one takes the peer many frames."""
IDLE_BLOCK_BYTES = 2 * KB
SMOOTH_ROUNDS = 3

THROTTLE_MS = 67
"""All contenders get new text 15 times a second, which is how often ours draws."""
THROTTLED_KB = (32, 200, 1_000)

MAX_GROWTH = 1.5
COMPARED_KB = 32
"""KB of thinking at which contenders are compared."""
MIN_RATIO = 20
MAX_CLOSED_MS = 0.1
MAX_IDLE_MS = 1.0

CostsBySize = dict[tuple[str, int], list[MainThreadCost]]


class PacedResult(NamedTuple):
    """A paced stream: frames, cost per delta, and share of the main thread."""

    cost: MainThreadCost
    frames: int
    dropped: int
    longest: float
    busy: float


class IdleResult(NamedTuple):
    """Finished, closed blocks: cost and memory of one, and the cost of all per second."""

    create_ms: float
    memory: PageMemory
    idle_ms: float


class ElementResults(NamedTuple):
    """The result of a run."""

    each: CostsBySize
    bursts: CostsBySize
    closed: CostsBySize
    paced: dict[tuple[str, int], list[PacedResult]]
    throttled: CostsBySize
    show_costs: dict[str, MainThreadCost]
    memory: dict[str, PageMemory]
    idle: dict[str, IdleResult]


def _measure_round(tab: Tab, size: int, deltas: int, at_once: int) -> MainThreadCost:
    """The cost of one delta after this much text, with one or more deltas per frame."""
    count = min(deltas, DELTAS_OF_LONG_TEXT) if size > LONG_TEXT_BYTES and tab.name == PEER else deltas
    tab.call_stage("stream(3)")
    frames = max(1, count // at_once)
    round_cost = tab.cost_of_call(
        f"burst({frames}, {at_once})" if at_once > 1 else f"stream({count})", frames * at_once
    )
    tab.check()
    return round_cost


def measure_costs(
    tabs: Sequence[Tab], sizes: Iterable[int], plan: tuple[int, int], mode: tuple[bool, int]
) -> CostsBySize:
    """`plan`: rounds and deltas. `wish`: whether the block is open, and deltas per frame."""
    rounds, deltas = plan
    is_open, at_once = mode
    costs_by_size: CostsBySize = {(tab.name, size): [] for tab in tabs for size in sizes}
    for size in sizes:
        for number in range(rounds):
            for tab in tabs:
                if number == 0 or size * KB < LONG_TEXT_BYTES:  # a long text is hardly longer after a round
                    tab.call_stage(f"fill({size * KB}, {str(is_open).lower()})")
                costs_by_size[tab.name, size].append(_measure_round(tab, size * KB, deltas, at_once))
    return costs_by_size


def median_cost(round_costs: Sequence[MainThreadCost]) -> MainThreadCost:
    """The median round, by its total cost."""
    return sorted(round_costs, key=lambda cost: cost.total)[len(round_costs) // 2]


def measure_paced(tab: Tab, size: int, seconds: float) -> PacedResult:
    tab.call_stage(f"fill({size}, true)")
    cost_before = tab.total_cost()
    deltas = tab.call_stage(f"pace({CHARACTERS_PER_SECOND}, {seconds})")
    cost_after = tab.total_cost()
    ticks = tab.call_stage(f"tick({CHARACTERS_PER_SECOND}, {seconds})")
    clock = tab.total_cost().minus(cost_after, ticks)
    cost = cost_after.minus(cost_before, deltas).minus(clock)
    busy = cost.task * deltas / (seconds * 1000)
    frame_counts = tab.call_stage(f"watch({CHARACTERS_PER_SECOND}, {seconds})")
    return PacedResult(cost, frame_counts["frames"], frame_counts["dropped"], frame_counts["longest"], busy)


def measure_throttled(tabs: Sequence[Tab], sizes: Iterable[int], rounds: int, seconds: float) -> CostsBySize:
    """The cost of one update where all contenders get text equally seldom."""
    costs_by_size: CostsBySize = {(tab.name, size): [] for tab in tabs for size in sizes}
    for size in sizes:
        for tab in [*tabs] * rounds:
            tab.call_stage(f"fill({size * KB}, true)")
            cost_before = tab.total_cost()
            updates = tab.call_stage(f"throttle({CHARACTERS_PER_SECOND}, {seconds}, {THROTTLE_MS})")
            costs_by_size[tab.name, size].append(tab.total_cost().minus(cost_before, updates))
    return costs_by_size


def measure_memory(tab: Tab, size: int) -> tuple[MainThreadCost, PageMemory]:
    """The cost of showing a long text at once, and the memory of the page then."""
    tab.call_stage("clear()")
    memory_before = tab.memory()
    show_cost = tab.cost_of_call(f"fill({size}, true)")
    tab.check()
    return show_cost, tab.memory().minus(memory_before)


def measure_idle(tab: Tab, blocks: int, seconds: float) -> IdleResult:
    """Closed and finished blocks, with time for their idle work."""
    tab.call_stage("clear()")
    memory_before = tab.memory()
    cost_before = tab.total_cost()
    tab.call_stage(f"rest({blocks}, {IDLE_BLOCK_BYTES})")
    tab.page.wait_for_timeout(7_000 * min(1, seconds))
    create_cost = tab.total_cost().minus(cost_before, blocks)
    memory = tab.memory().minus(memory_before)  # which also takes the garbage of making them away
    cost_settled = tab.total_cost()
    tab.page.wait_for_timeout(seconds * 1000)
    idle_cost = tab.total_cost().minus(cost_settled, seconds)
    return IdleResult(create_cost.task, memory, idle_cost.task)


def _measure_all(sizes: Sequence[int], plan: tuple[int, int], seconds: float, blocks: int) -> ElementResults:
    with running_browser() as chromium:
        tabs = [Tab(chromium, name) for name in NAMES]
        # Until the browser has compiled what runs often.
        measure_costs(tabs, [_compared_size(sizes)], (1, 4 * plan[1]), (True, 1))
        each = measure_costs(tabs, sizes, plan, (True, 1))
        bursts = measure_costs(tabs, sizes, plan, (True, DELTAS_PER_FRAME))
        closed = measure_costs(tabs[:2], sizes, plan, (False, 1))
        paced: dict[tuple[str, int], list[PacedResult]] = {(name, kb): [] for name in NAMES for kb in sizes}
        for kb in sizes:
            for tab in tabs * min(SMOOTH_ROUNDS, plan[0]):
                paced[tab.name, kb].append(measure_paced(tab, kb * KB, seconds))
        throttled_sizes = [size for size in THROTTLED_KB if size <= 2 * sizes[-1]] or [sizes[-1]]
        throttled = measure_throttled(tabs, throttled_sizes, min(SMOOTH_ROUNDS, plan[0]), seconds)
        memory_results = {tab.name: measure_memory(tab, sizes[-1] * KB) for tab in tabs}
        idle = {tab.name: measure_idle(tab, blocks, seconds) for tab in tabs}
    show_costs = {name: cost for name, (cost, _) in memory_results.items()}
    memory_by_name = {name: memory for name, (_, memory) in memory_results.items()}
    return ElementResults(each, bursts, closed, paced, throttled, show_costs, memory_by_name, idle)


def measure(sizes: Sequence[int], rounds: int, deltas: int, seconds: float, blocks: int) -> Section:
    """Measure and return the section for the report; `sizes` are KB of thinking already shown."""
    if reason := missing_requirement():
        return Section(TITLE, f"Not measured: {reason}.")
    results = _measure_all(sizes, (rounds, deltas), seconds, blocks)
    body = [
        _delta_table(
            f"open, {CHARACTERS_PER_SECOND:,} characters/s by the clock, ms/delta",
            _paced_costs(results),
            sizes,
        ),
        _throttled_table(results),
        _delta_table("open, each delta drawn before the next comes, ms/delta", results.each, sizes),
        _delta_table(f"open, {DELTAS_PER_FRAME} deltas a frame, ms/delta", results.bursts, sizes),
        _delta_table("closed, one delta a frame, ms/delta", results.closed, sizes),
        "In parentheses: script, style, layout; by the clock, without what the clock itself costs.",
        _paced_table(results, sizes, seconds),
        _memory_table(results, sizes[-1]),
        _idle_table(results, blocks),
    ]
    return Section(TITLE, "\n\n".join(body), _goals(results, sizes))


def _paced_costs(results: ElementResults) -> CostsBySize:
    return {key: [paced_result.cost for paced_result in rounds] for key, rounds in results.paced.items()}


def _delta_table(title: str, costs_by_size: CostsBySize, sizes: Sequence[int]) -> str:
    def row(name: str) -> tuple[str, ...]:
        cells = [median_cost(costs_by_size[name, size]) for size in sizes]
        cost_cells = [
            f"{cost.total:.2f} ({cost.script:.2f}, {cost.style:.2f}, {cost.layout:.2f})" for cost in cells
        ]
        growth = cells[-1].total / cells[0].total
        return NAMES[name], *cost_cells, f"{growth:.1f}", f"{_ratio_to_ours(costs_by_size, name, sizes):.1f}"

    names = [name for name in NAMES if (name, sizes[0]) in costs_by_size]
    ratio_heading = f"× ours at {_compared_size(sizes)} KB"
    return table((title, *(f"{size:,} KB" for size in sizes), "growth", ratio_heading), map(row, names))


def _throttled_table(results: ElementResults) -> str:
    sizes = sorted({size for _, size in results.throttled})
    own = [median_cost(results.throttled[OURS, size]).total for size in sizes]

    def row(name: str) -> tuple[str, ...]:
        costs = [median_cost(results.throttled[name, size]).total for size in sizes]
        cells = [f"{cost:.2f} ({cost / ours:.1f} × ours)" for cost, ours in zip(costs, own, strict=True)]
        return NAMES[name], f"{costs[-1] / costs[0]:.1f}", *cells

    title = f"open, all throttled to {1000 / THROTTLE_MS:.0f} updates a second, ms/update"
    return table((title, "growth", *(f"{size:,} KB" for size in sizes)), map(row, NAMES))


def _compared_size(sizes: Sequence[int]) -> int:
    return COMPARED_KB if COMPARED_KB in sizes else sizes[-1]


def _ratio_to_ours(costs_by_size: CostsBySize, name: str, sizes: Sequence[int]) -> float:
    """The factor compared with ours: the median over the rounds."""
    size = _compared_size(sizes)
    pairs = zip(costs_by_size[name, size], costs_by_size[OURS, size], strict=True)
    return median(other_cost.total / own_cost.total for other_cost, own_cost in pairs)


def _paced_table(results: ElementResults, sizes: Sequence[int], seconds: float) -> str:
    def cell(name: str, size: int) -> tuple[str, ...]:
        rounds = sorted(results.paced[name, size], key=lambda median_round: median_round.dropped)
        median_round = rounds[len(rounds) // 2]
        dropped = (
            f"{median_round.dropped} ({rounds[0].dropped}) of {median_round.frames + median_round.dropped}"
        )
        return dropped, f"{median_round.longest:.0f}", f"{median_round.busy:.0%}"

    head = [
        f"{CHARACTERS_PER_SECOND:,} characters/s for {seconds:g} s",
        *(f"{size:,} KB: {what}" for size in sizes for what in ("frames dropped", "longest, ms", "busy")),
    ]
    rows = ((NAMES[name], *(cell_text for size in sizes for cell_text in cell(name, size))) for name in NAMES)
    note = (
        "In parentheses: the round with the fewest. What bare text nodes drop at 32 KB, the machine dropped."
    )
    return f"{table(head, rows)}\n\n{note}"


def _memory_table(results: ElementResults, size: int) -> str:
    def row(name: str) -> tuple[str, ...]:
        shown, page_memory = results.show_costs[name], results.memory[name]
        memory_cells = f"{page_memory.heap_mb:.1f}", f"{page_memory.all_mb:.1f}", f"{page_memory.nodes:,}"
        return NAMES[name], f"{shown.total:,.0f}", *memory_cells

    title = f"{size:,} KB, shown at once"
    head = (title, "script, style, layout, ms", "JS heap, MB", "all memory, MB", "DOM nodes")
    return table(head, map(row, results.memory))


def _idle_table(results: ElementResults, blocks: int) -> str:
    def row(name: str) -> tuple[str, ...]:
        create_ms, memory, idle_ms = results.idle[name]
        kb = memory.all_mb * 1000 / blocks
        if name == BASELINE:
            return "a page with nothing on it", "–", "–", "–", f"{idle_ms:.2f}"
        return NAMES[name], f"{create_ms:.2f}", f"{memory.nodes / blocks:.0f}", f"{kb:.1f}", f"{idle_ms:.2f}"

    head = (
        f"{blocks:,} closed blocks of {IDLE_BLOCK_BYTES // KB} KB at rest",
        "to make one, ms",
        "DOM nodes each",
        "memory each, KB",
        "all of them, ms/s",
    )
    return table(head, map(row, results.idle))


def _goals(results: ElementResults, sizes: Sequence[int]) -> tuple[Goal, ...]:
    first, last, compared_kb = sizes[0], sizes[-1], _compared_size(sizes)
    own_ms = [median_cost(results.each[OURS, size]).total for size in sizes]
    growth, paced_ratio = own_ms[-1] / own_ms[0], _ratio_to_ours(_paced_costs(results), PEER, sizes)
    single_ratio, burst_ratio = (
        _ratio_to_ours(costs_by_size, PEER, sizes) for costs_by_size in (results.each, results.bursts)
    )
    closed = max(median_cost(results.closed[OURS, size]).total for size in sizes)
    idle_ms = results.idle[OURS].idle_ms - results.idle[BASELINE].idle_ms
    return (
        Goal(
            f"an open block is flat: a delta at {last:,} KB costs at most {MAX_GROWTH} × one at {first} KB",
            f"{growth:.2f} × ({own_ms[-1]:.2f} ms)",
            growth <= MAX_GROWTH,
        ),
        Goal(
            f"a delta at {compared_kb} KB costs Streamdown at least {MIN_RATIO} times as much",
            f"{paced_ratio:.1f} × by the clock; {single_ratio:.1f} × where each is drawn alone; "
            f"{burst_ratio:.1f} × where {DELTAS_PER_FRAME} come in a frame",
            paced_ratio >= MIN_RATIO,
        ),
        Goal(
            f"a closed block costs nothing while it thinks: at most {MAX_CLOSED_MS} ms per delta",
            f"{closed:.2f} ms",
            closed <= MAX_CLOSED_MS,
        ),
        Goal(
            f"closed blocks cost nothing at rest: all of them at most {MAX_IDLE_MS} ms in a second",
            f"{max(idle_ms, 0):.2f} ms more than a page with nothing on it",
            idle_ms <= MAX_IDLE_MS,
        ),
    )


if __name__ == "__main__":
    from benchmarks.report import report_text

    print(report_text([measure(sizes=(1, 32, 500), rounds=5, deltas=40, seconds=5, blocks=1_000)]))
