"""What it costs to tell thought from answer in text that comes four characters at a time.

The cost of a delta must not depend on how much came before it. Every way of splitting gets the same deltas,
and what it makes of them is checked: ours must be right, of the others the report says whether they are.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.clock import Timing, Work, race
from benchmarks.report import Goal, Section, WrongAnswer, table
from benchmarks.rivals import CLOSE, OPEN, PerCharacter, Resplitting, Rival, peer
from benchmarks.words import prose
from thinkaloud.canon import Kind
from thinkaloud.dialects import PROFILES
from thinkaloud.dialects.think_tags import splitter

TITLE = "Splitting `<think>` text"
DELTA = 4
MOST_NANOSECONDS = 600
MOST_GROWTH = 1.25
KIB = 1024

Makers = dict[str, Callable[[], Rival]]

_ANYWHERE = "Thinkaloud, tags anywhere"
_OURS: Makers = {
    "Thinkaloud, tags at the beginning": lambda: splitter(PROFILES["think"]),
    _ANYWHERE: lambda: splitter(PROFILES["think_anywhere"]),
}
_RESPLITTING = "the whole text again"
_RESPLIT_SIZES = (4 * KIB, 8 * KIB, 16 * KIB)
"""Larger ones would take longer than all the rest."""
_NEARLY_TAGS = "<<th a<b <thin </thin</ <think "


class Text(NamedTuple):
    """A text in deltas, and what must come out."""

    deltas: list[str]
    thought: str
    answer: str


class Found(NamedTuple):
    """What one way of splitting showed on one text: nanoseconds per delta, and whether it was right."""

    nanos: Timing
    right: bool


Race = dict[str, dict[int, Found]]
"""By name and by size of text."""


def measure(*, sizes: tuple[int, ...], rounds: int) -> Section:
    """Race all of them on every kind of text and at every size."""
    name, make_peer = peer()
    makers: Makers = {**_OURS, "per character": PerCharacter}
    if make_peer is not None:
        makers[name] = make_peer
    absent = [] if make_peer else [[name, "not installed"]]
    naive: Makers = {_RESPLITTING: Resplitting}
    parts = [_rights(makers | naive, absent)]
    goals = []
    for kind, make in _KINDS.items():
        found = _race(makers, {size: make(size) for size in sizes}, rounds)
        head = (f"{kind}, ns/delta", *map(_size, sizes), "growth", "× ours")
        parts.append(table(head, [*_rows(found), *absent]))
        goals.append(_goal(kind, [found[ours] for ours in _OURS]))
    slow = _race(_OURS | naive, {size: _one_block(size) for size in _RESPLIT_SIZES}, min(rounds, 3))
    head = ("one block of thought, ns/delta", *map(_size, _RESPLIT_SIZES), "growth", "× ours")
    parts.append(table(head, _rows(slow)))
    return Section(TITLE, "\n\n".join(parts), tuple(goals))


def _race(makers: Makers, texts: dict[int, Text], rounds: int) -> Race:
    found: Race = {name: {} for name in makers}
    for size, text in texts.items():
        story = (text.thought, text.answer)
        right = {name: _split(make, text.deltas) == story for name, make in makers.items()}
        if wrong := [name for name in _OURS if not right[name]]:
            raise WrongAnswer(f"{wrong} did not split a text of {_size(size)} as it was written")
        for name, timing in race({name: _work(make, text) for name, make in makers.items()}, rounds).items():
            found[name][size] = Found(timing.per(len(text.deltas)).times(1e9), right[name])
    return found


def _work(make: Callable[[], Rival], text: Text) -> Work:
    def run() -> None:
        feed = make().feed
        for delta in text.deltas:
            for _ in feed(delta):
                pass

    return run


def _split(make: Callable[[], Rival], deltas: list[str]) -> tuple[str, str]:
    """The thought and the answer that a splitter makes of some deltas."""
    rival = make()
    pieces = [piece for delta in deltas for piece in rival.feed(delta)]
    pieces += rival.close()
    said = {
        kind: "".join(piece[1] for piece in pieces if isinstance(piece, tuple) and piece[0] is kind)
        for kind in (Kind.REASONING, Kind.TEXT)
    }
    return said[Kind.REASONING], said[Kind.TEXT]


def _rights(makers: Makers, absent: list[list[str]]) -> str:
    """Who splits `<think>plan</think>done` right when a tag comes in one delta, and when it is cut."""
    whole = [OPEN, "plan", CLOSE, "done"]
    cut = ["<thi", "nk>p", "lan<", "/thi", "nk>d", "one"]
    rows = [
        [name, *("right" if _split(make, deltas) == ("plan", "done") else "wrong" for deltas in (whole, cut))]
        for name, make in makers.items()
    ]
    return table(("", "tag in a delta of its own", "tag cut"), [*rows, *absent])


def _rows(found: Race) -> Iterator[list[str]]:
    for name, by_size in found.items():
        last = by_size[max(by_size)].nanos.least
        yield [
            name,
            *map(_cell, by_size.values()),
            f"{_growth(by_size):.2f}",
            f"{last / found[_ANYWHERE][max(by_size)].nanos.least:.1f}",
        ]


def _growth(by_size: dict[int, Found]) -> float:
    """What a delta of the largest text costs, in deltas of the smallest."""
    return by_size[max(by_size)].nanos.least / by_size[min(by_size)].nanos.least


def _cell(found: Found) -> str:
    return f"{found.nanos.least:,.0f} ({found.nanos.middle:,.0f})" + ("" if found.right else " wrong")


def _goal(kind: str, ours: list[dict[int, Found]]) -> Goal:
    slowest = max(result.nanos.least for by_size in ours for result in by_size.values())
    growth = max(map(_growth, ours))
    largest = _size(max(ours[0]))
    return Goal(
        f"splitter, {kind}: at most {MOST_NANOSECONDS} ns per delta of {DELTA} characters, flat to {largest}",
        f"at most {slowest:,.0f} ns, {largest} costs {growth:.2f} × {_size(min(ours[0]))}",
        slowest <= MOST_NANOSECONDS and growth <= MOST_GROWTH,
    )


def _size(size: int) -> str:
    return f"{size // KIB:,} KB" if size < KIB * KIB else f"{size // KIB // KIB} MB"


def _text(thought: str, answer: str) -> Text:
    said = f"{OPEN}{thought}{CLOSE}{answer}" if thought else answer
    return Text([said[at : at + DELTA] for at in range(0, len(said), DELTA)], thought, answer)


def _plain(size: int) -> Text:
    return _text("", prose(size))


def _one_block(size: int) -> Text:
    return _text(prose(size // 2), prose(size // 2 - len(OPEN + CLOSE)))


def _nearly_tags(size: int) -> Text:
    """Beginnings of tags and none that is whole, so that something is held back all the time."""
    junk = _NEARLY_TAGS * (size // len(_NEARLY_TAGS) + 1)
    return _text(junk[: size // 2], junk[: size // 2 - len(OPEN + CLOSE)])


_KINDS = {
    "plain text": _plain,
    "one block of thought": _one_block,
    "full of `<`": _nearly_tags,
}
