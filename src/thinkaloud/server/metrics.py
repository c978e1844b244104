"""What the gateway counts, in Prometheus's text format, written by hand: three kinds of numbers, one page.

A label's value comes from a closed set (templates of routes, never paths; states; statuses), so that no
caller can make the page grow.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator

from thinkaloud.store.log import Committed

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""From a look at memory to a disk in trouble; the goals of 50 and 100 ms are borders of their own."""

Labels = tuple[str, ...]


class Counter:
    """A number that only grows, one for each combination of labels."""

    kind = "counter"

    def __init__(self, name: str, about: str, labels: Labels = ()) -> None:
        self.name, self.about, self.labels = name, about, labels
        self._counts: dict[Labels, float] = {} if labels else {(): 0}

    def add(self, *values: str, by: float = 1) -> None:
        """Count one more, or so many."""
        self._counts[values] = self._counts.get(values, 0) + by

    def lines(self) -> Iterator[str]:
        """As text, in the order of the labels."""
        for values, count in sorted(self._counts.items()):
            yield f"{self.name}{_labelled(self.labels, values)} {_number(count)}"


class Gauge:
    """A number that goes up and down, read when somebody looks."""

    kind = "gauge"

    def __init__(self, name: str, about: str, read: Callable[[], float]) -> None:
        self.name, self.about, self._read = name, about, read

    def lines(self) -> Iterator[str]:
        """As text."""
        yield f"{self.name} {_number(self._read())}"


class Histogram:
    """How often something took how long, one for each combination of labels."""

    kind = "histogram"

    def __init__(
        self, name: str, about: str, labels: Labels = (), borders: tuple[float, ...] = SECONDS
    ) -> None:
        self.name, self.about, self.labels, self._borders = name, about, labels, borders
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}
        if not labels:
            self._at(())

    def saw(self, value: float, *values: str) -> None:
        """Take one more into account; a border belongs to what is below it."""
        self._at(values)[bisect_left(self._borders, value)] += 1
        self._sums[values] += value

    def lines(self) -> Iterator[str]:
        """As text: what each border has below it, the sum, and how many there were."""
        names = (*self.labels, "le")
        for values, counts in sorted(self._counts.items()):
            below = 0
            for border, count in zip((*self._borders, float("inf")), counts, strict=True):
                below += count
                yield f"{self.name}_bucket{_labelled(names, (*values, _number(border)))} {below}"
            told = _labelled(self.labels, values)
            yield f"{self.name}_sum{told} {_number(self._sums[values])}"
            yield f"{self.name}_count{told} {below}"

    def _at(self, values: Labels) -> list[int]:
        if values not in self._counts:
            self._counts[values] = [0] * (len(self._borders) + 1)
            self._sums[values] = 0.0
        return self._counts[values]


class Metrics:
    """Everything that is counted; the parts of the gateway tell it what happened."""

    def __init__(self) -> None:
        self._live_turns = self._live_readers = 0
        self._requests = Counter("thinkaloud_requests_total", "Requests answered.", ("route", "status"))
        self._took = Histogram("thinkaloud_request_seconds", "Time to answer, without streams.", ("route",))
        self._started = Counter("thinkaloud_turns_started_total", "Turns begun.")
        self._ended = Counter("thinkaloud_turns_ended_total", "Turns ended, by how.", ("state",))
        self._entries = Counter("thinkaloud_log_entries_total", "Entries of turns made durable.")
        self._bytes = Counter("thinkaloud_log_bytes_total", "Bytes of entries made durable.")
        self._commits = Histogram("thinkaloud_commit_seconds", "Time of each commit of the log.")
        self._all: list[Counter | Gauge | Histogram] = [
            self._requests,
            self._took,
            self._started,
            self._ended,
            self._entries,
            self._bytes,
            self._commits,
        ]
        self.watch("thinkaloud_turns_live", "Turns that run now.", lambda: self._live_turns)
        self.watch("thinkaloud_readers_live", "Readers of streams now.", lambda: self._live_readers)

    def watch(self, name: str, about: str, read: Callable[[], float]) -> None:
        """Show a number that somebody else keeps."""
        self._all.append(Gauge(name, about, read))

    def request(self, route: str, status: int, seconds: float | None) -> None:
        """A request was answered; `route` is a template, and a stream has no time to answer."""
        self._requests.add(route, str(status))
        if seconds is not None:
            self._took.saw(seconds, route)

    def turn_started(self) -> None:
        """A turn began."""
        self._live_turns += 1
        self._started.add()

    def turn_ended(self, state: str) -> None:
        """A turn that began here is over."""
        self._live_turns -= 1
        self._ended.add(state)

    def reader_joined(self) -> None:
        """Somebody began to read a stream."""
        self._live_readers += 1

    def reader_left(self) -> None:
        """Somebody ceased to."""
        self._live_readers -= 1

    def committed(self, told: Committed) -> None:
        """The log was written; `EventLog` takes this as its `told`."""
        self._entries.add(by=told.entries)
        self._bytes.add(by=told.size_bytes)
        self._commits.saw(told.seconds)

    def text(self) -> bytes:
        """The page."""
        lines: list[str] = []
        for one in self._all:
            lines += (f"# HELP {one.name} {_about(one.about)}", f"# TYPE {one.name} {one.kind}", *one.lines())
        return "\n".join(lines).encode() + b"\n"


def _labelled(names: Labels, values: Labels) -> str:
    if not names:
        return ""
    told = (f'{name}="{_value(value)}"' for name, value in zip(names, values, strict=True))
    return "{" + ",".join(told) + "}"


def _value(text: str) -> str:
    return _about(text).replace('"', '\\"')


def _about(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if float(value).is_integer() else repr(float(value))
