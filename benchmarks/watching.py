"""How often the watcher of loops is wrong, and what it costs per delta.

The labelled streams are made up by the tests. Beside them are texts that nobody wrote for it: what real
models thought and said, where recordings of them are at hand, and the modules of Python's standard library.
"""

import json
import sysconfig
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

from tests.agents.labelled_streams import Stream, first_notice, streams
from tests.dialects.recorded import SHARED

from benchmarks.clock import Timing, race
from benchmarks.report import Goal, Section, WrongAnswer, table
from benchmarks.words import words
from thinkaloud import Entry, Turn, apply
from thinkaloud.agents.watching import Loops, Watch
from thinkaloud.canon import BlockGrew, BlockStarted, Kind

TITLE = "Watching for loops"
MOST_MISSED = 0.12
MOST_GROWTH = 1.5
READ = 200_000
"""Characters of a file that are read."""

Found = list[tuple[Stream, int | None]]


def measure(*, files: int, deltas: tuple[int, ...], rounds: int) -> Section:
    """Watch the labelled streams, this many files of Python's own, and turns of several lengths."""
    found = [(stream, first_notice(stream)) for stream in streams()]
    if any(at is not None and at < (stream.onset or 0) for stream, at in found):
        raise WrongAnswer("a loop was noticed before it began")
    looping = [(stream, at) for stream, at in found if stream.onset is not None]
    healthy = [(stream, at) for stream, at in found if stream.onset is None]
    others = {
        "thoughts and answers of real models": _alarms(_recorded()),
        "modules of Python's standard library": _alarms(_modules(files)),
    }
    taken = {count: _timed(count, rounds) for count in deltas}
    parts = [_misses(looping), _false_alarms(healthy, others), _costs(taken)]
    return Section(TITLE, "\n\n".join(parts), (*_rates(looping, healthy), _flat(taken)))


def _rates(looping: Found, healthy: Found) -> tuple[Goal, Goal]:
    wrong = sum(at is not None for _, at in healthy)
    missed = sum(at is None for _, at in looping)
    return (
        Goal("no healthy stream is said to loop", f"{wrong} of {len(healthy)}", wrong == 0),
        Goal(
            f"at most {MOST_MISSED:.0%} of loops are missed, hard ones included",
            f"{missed} of {len(looping)} ({missed / len(looping):.1%})",
            missed <= MOST_MISSED * len(looping),
        ),
    )


def _misses(looping: Found) -> str:
    """How far each family went before it was noticed."""
    families: dict[str, list[int | None]] = defaultdict(list)
    for stream, at in looping:
        families[stream.family].append(None if at is None else at - (stream.onset or 0))
    rows = []
    for family, after in families.items():
        seen = [chars for chars in after if chars is not None]
        far = (f"{median(seen):,.0f}", f"{max(seen):,}") if seen else ("–", "–")
        rows.append((family, str(len(after)), str(len(after) - len(seen)), *far))
    return table(("looping", "streams", "missed", "noticed after, characters", "most"), rows)


def _false_alarms(healthy: Found, others: dict[str, tuple[int, int]]) -> str:
    families: dict[str, list[int | None]] = defaultdict(list)
    for stream, at in healthy:
        families[stream.family].append(at)
    counts = {name: (len(after), sum(at is not None for at in after)) for name, after in families.items()}
    rows = ((name, f"{all_:,}", str(wrong)) for name, (all_, wrong) in (counts | others).items() if all_)
    return table(("healthy", "streams", "false alarms"), rows)


def _alarms(texts: Iterable[str]) -> tuple[int, int]:
    """How many texts there are, and how many of them are said to loop."""
    told = [bool(Loops().feed(text)) for text in texts]
    return len(told), sum(told)


def _recorded() -> Iterator[str]:
    for path in sorted(SHARED.glob("*/*/expected.json")):
        said = json.loads(path.read_text("utf-8"))
        yield from (text for text in (said.get("reasoning"), said.get("answer")) if text)


def _modules(most: int) -> Iterator[str]:
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py"))[:most]:
        if "site-packages" not in path.parts:
            yield path.read_text("utf-8", "replace")[:READ]


def _timed(deltas: int, rounds: int) -> Timing:
    """Nanoseconds per delta of a word."""
    turn = Turn()
    apply(turn, Entry(0, BlockStarted(0, Kind.REASONING)))
    told = [Entry(seq, BlockGrew(0, word), seq) for seq, word in enumerate(words(deltas, seed=5), 1)]
    return race({"watch": partial(_watch, turn, told)}, rounds)["watch"].per(deltas).times(1e9)


def _watch(turn: Turn, told: list[Entry]) -> None:
    watch = Watch()
    for entry in told:
        watch.feed(turn, entry)


def _flat(taken: dict[int, Timing]) -> Goal:
    (fewest, first), (most, last) = min(taken.items()), max(taken.items())
    growth = last.least / first.least
    return Goal(
        f"watching is flat: a delta of {most:,} costs at most {MOST_GROWTH} × one of {fewest:,}",
        f"{growth:.2f} × ({last.least:,.0f} ns)",
        growth <= MOST_GROWTH,
    )


def _costs(taken: dict[int, Timing]) -> str:
    rows = ((f"{count:,}", f"{nanos.least:,.0f}", f"{nanos.middle:,.0f}") for count, nanos in taken.items())
    return table(("deltas of a word in one block", "ns/delta", "median"), rows)
