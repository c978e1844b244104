"""The compatible endpoint beside other gateways: cost of a stream and of a chunk, latency, growth, memory.

`python -m benchmarks.gateways` prints the whole table in about ten minutes; `--quick` only checks that it
works, and `--only NAME` measures some. Provider and clients are C programs (`benchmarks/load`), so that they
are not what is measured. The client checks every byte of every thought and answer. Each gateway has one core,
provider and clients the other.
"""

import argparse
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.peers import (
    BURST_MODEL,
    CHUNKS,
    KINDS,
    RAW,
    THINKALOUD,
    Peer,
    PeerKind,
    free_port,
    model_name,
    running_peer,
)
from benchmarks.report import Goal, Section, WrongAnswer, report_text, table
from benchmarks.serve import processor_s

TITLE = "Existing clients: one core, beside other gateways"
SOURCES = Path(__file__).parent / "load"
MAX_STREAM_US = 1_000
MAX_CHUNK_US = 80
MAX_CHUNK_TIMES = 3.5
MAX_FIRST_MS = 1.5
MAX_MANY_S = 8.0
MAX_STREAM_KIB = 40
FEW_CHUNKS_PER_S = 50
MANY_CHUNKS_PER_S = 20
PAGE_KIB = os.sysconf("SC_PAGE_SIZE") / 1024


class LoadPlan(NamedTuple):
    """How much is measured."""

    rounds: int
    burst_s: float
    """How long streams come as fast as they can."""
    few: int
    """Paced streams at the same time, with 50 chunks a second each."""
    many: tuple[int, ...]
    """Paced streams at the same time, with 20 chunks a second each; for each number one column."""
    chunks: int = CHUNKS
    """Of a paced stream."""
    kinds: Sequence[PeerKind] = KINDS


FULL = LoadPlan(rounds=2, burst_s=3, few=20, many=(400, 1_000))
QUICK = LoadPlan(rounds=1, burst_s=0.3, few=2, many=(4, 8), chunks=4, kinds=(THINKALOUD, RAW))


class ManyStreams(NamedTuple):
    """What many paced streams at the same time cost."""

    streams: int
    complete: int
    seconds: float
    chunk_us: float
    """Processor time of a chunk."""
    stream_kib: float
    """Memory of a stream, at most."""


class Round(NamedTuple):
    """One round of one gateway."""

    stream_us: float
    """Processor time of a stream of 50 chunks that comes at once."""
    first_ms: float
    """From the request to the first thought, alone."""
    chunk_us: float
    """Processor time of a chunk of the few paced streams."""
    many: tuple[ManyStreams, ...]


class GatewayFigures(NamedTuple):
    """The rounds of one gateway, and its memory before them."""

    name: str
    idle_mib: float
    rounds: list[Round]


def cell(values: Sequence[float], digits: int = 0) -> str:
    """Return minimum and median as text. The minimum says most: other work on the machine only adds time."""
    return f"{min(values):,.{digits}f} / {statistics.median(values):,.{digits}f}"


def find_compiler() -> str | None:
    """Return a C compiler, or None."""
    return shutil.which("cc") or shutil.which("gcc")


def build(folder: Path) -> None:
    """Compile provider and client."""
    compiler = find_compiler()
    assert compiler is not None
    for name in ("mock", "load"):
        source = SOURCES / f"{name}.c"
        subprocess.run([compiler, "-O2", "-w", "-o", str(folder / name), str(source)], check=True)


def pin(core: int) -> tuple[str, ...]:
    """Return the words that keep a command on a core, where the machine has two."""
    return ("taskset", "-c", str(core)) if (os.cpu_count() or 1) > 1 and shutil.which("taskset") else ()


@contextmanager
def running_provider(folder: Path) -> Iterator[int]:
    """Serve the provider on a free port."""
    port = free_port()
    with subprocess.Popen([*pin(1), str(folder / "mock"), str(port)]) as provider:
        try:
            yield port
        finally:
            provider.kill()


class LoadRunner:
    """Loads one gateway at a time; the others are stopped meanwhile."""

    def __init__(self, folder: Path, peers: Sequence[Peer]) -> None:
        self.folder = folder
        self._peers = peers
        self._stop(peers)

    @staticmethod
    def _stop(peers: Sequence[Peer]) -> None:
        for peer in peers:
            os.kill(peer.process, signal.SIGSTOP)

    @contextmanager
    def turn_of(self, peer: Peer) -> Iterator[None]:
        os.kill(peer.process, signal.SIGCONT)
        try:
            yield
        finally:
            os.kill(peer.process, signal.SIGSTOP)

    def load(self, peer: Peer, model: str, *options: str) -> dict[str, Any]:
        """Send requests and return what the client measured. Wrong or missing bytes are an error."""
        completed = subprocess.run(
            self.command(peer, model, *options), capture_output=True, text=True, check=True
        )
        result: dict[str, Any] = json.loads(completed.stdout)
        if result["ok"] != result["started"]:
            raise WrongAnswer(f"{peer.name}: {result['started'] - result['ok']} streams failed: {result}")
        return result

    def command(self, peer: Peer, model: str, *options: str) -> list[str]:
        """Return the command that loads a gateway."""
        headers = [word for header in peer.headers for word in ("-H", header)]
        target = ("-p", peer.path, "-m", f"{peer.model_prefix}{model}", str(peer.port))
        return [*pin(1), str(self.folder / "load"), *options, *headers, *target]


def measure_round(runner: LoadRunner, peer: Peer, plan: LoadPlan) -> Round:
    """Measure one round of a gateway."""
    with runner.turn_of(peer):
        burst, burst_s = with_processor_s(
            peer, lambda: runner.load(peer, BURST_MODEL, "-c", "16", "-d", str(plan.burst_s))
        )
        alone = runner.load(peer, BURST_MODEL, "-c", "1", "-n", "30")
        few = str(plan.few)
        model = model_name(plan.chunks, FEW_CHUNKS_PER_S)
        _, few_s = with_processor_s(peer, lambda: runner.load(peer, model, "-c", few, "-n", few))
        counts = [streams for streams in plan.many if streams <= peer.most]
        many = tuple(measure_many(runner, peer, streams, plan.chunks) for streams in counts)
    return Round(
        stream_us=burst_s / burst["finished"] * 1e6,
        first_ms=alone["ttfr"]["p50"],
        chunk_us=few_s / (plan.few * plan.chunks) * 1e6,
        many=many,
    )


def with_processor_s(peer: Peer, work: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], float]:
    """Return what the work returns, and the processor time that a gateway used meanwhile."""
    before_s = processor_s(peer.process)
    result = work()
    return result, processor_s(peer.process) - before_s


def memory_kib(process: int) -> float:
    """Return the resident memory of a process."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE_KIB


def measure_many(runner: LoadRunner, peer: Peer, streams: int, chunks: int) -> ManyStreams:
    """Run many paced streams at once, and watch the memory. Streams that fail are counted, not raised."""
    idle_kib, before_s = memory_kib(peer.process), processor_s(peer.process)
    count = str(streams)
    model = model_name(chunks, MANY_CHUNKS_PER_S)
    command = runner.command(peer, model, "-c", count, "-n", count, "-t", "120")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        most_kib = idle_kib
        while running.poll() is None:
            most_kib = max(most_kib, memory_kib(peer.process))
            time.sleep(0.1)
        assert running.stdout is not None
        result = json.loads(running.stdout.read())
    used_s = processor_s(peer.process) - before_s
    return ManyStreams(
        streams=streams,
        complete=result["ok"],
        seconds=result["elapsed"],
        chunk_us=used_s / (streams * chunks) * 1e6,
        stream_kib=(most_kib - idle_kib) / streams,
    )


def measure(plan: LoadPlan) -> Section:
    """Measure all gateways and return the section for the report."""
    if not Path("/proc/self/stat").exists():
        return Section(TITLE, "The processor time of another process cannot be read here.")
    if find_compiler() is None:
        return Section(TITLE, "No C compiler was found, and the load is made by C programs. Install gcc.")
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        build(folder)
        port = stack.enter_context(running_provider(folder))
        kinds = [kind for kind in plan.kinds if kind.installed()]
        core = 0 if pin(0) else None
        peers = [stack.enter_context(running_peer(kind, port, folder, core)) for kind in kinds]
        runner = LoadRunner(folder, peers)
        figures = [GatewayFigures(peer.name, memory_kib(peer.process) / 1024, []) for peer in peers]
        for peer in peers:  # not counted: what is compiled and cached by the first requests
            with runner.turn_of(peer):
                runner.load(peer, BURST_MODEL, "-c", "4", "-n", "20")
        for _ in range(plan.rounds):
            for peer, row in zip(peers, figures, strict=True):
                row.rounds.append(measure_round(runner, peer, plan))
    missing = [kind.name for kind in plan.kinds if not kind.installed()]
    return _section(plan, figures, missing, load_before)


def _section(
    plan: LoadPlan, figures: list[GatewayFigures], missing: list[str], load_before: float
) -> Section:
    head = (
        "one core: least / median",
        "50-chunk stream, µs",
        "first thought, p50 ms",
        f"chunk, {plan.few} × {FEW_CHUNKS_PER_S}/s, µs",
        *(f"chunk, {streams:,} × {MANY_CHUNKS_PER_S}/s, µs" for streams in plan.many),
        *(f"{streams:,} streams, s" for streams in plan.many),
        "stream, KiB",
        "idle, MiB",
    )
    rows = [_row(plan, row) for row in figures]
    ideal_s = plan.chunks / MANY_CHUNKS_PER_S
    pace = f"{plan.chunks} chunks, so {MANY_CHUNKS_PER_S} a second take {ideal_s:.1f} s"
    notes = [
        f"A paced stream has {pace}. Times in µs are processor time of the gateway.",
        f"Load average before the run: {load_before:.1f}. Latencies mean little on a busy machine.",
    ]
    if missing:
        notes.append(f"Not installed: {', '.join(missing)}. `python -m benchmarks.peers` installs them.")
    body = "\n\n".join((table(head, rows), *notes))
    return Section(TITLE, body, tuple(_goals(plan, figures)))


def _row(plan: LoadPlan, row: GatewayFigures) -> tuple[str, ...]:
    rounds = row.rounds
    chunk_cells = ["–"] * len(plan.many)  # stays so where a gateway is not asked for so many streams
    seconds_cells = ["–"] * len(plan.many)
    most_kib = 0.0
    for index, runs in enumerate(zip(*(measured.many for measured in rounds), strict=True)):
        chunk_cells[index] = cell([run.chunk_us for run in runs])
        seconds_cells[index] = _seconds_cell(runs)
        most_kib = max(run.stream_kib for run in runs)
    return (
        row.name,
        cell([measured.stream_us for measured in rounds]),
        cell([measured.first_ms for measured in rounds], digits=2),
        cell([measured.chunk_us for measured in rounds]),
        *chunk_cells,
        *seconds_cells,
        f"{most_kib:.0f}",
        f"{row.idle_mib:.0f}",
    )


def _seconds_cell(runs: Sequence[ManyStreams]) -> str:
    fastest = min(runs, key=lambda run: run.seconds)
    failed = sum(run.streams - run.complete for run in runs)
    note = f", {failed} failed" if failed else ""
    return f"{fastest.seconds:.1f}{note}"


def _goals(plan: LoadPlan, figures: list[GatewayFigures]) -> Iterator[Goal]:
    rounds_by_name = {row.name: row.rounds for row in figures}
    ours, relay = rounds_by_name[THINKALOUD.name], rounds_by_name[RAW.name]
    stream_us = min(measured.stream_us for measured in ours)
    relay_stream_us = min(measured.stream_us for measured in relay)
    yield Goal(
        f"a 50-chunk stream of a compatible endpoint costs at most {MAX_STREAM_US:,} µs",
        f"{stream_us:,.0f} µs (bytes alone: {relay_stream_us:,.0f} µs)",
        stream_us <= MAX_STREAM_US,
    )
    chunk_us = min(measured.many[0].chunk_us for measured in ours)
    relay_chunk_us = min(measured.many[0].chunk_us for measured in relay)
    # A few chunks may take less than a tick of the clock.
    times = chunk_us / relay_chunk_us if relay_chunk_us else math.inf
    yield Goal(
        f"a chunk of {plan.many[0]} paced streams costs at most {MAX_CHUNK_US} µs, "
        f"and at most {MAX_CHUNK_TIMES} times bytes alone",
        f"{chunk_us:.0f} µs, {times:.1f} times",
        chunk_us <= MAX_CHUNK_US and times <= MAX_CHUNK_TIMES,
    )
    relay_first_ms = min(measured.first_ms for measured in relay)
    added_ms = min(measured.first_ms for measured in ours) - relay_first_ms
    yield Goal(
        f"first thought of a compatible endpoint: at most {MAX_FIRST_MS} ms more than bytes alone",
        f"{added_ms:.2f} ms",
        added_ms <= MAX_FIRST_MS,
    )
    runs = [measured.many[-1] for measured in ours]
    seconds = min(run.seconds for run in runs)
    failed = sum(run.streams - run.complete for run in runs)
    yield Goal(
        f"{plan.many[-1]:,} paced streams at the same time, all exact, in at most {MAX_MANY_S:.0f} s",
        f"{seconds:.1f} s, {failed} failed",
        seconds <= MAX_MANY_S and not failed,
    )
    stream_kib = min(run.stream_kib for run in runs)
    yield Goal(
        f"a live stream takes at most {MAX_STREAM_KIB} KiB of memory",
        f"{stream_kib:.0f} KiB",
        stream_kib <= MAX_STREAM_KIB,
    )


def main() -> None:
    """Measure, and print the section."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateways", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only see that everything runs and is right")
    names = [kind.name for kind in KINDS]
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help="beside bytes alone")
    options = parser.parse_args()
    plan = QUICK if options.quick else FULL
    if options.only:
        wanted = {THINKALOUD.name, RAW.name, *options.only}
        plan = plan._replace(kinds=[kind for kind in KINDS if kind.name in wanted])
    print(report_text([measure(plan)]))


if __name__ == "__main__":
    main()
