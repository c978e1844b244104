"""The metrics of the gateway, for Prometheus.

Each gateway has a registry of its own, so two gateways in one process do not share counts, and no metric of
the process or of other libraries appears. Label values come from closed sets (route templates, states,
statuses), so that no caller can add time series without bound.
"""

from collections.abc import Callable, Iterable

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.metrics_core import Metric

from thinkaloud.gateway.store.log.event_log import CommitStats

MEDIA_TYPE = CONTENT_TYPE_LATEST
SECONDS_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""From a read in memory to a disk in trouble. The latency goals of 50 and 100 ms are bucket bounds."""


class Metrics:
    """All metrics of one gateway."""

    def __init__(self) -> None:
        self._registry = _Registry()
        self._requests = self._counter("thinkaloud_requests_total", "Requests answered.", "route", "status")
        self._request_seconds = self._histogram(
            "thinkaloud_request_seconds", "Time to respond, streams excluded.", "route"
        )
        self._turns_started = self._counter("thinkaloud_turns_started_total", "Turns started.")
        self._turns_ended = self._counter("thinkaloud_turns_ended_total", "Turns ended, by state.", "state")
        self._log_entries = self._counter("thinkaloud_log_entries_total", "Log entries committed.")
        self._log_bytes = self._counter("thinkaloud_log_bytes_total", "Bytes of log entries committed.")
        self._commit_seconds = self._histogram(
            "thinkaloud_commit_seconds", "Duration of each commit of the log."
        )
        self._live_turns = self._gauge("thinkaloud_turns_live", "Turns running now.")
        self._live_readers = self._gauge("thinkaloud_readers_live", "Readers of streams now.")

    def add_gauge(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        """Add a gauge whose value is read at each scrape."""
        self._gauge(name, help_text).set_function(read)

    def request_answered(self, route: str, status: int, seconds: float | None) -> None:
        """Count a request. `route` is a path template; `seconds` is None for a stream."""
        self._requests.labels(route, str(status)).inc()
        if seconds is not None:
            self._request_seconds.labels(route).observe(seconds)

    def turn_started(self) -> None:
        """Count a turn that started."""
        self._live_turns.inc()
        self._turns_started.inc()

    def turn_ended(self, state: str) -> None:
        """Count a turn that ended."""
        self._live_turns.dec()
        self._turns_ended.labels(state).inc()

    def reader_joined(self) -> None:
        """Count a reader that opened a stream."""
        self._live_readers.inc()

    def reader_left(self) -> None:
        """Count a reader that left its stream."""
        self._live_readers.dec()

    def committed(self, commit: CommitStats) -> None:
        """Count a commit. This is the `on_commit` of `EventLog`."""
        self._log_entries.inc(commit.entries)
        self._log_bytes.inc(commit.size_bytes)
        self._commit_seconds.observe(commit.seconds)

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self._registry)

    def _counter(self, name: str, help_text: str, *labels: str) -> Counter:
        return Counter(name, help_text, labels, registry=self._registry)

    def _gauge(self, name: str, help_text: str) -> Gauge:
        return Gauge(name, help_text, registry=self._registry)

    def _histogram(self, name: str, help_text: str, *labels: str) -> Histogram:
        return Histogram(name, help_text, labels, registry=self._registry, buckets=SECONDS_BUCKETS)


class _Registry(CollectorRegistry):
    """A registry without the `_created` series of counters and histograms.

    They double the number of time series. The library can leave them out only for the whole process.
    """

    def collect(self) -> Iterable[Metric]:
        """Return the metrics without their `_created` samples."""
        for metric in super().collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric
