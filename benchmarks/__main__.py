"""`python -m benchmarks` prints the report; `--write` also writes it to docs/performance.md."""

import argparse
import sys
from collections.abc import Callable
from functools import partial

from benchmarks import (
    ask,
    event_log,
    fold,
    gateways,
    prompt_cache,
    read,
    search,
    serve,
    split_tags,
    startup,
    tui,
    watchers,
    web_element,
    web_session,
)
from benchmarks.report import Section, report_text, write_page
from benchmarks.split_tags import KIB

Plan = dict[str, Callable[[], Section]]

QUICK: Plan = {
    read.TITLE: partial(read.measure, deltas=100, rounds=1),
    split_tags.TITLE: partial(split_tags.measure, sizes=(4 * KIB, 16 * KIB), rounds=1),
    fold.TITLE: partial(fold.measure, deltas=(100, 1_000), blocks=(1, 100), rounds=1),
    startup.TITLE: partial(startup.measure, rounds=1),
    ask.TITLE: partial(ask.section, count=60, rounds=1),
    prompt_cache.TITLE: partial(prompt_cache.measure, steps=10),
    event_log.TITLE: partial(event_log.measure, streams=5, seconds=0.2),
    search.TITLE: partial(search.measure, blocks=1_000, rounds=2),
    serve.TITLE: partial(serve.measure, streams=3, seconds=0.3),
    gateways.TITLE: partial(gateways.measure, gateways.QUICK),
    watchers.TITLE: partial(watchers.measure, files=20, deltas=(1_000, 2_000), rounds=1),
    web_element.TITLE: partial(web_element.measure, sizes=(1, 4), rounds=1, deltas=8, seconds=0.2, blocks=10),
    web_session.TITLE: partial(web_session.measure, turns=30, rounds=1),
    tui.TITLE: partial(tui.measure, sizes=(1, 2), peer_sizes=(1, 2), frames=3),
}
"""Small sizes that only check that everything runs and is correct."""

FULL: Plan = {
    read.TITLE: partial(read.measure, deltas=2_000, rounds=11),
    split_tags.TITLE: partial(split_tags.measure, sizes=(16 * KIB, 128 * KIB, KIB * KIB), rounds=5),
    fold.TITLE: partial(fold.measure, deltas=(1_000, 10_000, 100_000), blocks=(1, 100, 10_000), rounds=9),
    startup.TITLE: partial(startup.measure, rounds=15),
    ask.TITLE: partial(ask.section, count=2_000, rounds=5),
    prompt_cache.TITLE: partial(prompt_cache.measure, steps=10),
    event_log.TITLE: partial(event_log.measure, streams=200, seconds=10),
    search.TITLE: partial(search.measure, blocks=100_000, rounds=300),
    serve.TITLE: partial(serve.measure, streams=200, seconds=10),
    gateways.TITLE: partial(gateways.measure, gateways.FULL),
    watchers.TITLE: partial(watchers.measure, files=10_000, deltas=(10_000, 100_000), rounds=5),
    web_element.TITLE: partial(
        web_element.measure, sizes=(1, 32, 500), rounds=3, deltas=40, seconds=3, blocks=1_000
    ),
    web_session.TITLE: partial(web_session.measure, turns=5_000, rounds=5),
    tui.TITLE: partial(tui.measure, sizes=(1, 200, 1_000), peer_sizes=(1, 200), frames=100),
}
"""All benchmarks; takes about a quarter of an hour."""


def run(plan: Plan) -> str:
    """Run all benchmarks one after the other and return the report."""
    sections = []
    for title, measure in plan.items():
        print(f"measuring: {title}", file=sys.stderr, flush=True)
        sections.append(measure())
    return report_text(sections)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--quick", action="store_true", help="only see that everything runs and is right")
    mode.add_argument("--write", action="store_true", help="put the figures on docs/performance.md")
    parser.add_argument("titles", nargs="*", metavar="TITLE", help="only these benchmarks (default: all)")
    options = parser.parse_args()
    plan = QUICK if options.quick else FULL
    if unknown := [title for title in options.titles if title not in plan]:
        parser.error(f"unknown benchmark: {', '.join(unknown)}. Use some of: {', '.join(plan)}")
    if options.write and options.titles:
        parser.error("the page has the figures of a whole run: leave the titles out, or --write")
    report = run({title: plan[title] for title in options.titles or plan})
    print(report)
    if options.write:
        write_page(report)


if __name__ == "__main__":
    main()
