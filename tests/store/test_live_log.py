"""The newest lines of a running turn, as readers get them from memory."""

from hypothesis import given
from hypothesis import strategies as st

from thinkaloud.gateway.store.engine.database import Batch
from thinkaloud.gateway.store.log.live import LiveLog

COMMITS = st.lists(st.lists(st.integers(1, 3_000), min_size=1, max_size=3), min_size=1, max_size=12)
"""The sizes of the lines of each commit. Some are joined to one text, and some are not."""


def commit(live: LiveLog, lines: list[bytes], *, cached_bytes: int) -> None:
    """Commit lines, as the log does."""
    for line in lines:
        live.add(line, last=False)
    first, drained = live.drain()
    live.take_saved(Batch(live.turn, live.epoch, first, first + len(drained) - 1, b"\n".join(drained)))
    live.publish(first, drained, cached_bytes)


@given(COMMITS, st.sampled_from((10, 5_000, 1_000_000)))
def test_lines_that_are_cached_are_the_newest_of_the_log(sizes: list[list[int]], cached_bytes: int) -> None:
    live, lines = LiveLog(1, 0), list[bytes]()
    new: list[bytes] = []
    for commit_sizes in sizes:
        new = [b"%d" % (len(lines) + index) + b"-" * size for index, size in enumerate(commit_sizes)]
        commit(live, new, cached_bytes=cached_bytes)
        lines += new
        for after in range(live.first_cached - 1, len(lines)):
            span = live.span(after, saved=True)
            assert (span.first, list(span.lines)) == (after + 1, lines[after + 1 :])
    assert live.first_cached < len(lines)
    assert (live.all_lines() == lines) is (live.first_cached == 0)
    kept = sum(map(len, lines[live.first_cached :]))
    newest = sum(map(len, new))
    assert kept <= cached_bytes + newest + 4096


def test_readers_at_the_same_place_share_what_they_read() -> None:
    live = LiveLog(1, 0)
    commit(live, [b"a", b"b"], cached_bytes=100)
    first = live.span(0, saved=True)
    assert live.span(0, saved=True) is first
    assert live.span(-1, saved=True).lines == (b"a", b"b")
    assert not live.span(0, saved=False).saved
    commit(live, [b"c"], cached_bytes=100)
    assert live.span(0, saved=True).lines == (b"b", b"c")
