"""What the gateway counts, in Prometheus's text format, written by hand: three kinds of numbers, one page.

A label's value comes from a closed set (templates of routes, never paths; states; statuses), so that no
caller can make the page grow.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator

from thinkaloud.store.log import CommitStats

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""From a look at memory to a disk in trouble; the goals of 50 and 100 ms are borders of their own."""

Labels = tuple[str, ...]


class Counter:
    """A number that only grows, one for each combination of labels."""

    kind = "counter"

    def __init__(self, name: str, help_text: str, labels: Labels = ()) -> None:
        self.name, self.help_text, self.labels = name, help_text, labels
        self._counts: dict[Labels, float] = {} if labels else {(): 0}

    def add(self, *values: str, amount: float = 1) -> None:
        """Count one more, or so many."""
        self._counts[values] = self._counts.get(values, 0) + amount

    def lines(self) -> Iterator[str]:
        """As text, in the order of the labels."""
        for values, count in sorted(self._counts.items()):
            yield f"{self.name}{_label_text(self.labels, values)} {_format_number(count)}"


class Gauge:
    """A number that goes up and down, read when somebody looks."""

    kind = "gauge"

    def __init__(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        self.name, self.help_text, self._read = name, help_text, read

    def lines(self) -> Iterator[str]:
        """As text."""
        yield f"{self.name} {_format_number(self._read())}"


class Histogram:
    """How often something took how long, one for each combination of labels."""

    kind = "histogram"

    def __init__(
        self, name: str, help_text: str, labels: Labels = (), buckets: tuple[float, ...] = SECONDS_BUCKETS
    ) -> None:
        self.name, self.help_text, self.labels, self._buckets = name, help_text, labels, buckets
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}
        if not labels:
            self._bucket_counts(())

    def observe(self, value: float, *values: str) -> None:
        """Take one more into account; a border belongs to what is below it."""
        self._bucket_counts(values)[bisect_left(self._buckets, value)] += 1
        self._sums[values] += value

    def lines(self) -> Iterator[str]:
        """As text: what each border has below it, the sum, and how many there were."""
        names = (*self.labels, "le")
        for values, counts in sorted(self._counts.items()):
            cumulative = 0
            for bucket, count in zip((*self._buckets, float("inf")), counts, strict=True):
                cumulative += count
                yield f"{self.name}_bucket{_label_text(names, (*values, _format_number(bucket)))} {cumulative}"
            label_text = _label_text(self.labels, values)
            yield f"{self.name}_sum{label_text} {_format_number(self._sums[values])}"
            yield f"{self.name}_count{label_text} {cumulative}"

    def _bucket_counts(self, values: Labels) -> list[int]:
        if values not in self._counts:
            self._counts[values] = [0] * (len(self._buckets) + 1)
            self._sums[values] = 0.0
        return self._counts[values]


class Metrics:
    """Everything that is counted; the parts of the gateway tell it what happened."""

    def __init__(self) -> None:
        self._live_turns = self._live_readers = 0
        self._requests = Counter("thinkaloud_requests_total", "Requests answered.", ("route", "status"))
        self._request_seconds = Histogram(
            "thinkaloud_request_seconds", "Time to answer, without streams.", ("route",)
        )
        self._turns_started = Counter("thinkaloud_turns_started_total", "Turns begun.")
        self._turns_ended = Counter("thinkaloud_turns_ended_total", "Turns ended, by how.", ("state",))
        self._log_entries = Counter("thinkaloud_log_entries_total", "Entries of turns made durable.")
        self._log_bytes = Counter("thinkaloud_log_bytes_total", "Bytes of entries made durable.")
        self._commit_seconds = Histogram("thinkaloud_commit_seconds", "Time of each commit of the log.")
        self._metrics: list[Counter | Gauge | Histogram] = [
            self._requests,
            self._request_seconds,
            self._turns_started,
            self._turns_ended,
            self._log_entries,
            self._log_bytes,
            self._commit_seconds,
        ]
        self.add_gauge("thinkaloud_turns_live", "Turns that run now.", lambda: self._live_turns)
        self.add_gauge("thinkaloud_readers_live", "Readers of streams now.", lambda: self._live_readers)

    def add_gauge(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        """Show a number that somebody else keeps."""
        self._metrics.append(Gauge(name, help_text, read))

    def request_answered(self, route: str, status: int, seconds: float | None) -> None:
        """A request was answered; `route` is a template, and a stream has no time to answer."""
        self._requests.add(route, str(status))
        if seconds is not None:
            self._request_seconds.observe(seconds, route)

    def turn_started(self) -> None:
        """A turn began."""
        self._live_turns += 1
        self._turns_started.add()

    def turn_ended(self, state: str) -> None:
        """A turn that began here is over."""
        self._live_turns -= 1
        self._turns_ended.add(state)

    def reader_joined(self) -> None:
        """Somebody began to read a stream."""
        self._live_readers += 1

    def reader_left(self) -> None:
        """Somebody ceased to."""
        self._live_readers -= 1

    def committed(self, commit: CommitStats) -> None:
        """The log was written; `EventLog` takes this as its `told`."""
        self._log_entries.add(amount=commit.entries)
        self._log_bytes.add(amount=commit.size_bytes)
        self._commit_seconds.observe(commit.seconds)

    def text(self) -> bytes:
        """The page."""
        lines: list[str] = []
        for metric in self._metrics:
            lines += (
                f"# HELP {metric.name} {_escape_help(metric.help_text)}",
                f"# TYPE {metric.name} {metric.kind}",
                *metric.lines(),
            )
        return "\n".join(lines).encode() + b"\n"


def _label_text(names: Labels, values: Labels) -> str:
    if not names:
        return ""
    pairs = (f'{name}="{_escape_value(value)}"' for name, value in zip(names, values, strict=True))
    return "{" + ",".join(pairs) + "}"


def _escape_value(text: str) -> str:
    return _escape_help(text).replace('"', '\\"')


def _escape_help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _format_number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if float(value).is_integer() else repr(float(value))
