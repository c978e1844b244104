"""Cost of separating reasoning from answer in text that arrives four characters at a time.

The cost of a delta must not depend on the length of the text before it. Every splitter gets the same deltas,
and its result is checked: ours must be correct, and the report says which of the others are.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.report import Goal, Section, WrongAnswer, table
from benchmarks.sample_text import prose
from benchmarks.tag_splitters import CLOSE, OPEN, PerCharacter, ResplitAll, TagSplitter, pydantic_ai_splitter
from benchmarks.timing import Timing, Work, race
from thinkaloud.core.canon import Kind
from thinkaloud.core.dialects import PROFILES
from thinkaloud.core.dialects.tags.splitter import make_splitter

TITLE = "Splitting `<think>` text"
DELTA_CHARACTERS = 4
MAX_NANOSECONDS = 600
MAX_GROWTH = 1.25
KIB = 1024

SplitterFactories = dict[str, Callable[[], TagSplitter]]

_ANYWHERE = "Thinkaloud, tags anywhere"
_THINKALOUD_SPLITTERS: SplitterFactories = {
    "Thinkaloud, tags at the beginning": lambda: make_splitter(PROFILES["think"]),
    _ANYWHERE: lambda: make_splitter(PROFILES["think_anywhere"]),
}
_RESPLITTING = "the whole text again"
_RESPLIT_SIZES = (4 * KIB, 8 * KIB, 16 * KIB)
"""Larger texts would take longer than all other benchmarks together."""
_NEARLY_TAGS = "<<th a<b <thin </thin</ <think "


class SampleText(NamedTuple):
    """A text in deltas, and the expected result."""

    deltas: list[str]
    thought: str
    answer: str


class SplitResult(NamedTuple):
    """The result of one splitter on one text: nanoseconds per delta, and whether it was correct."""

    nanos: Timing
    right: bool


ResultsBySize = dict[str, dict[int, SplitResult]]
"""By name and by size of text."""


def measure(*, sizes: tuple[int, ...], rounds: int) -> Section:
    """Measure all splitters on every kind and size of text."""
    name, make_peer = pydantic_ai_splitter()
    makers: SplitterFactories = {**_THINKALOUD_SPLITTERS, "per character": PerCharacter}
    if make_peer is not None:
        makers[name] = make_peer
    absent = [] if make_peer else [[name, "not installed"]]
    naive: SplitterFactories = {_RESPLITTING: ResplitAll}
    parts = [_correctness_table(makers | naive, absent)]
    goals = []
    for kind, make in _KINDS.items():
        results = _race_splitters(makers, {size: make(size) for size in sizes}, rounds)
        head = (f"{kind}, ns/delta", *map(_size, sizes), "growth", "× ours")
        parts.append(table(head, [*_rows(results), *absent]))
        goals.append(_goal(kind, [results[splitter_name] for splitter_name in _THINKALOUD_SPLITTERS]))
    slow = _race_splitters(
        _THINKALOUD_SPLITTERS | naive, {size: _one_block(size) for size in _RESPLIT_SIZES}, min(rounds, 3)
    )
    head = ("one block of thought, ns/delta", *map(_size, _RESPLIT_SIZES), "growth", "× ours")
    parts.append(table(head, _rows(slow)))
    return Section(TITLE, "\n\n".join(parts), tuple(goals))


def _race_splitters(makers: SplitterFactories, texts: dict[int, SampleText], rounds: int) -> ResultsBySize:
    results: ResultsBySize = {name: {} for name in makers}
    for size, text in texts.items():
        expected_texts = (text.thought, text.answer)
        right = {name: _split_texts(make, text.deltas) == expected_texts for name, make in makers.items()}
        if wrong := [name for name in _THINKALOUD_SPLITTERS if not right[name]]:
            raise WrongAnswer(f"{wrong} did not split a text of {_size(size)} as it was written")
        for name, timing in race({name: _work(make, text) for name, make in makers.items()}, rounds).items():
            results[name][size] = SplitResult(timing.per(len(text.deltas)).times(1e9), right[name])
    return results


def _work(make: Callable[[], TagSplitter], text: SampleText) -> Work:
    def run() -> None:
        feed = make().feed
        for delta in text.deltas:
            for _ in feed(delta):
                pass

    return run


def _split_texts(make: Callable[[], TagSplitter], deltas: list[str]) -> tuple[str, str]:
    """The reasoning and the answer that a splitter returns for some deltas."""
    tag_splitter = make()
    pieces = [piece for delta in deltas for piece in tag_splitter.feed(delta)]
    pieces += tag_splitter.close()
    texts = {
        kind: "".join(piece[1] for piece in pieces if isinstance(piece, tuple) and piece[0] is kind)
        for kind in (Kind.REASONING, Kind.TEXT)
    }
    return texts[Kind.REASONING], texts[Kind.TEXT]


def _correctness_table(makers: SplitterFactories, absent: list[list[str]]) -> str:
    """Which splitters handle `<think>plan</think>done` correctly, with whole tags and with split ones."""
    whole = [OPEN, "plan", CLOSE, "done"]
    cut = ["<thi", "nk>p", "lan<", "/thi", "nk>d", "one"]
    rows = [
        [
            name,
            *(
                "right" if _split_texts(make, deltas) == ("plan", "done") else "wrong"
                for deltas in (whole, cut)
            ),
        ]
        for name, make in makers.items()
    ]
    return table(("", "tag in a delta of its own", "tag cut"), [*rows, *absent])


def _rows(results: ResultsBySize) -> Iterator[list[str]]:
    for name, by_size in results.items():
        last = by_size[max(by_size)].nanos.least
        yield [
            name,
            *map(_cell, by_size.values()),
            f"{_growth(by_size):.2f}",
            f"{last / results[_ANYWHERE][max(by_size)].nanos.least:.1f}",
        ]


def _growth(by_size: dict[int, SplitResult]) -> float:
    """The cost of a delta of the largest text, relative to the smallest."""
    return by_size[max(by_size)].nanos.least / by_size[min(by_size)].nanos.least


def _cell(result: SplitResult) -> str:
    return f"{result.nanos.least:,.0f} ({result.nanos.median:,.0f})" + ("" if result.right else " wrong")


def _goal(kind: str, thinkaloud_results: list[dict[int, SplitResult]]) -> Goal:
    slowest = max(result.nanos.least for by_size in thinkaloud_results for result in by_size.values())
    growth = max(map(_growth, thinkaloud_results))
    largest = _size(max(thinkaloud_results[0]))
    return Goal(
        f"splitter, {kind}: at most {MAX_NANOSECONDS} ns per delta of {DELTA_CHARACTERS} characters, "
        f"flat to {largest}",
        f"at most {slowest:,.0f} ns, {largest} costs {growth:.2f} × {_size(min(thinkaloud_results[0]))}",
        slowest <= MAX_NANOSECONDS and growth <= MAX_GROWTH,
    )


def _size(size: int) -> str:
    return f"{size // KIB:,} KB" if size < KIB * KIB else f"{size // KIB // KIB} MB"


def _sample(thought: str, answer: str) -> SampleText:
    full_text = f"{OPEN}{thought}{CLOSE}{answer}" if thought else answer
    return SampleText(
        [full_text[start : start + DELTA_CHARACTERS] for start in range(0, len(full_text), DELTA_CHARACTERS)],
        thought,
        answer,
    )


def _plain(size: int) -> SampleText:
    return _sample("", prose(size))


def _one_block(size: int) -> SampleText:
    return _sample(prose(size // 2), prose(size // 2 - len(OPEN + CLOSE)))


def _nearly_tags(size: int) -> SampleText:
    """Beginnings of tags and none that is whole, so that something is held back all the time."""
    junk = _NEARLY_TAGS * (size // len(_NEARLY_TAGS) + 1)
    return _sample(junk[: size // 2], junk[: size // 2 - len(OPEN + CLOSE)])


_KINDS = {
    "plain text": _plain,
    "one block of thought": _one_block,
    "full of `<`": _nearly_tags,
}
