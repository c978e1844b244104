"""The page of numbers: three kinds, names that cannot clash, values that cannot break out."""

import re

from thinkaloud.server.metrics import Counter, Gauge, Histogram, Metrics
from thinkaloud.store.log import CommitStats

LINE = re.compile(
    r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)"
    r'(?:\{(?P<labels>(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})?'
    r" (?P<value>[-+]?(?:\d+(?:\.\d+)?(?:e-?\d+)?|Inf))"
)


def test_a_counter_counts_for_each_label() -> None:
    counter = Counter("c", "", ("route", "status"))
    counter.add("/a", "200")
    counter.add("/a", "200")
    counter.add("/b", "404", amount=2.5)
    assert list(counter.lines()) == [
        'c{route="/a",status="200"} 2',
        'c{route="/b",status="404"} 2.5',
    ]
    assert list(Counter("none", "", ("x",)).lines()) == []
    assert list(Counter("zero", "").lines()) == ["zero 0"]


def test_a_gauge_is_read_when_somebody_looks() -> None:
    now = [1.0]
    gauge = Gauge("g", "", lambda: now[0])
    assert list(gauge.lines()) == ["g 1"]
    now[0] = 0.5
    assert list(gauge.lines()) == ["g 0.5"]


def test_a_histogram_is_cumulative_and_a_border_belongs_below() -> None:
    histogram = Histogram("h", "", (), (0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 3.0):
        histogram.observe(value)
    assert list(histogram.lines()) == [
        'h_bucket{le="0.1"} 2',
        'h_bucket{le="1"} 3',
        'h_bucket{le="+Inf"} 4',
        "h_sum 3.65",
        "h_count 4",
    ]
    labelled = Histogram("h", "", ("route",), (1.0,))
    labelled.observe(2.0, "/a")
    assert list(labelled.lines())[:2] == ['h_bucket{route="/a",le="1"} 0', 'h_bucket{route="/a",le="+Inf"} 1']
    assert list(Histogram("empty", "", (), (1.0,)).lines())[-1] == "empty_count 0"


def test_a_value_cannot_end_its_label_or_its_line() -> None:
    counter = Counter("c", "", ("state",))
    counter.add('a"} 1\nforged{x="\\')
    [line] = counter.lines()
    assert line == 'c{state="a\\"} 1\\nforged{x=\\"\\\\"} 1'
    assert LINE.fullmatch(line)


def test_the_whole_page_is_well_formed() -> None:
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
    page = metrics.text().decode()
    lines = page.splitlines()
    assert page.endswith("\n")
    assert [line for line in lines if not line.startswith("# ") and not LINE.fullmatch(line)] == []
    names = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(names) == len(set(names))
    assert all(name.startswith("thinkaloud_") for name in names)
    assert "# HELP thinkaloud_unsaved_bytes A line\\nand a \\\\ in it." in lines
    for expected in (
        'thinkaloud_requests_total{route="GET /api/turns/{turn}",status="200"} 1',
        'thinkaloud_requests_total{route="GET /api/turns/{turn}/events",status="200"} 1',
        'thinkaloud_request_seconds_bucket{route="GET /api/turns/{turn}",le="0.005"} 1',
        "thinkaloud_turns_started_total 3",
        'thinkaloud_turns_ended_total{state="done"} 1',
        "thinkaloud_turns_live 2",
        "thinkaloud_readers_live 2",
        "thinkaloud_log_entries_total 12",
        "thinkaloud_log_bytes_total 345",
        "thinkaloud_commit_seconds_count 1",
        "thinkaloud_unsaved_bytes 7",
    ):
        assert expected in lines
    assert not [line for line in lines if "events" in line and "seconds" in line], (
        "a stream has no time to answer"
    )
