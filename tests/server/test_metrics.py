"""Metrics in the Prometheus text format: names, labels, escaping, and one registry per gateway."""

import re

from prometheus_client import CONTENT_TYPE_LATEST
from prometheus_client.parser import text_string_to_metric_families

from thinkaloud.gateway.server.metrics import MEDIA_TYPE, SECONDS_BUCKETS, Metrics
from thinkaloud.gateway.store.log.event_log import CommitStats

LINE = re.compile(
    r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)"
    r'(?:\{(?P<labels>(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})?'
    r" (?P<value>[-+]?(?:\d+(?:\.\d+)?(?:e-?\d+)?|Inf))"
)
METRICS = {
    "thinkaloud_requests": ("counter", {"route", "status"}),
    "thinkaloud_request_seconds": ("histogram", {"route", "le"}),
    "thinkaloud_turns_started": ("counter", set()),
    "thinkaloud_turns_ended": ("counter", {"state"}),
    "thinkaloud_log_entries": ("counter", set()),
    "thinkaloud_log_bytes": ("counter", set()),
    "thinkaloud_commit_seconds": ("histogram", {"le"}),
    "thinkaloud_turns_live": ("gauge", set()),
    "thinkaloud_readers_live": ("gauge", set()),
    "thinkaloud_unsaved_bytes": ("gauge", set()),
}
"""Every metric with its type and labels. Dashboards depend on them."""


def used_metrics() -> Metrics:
    """Metrics in which everything has been counted at least once."""
    metrics = Metrics()
    metrics.add_gauge("thinkaloud_unsaved_bytes", "A line\nand a \\ in it.", lambda: 7)
    metrics.request_answered("GET /api/turns/{turn}", 200, 0.004)
    metrics.request_answered("GET /api/turns/{turn}/events", 200, None)
    for _ in range(3):
        metrics.turn_started()
        metrics.reader_joined()
    metrics.turn_ended("done")
    metrics.reader_left()
    metrics.committed(CommitStats(entries=12, size_bytes=345, seconds=0.002))
    return metrics


def lines_of(metrics: Metrics) -> list[str]:
    """The lines of the text format."""
    return metrics.text().decode().splitlines()


def test_metric_names_types_and_labels() -> None:
    families = text_string_to_metric_families(used_metrics().text().decode())
    exposed = {
        family.name: (family.type, {label for sample in family.samples for label in sample.labels})
        for family in families
    }
    assert exposed == METRICS
    assert MEDIA_TYPE == CONTENT_TYPE_LATEST


def test_counter_counts_each_label_combination() -> None:
    metrics = Metrics()
    assert "thinkaloud_turns_started_total 0.0" in lines_of(metrics)
    assert not [line for line in lines_of(metrics) if line.startswith("thinkaloud_requests_total")]
    metrics.request_answered("/a", 200, None)
    metrics.request_answered("/a", 200, None)
    metrics.request_answered("/b", 404, None)
    assert [line for line in lines_of(metrics) if line.startswith("thinkaloud_requests_total")] == [
        'thinkaloud_requests_total{route="/a",status="200"} 2.0',
        'thinkaloud_requests_total{route="/b",status="404"} 1.0',
    ]


def test_gauge_is_read_at_each_scrape() -> None:
    metrics, value = Metrics(), [1.0]
    metrics.add_gauge("g", "", lambda: value[0])
    assert "g 1.0" in lines_of(metrics)
    value[0] = 0.5
    assert "g 0.5" in lines_of(metrics)


def test_histogram_is_cumulative_and_includes_the_upper_bound() -> None:
    metrics = Metrics()
    assert "thinkaloud_commit_seconds_count 0.0" in lines_of(metrics)
    for seconds in (0.05, 0.1, 0.5, 30.0):
        metrics.committed(CommitStats(entries=0, size_bytes=0, seconds=seconds))
    lines = lines_of(metrics)
    for expected in (
        'thinkaloud_commit_seconds_bucket{le="0.1"} 2.0',
        'thinkaloud_commit_seconds_bucket{le="1.0"} 3.0',
        'thinkaloud_commit_seconds_bucket{le="+Inf"} 4.0',
        "thinkaloud_commit_seconds_sum 30.65",
        "thinkaloud_commit_seconds_count 4.0",
    ):
        assert expected in lines
    assert sum("commit_seconds_bucket" in line for line in lines) == len(SECONDS_BUCKETS) + 1


def test_label_value_is_escaped() -> None:
    metrics = Metrics()
    metrics.turn_ended('a"} 1\nforged{x="\\')
    [line] = [line for line in lines_of(metrics) if line.startswith("thinkaloud_turns_ended_total")]
    assert line == 'thinkaloud_turns_ended_total{state="a\\"} 1\\nforged{x=\\"\\\\"} 1.0'
    assert LINE.fullmatch(line)


def test_two_gateways_do_not_share_counts() -> None:
    used_metrics()
    assert "thinkaloud_turns_started_total 0.0" in lines_of(Metrics())


def test_metrics_text_is_well_formed() -> None:
    metrics = used_metrics()
    lines = lines_of(metrics)
    assert metrics.text().endswith(b"\n")
    assert [line for line in lines if not line.startswith("# ") and not LINE.fullmatch(line)] == []
    names = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(names) == len(set(names))
    assert all(name.startswith("thinkaloud_") for name in names)
    assert "# HELP thinkaloud_unsaved_bytes A line\\nand a \\\\ in it." in lines
    for expected in (
        'thinkaloud_requests_total{route="GET /api/turns/{turn}",status="200"} 1.0',
        'thinkaloud_requests_total{route="GET /api/turns/{turn}/events",status="200"} 1.0',
        'thinkaloud_request_seconds_bucket{le="0.005",route="GET /api/turns/{turn}"} 1.0',
        "thinkaloud_turns_started_total 3.0",
        'thinkaloud_turns_ended_total{state="done"} 1.0',
        "thinkaloud_turns_live 2.0",
        "thinkaloud_readers_live 2.0",
        "thinkaloud_log_entries_total 12.0",
        "thinkaloud_log_bytes_total 345.0",
        "thinkaloud_commit_seconds_count 1.0",
        "thinkaloud_unsaved_bytes 7.0",
    ):
        assert expected in lines
    assert not [line for line in lines if "events" in line and "seconds" in line], (
        "a stream has no response time"
    )
