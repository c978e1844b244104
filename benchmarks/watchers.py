"""Error rate of the loop watcher, and its cost per delta.

The labelled streams come from the tests. In addition there are texts that were not written for it: recordings
of real models, if present, and the modules of Python's standard library.
"""

import json
import sysconfig
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

from tests.agents.loop_samples import Stream, first_notice, streams
from tests.dialects.recordings import REAL_RECORDINGS

from benchmarks.report import Goal, Section, WrongAnswer, table
from benchmarks.sample_text import words
from benchmarks.timing import Timing, race
from thinkaloud import Entry, Turn, apply
from thinkaloud.agents.watchers import LoopWatcher, TurnWatcher
from thinkaloud.core.canon import BlockGrew, BlockStarted, Kind

TITLE = "Watching for loops"
MAX_MISSED = 0.12
MAX_GROWTH = 1.5
READ_CHARACTERS = 200_000
"""Characters to read of each file."""

Detections = list[tuple[Stream, int | None]]


def measure(*, files: int, deltas: tuple[int, ...], rounds: int) -> Section:
    """Watch the labelled streams, this many files of Python's library, and turns of several lengths."""
    detections = [(stream, first_notice(stream)) for stream in streams()]
    if any(at is not None and at < (stream.onset or 0) for stream, at in detections):
        raise WrongAnswer("a loop was noticed before it began")
    looping = [(stream, at) for stream, at in detections if stream.onset is not None]
    healthy = [(stream, at) for stream, at in detections if stream.onset is None]
    other_texts = {
        "thoughts and answers of real models": _count_alarms(_recorded_texts()),
        "modules of Python's standard library": _count_alarms(_module_texts(files)),
    }
    timings = {count: _time_watcher(count, rounds) for count in deltas}
    parts = [_missed_loops_table(looping), _false_alarms_table(healthy, other_texts), _cost_table(timings)]
    return Section(TITLE, "\n\n".join(parts), (*_rates(looping, healthy), _flat_goal(timings)))


def _rates(looping: Detections, healthy: Detections) -> tuple[Goal, Goal]:
    wrong = sum(at is not None for _, at in healthy)
    missed = sum(at is None for _, at in looping)
    return (
        Goal("no healthy stream is said to loop", f"{wrong} of {len(healthy)}", wrong == 0),
        Goal(
            f"at most {MAX_MISSED:.0%} of loops are missed, hard ones included",
            f"{missed} of {len(looping)} ({missed / len(looping):.1%})",
            missed <= MAX_MISSED * len(looping),
        ),
    )


def _missed_loops_table(looping: Detections) -> str:
    """How many characters of each family passed before the notice."""
    families: dict[str, list[int | None]] = defaultdict(list)
    for stream, at in looping:
        families[stream.family].append(None if at is None else at - (stream.onset or 0))
    rows = []
    for family, after in families.items():
        distances = [chars for chars in after if chars is not None]
        distance_cells = (f"{median(distances):,.0f}", f"{max(distances):,}") if distances else ("–", "–")
        rows.append((family, str(len(after)), str(len(after) - len(distances)), *distance_cells))
    return table(("looping", "streams", "missed", "noticed after, characters", "most"), rows)


def _false_alarms_table(healthy: Detections, other_texts: dict[str, tuple[int, int]]) -> str:
    families: dict[str, list[int | None]] = defaultdict(list)
    for stream, at in healthy:
        families[stream.family].append(at)
    counts = {name: (len(after), sum(at is not None for at in after)) for name, after in families.items()}
    rows = (
        (name, f"{total:,}", str(wrong)) for name, (total, wrong) in (counts | other_texts).items() if total
    )
    return table(("healthy", "streams", "false alarms"), rows)


def _count_alarms(texts: Iterable[str]) -> tuple[int, int]:
    """The number of texts, and the number reported as loops."""
    alarms = [bool(LoopWatcher().feed(text)) for text in texts]
    return len(alarms), sum(alarms)


def _recorded_texts() -> Iterator[str]:
    for path in sorted(REAL_RECORDINGS.glob("*/*/expected.json")):
        recording = json.loads(path.read_text("utf-8"))
        yield from (text for text in (recording.get("reasoning"), recording.get("answer")) if text)


def _module_texts(most: int) -> Iterator[str]:
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py"))[:most]:
        if "site-packages" not in path.parts:
            yield path.read_text("utf-8", "replace")[:READ_CHARACTERS]


def _time_watcher(deltas: int, rounds: int) -> Timing:
    """Nanoseconds per delta of one word."""
    turn = Turn()
    apply(turn, Entry(0, BlockStarted(0, Kind.REASONING)))
    entries = [Entry(seq, BlockGrew(0, word), seq) for seq, word in enumerate(words(deltas, seed=5), 1)]
    return race({"watch": partial(_feed_watcher, turn, entries)}, rounds)["watch"].per(deltas).times(1e9)


def _feed_watcher(turn: Turn, entries: list[Entry]) -> None:
    watch = TurnWatcher()
    for entry in entries:
        watch.feed(turn, entry)


def _flat_goal(timings: dict[int, Timing]) -> Goal:
    (fewest, first), (most, last) = min(timings.items()), max(timings.items())
    growth = last.least / first.least
    return Goal(
        f"watching is flat: a delta of {most:,} costs at most {MAX_GROWTH} × one of {fewest:,}",
        f"{growth:.2f} × ({last.least:,.0f} ns)",
        growth <= MAX_GROWTH,
    )


def _cost_table(timings: dict[int, Timing]) -> str:
    rows = ((f"{count:,}", f"{nanos.least:,.0f}", f"{nanos.median:,.0f}") for count, nanos in timings.items())
    return table(("deltas of a word in one block", "ns/delta", "median"), rows)
