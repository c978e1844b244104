"""The compatible endpoint beside other gateways: streams per second, latency, cost of a chunk, memory.

`python -m benchmarks.gateways` prints the whole table in a few minutes; `--quick` only checks that it works.
Provider and clients are C programs (`benchmarks/load`), so that they are not what is measured. The client
checks every byte of every thought and answer. Each gateway has one core, provider and clients the other.
"""

import argparse
import json
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
    KINDS,
    PACED_MODEL,
    RAW,
    THINKALOUD,
    Peer,
    PeerKind,
    free_port,
    running_peer,
)
from benchmarks.report import Goal, Section, WrongAnswer, report_text, table
from benchmarks.serve import processor_s

TITLE = "Existing clients: one core, beside other gateways"
SOURCES = Path(__file__).parent / "load"
PATH = "/v1/chat/completions"
LITELLM_TIMES = 60
PORTKEY_TIMES = 4
MAX_FIRST_MS = 1.5
MAX_CHUNK_US = 120
MANY_STREAMS = 1_000
PAGE_KIB = os.sysconf("SC_PAGE_SIZE") / 1024


class LoadPlan(NamedTuple):
    """How much is measured."""

    rounds: int
    seconds: float
    """Of each burst."""
    many: int
    """Paced streams at the same time."""
    many_chunks: int
    kinds: Sequence[PeerKind] = KINDS


FULL = LoadPlan(rounds=2, seconds=3, many=MANY_STREAMS, many_chunks=100)
QUICK = LoadPlan(rounds=1, seconds=0.3, many=20, many_chunks=4, kinds=(THINKALOUD, RAW))


class GatewayFigures(NamedTuple):
    """What was measured of one gateway: the median of streams, and the minima of times."""

    name: str
    streams_per_s: float
    request_us: float
    """Processor time of a stream of 50 chunks that comes at once."""
    first_ms: float
    """From the request to the first thought, alone."""
    chunk_us: float
    """Processor time of a chunk of a paced stream."""
    idle_mib: float


class ManyStreams(NamedTuple):
    """What a thousand paced streams at the same time cost."""

    streams: int
    complete: int
    seconds: float
    cores: float
    stream_kib: float


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
        headers = [word for header in peer.headers for word in ("-H", header)]
        command = [*pin(1), str(self.folder / "load"), *options, *headers]
        target = ("-p", PATH, "-m", f"{peer.model_prefix}{model}", str(peer.port))
        completed = subprocess.run([*command, *target], capture_output=True, text=True, check=True)
        result: dict[str, Any] = json.loads(completed.stdout)
        if result["ok"] != result["started"] and "-r" not in options:
            raise WrongAnswer(f"{peer.name}: {result['started'] - result['ok']} streams failed: {result}")
        return result


def measure_rounds(runner: LoadRunner, peer: Peer, seconds: float) -> Callable[[], tuple[float, ...]]:
    """Return a function that measures one round of a gateway."""

    def measure_round() -> tuple[float, ...]:
        with runner.turn_of(peer):
            burst, burst_s = with_processor_s(
                peer, lambda: runner.load(peer, BURST_MODEL, "-c", "16", "-d", str(seconds))
            )
            alone = runner.load(peer, BURST_MODEL, "-c", "1", "-n", "30")
            _, paced_s = with_processor_s(
                peer, lambda: runner.load(peer, PACED_MODEL, "-c", "20", "-n", "20")
            )
        return (
            burst["streams_per_s"],
            burst_s / burst["finished"] * 1e6,
            alone["ttfr"]["p50"],
            paced_s / (20 * 100) * 1e6,
        )

    return measure_round


def with_processor_s(peer: Peer, work: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], float]:
    """Return what the work returns, and the processor time that a gateway used meanwhile."""
    before_s = processor_s(peer.process)
    result = work()
    return result, processor_s(peer.process) - before_s


def memory_kib(process: int) -> float:
    """Return the resident memory of a process."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE_KIB


def measure_many(runner: LoadRunner, peer: Peer, plan: LoadPlan) -> ManyStreams:
    """Run many paced streams at once, 20 chunks a second each, and read the memory in the middle."""
    half = plan.many_chunks // 2
    model = f"mock-rc-r{half}-c{plan.many_chunks - half}-s4-p50"
    with runner.turn_of(peer):
        idle_kib, before_s = memory_kib(peer.process), processor_s(peer.process)
        command = [*pin(1), str(runner.folder / "load"), "-c", str(plan.many), "-n", str(plan.many)]
        command += ["-t", "120", "-p", PATH, "-m", f"{peer.model_prefix}{model}", str(peer.port)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            most_kib = idle_kib
            while running.poll() is None:
                most_kib = max(most_kib, memory_kib(peer.process))
                time.sleep(0.1)
            assert running.stdout is not None
            result = json.loads(running.stdout.read())
        cores = (processor_s(peer.process) - before_s) / result["elapsed"]
    stream_kib = (most_kib - idle_kib) / plan.many
    return ManyStreams(plan.many, result["ok"], result["elapsed"], cores, stream_kib)


def measure(plan: LoadPlan) -> Section:
    """Measure all gateways and return the section for the report."""
    if not Path("/proc/self/stat").exists():
        return Section(TITLE, "The processor time of another process cannot be read here.")
    if find_compiler() is None:
        return Section(TITLE, "No C compiler was found, and the load is made by C programs. Install gcc.")
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        build(folder)
        port = stack.enter_context(running_provider(folder))
        kinds = [kind for kind in plan.kinds if kind.installed()]
        core = 0 if pin(0) else None
        peers = [stack.enter_context(running_peer(kind, port, folder, core)) for kind in kinds]
        runner = LoadRunner(folder, peers)
        rounds: dict[str, list[tuple[float, ...]]] = {peer.name: [] for peer in peers}
        idle_mib = {peer.name: memory_kib(peer.process) / 1024 for peer in peers}
        for peer in peers:  # not counted: what is compiled and cached by the first requests
            with runner.turn_of(peer):
                runner.load(peer, BURST_MODEL, "-c", "4", "-n", "20")
        for _ in range(plan.rounds):
            for peer in peers:
                rounds[peer.name].append(measure_rounds(runner, peer, plan.seconds)())
        figures = [_figures(peer.name, rounds[peer.name], idle_mib[peer.name]) for peer in peers]
        many = measure_many(runner, peers[0], plan)
    missing = [kind.name for kind in plan.kinds if not kind.installed()]
    return _section(figures, many, missing)


def _figures(name: str, rounds: list[tuple[float, ...]], idle_mib: float) -> GatewayFigures:
    streams, request_us, first_ms, chunk_us = zip(*rounds, strict=True)
    return GatewayFigures(
        name=name,
        streams_per_s=statistics.median(streams),
        request_us=min(request_us),
        first_ms=min(first_ms),
        chunk_us=min(chunk_us),
        idle_mib=idle_mib,
    )


def _section(figures: list[GatewayFigures], many: ManyStreams, missing: list[str]) -> Section:
    head = (
        "one core",
        "50-chunk streams/s",
        "processor, µs a stream",
        "first thought, p50 ms",
        "processor, µs a paced chunk",
        "idle, MiB",
    )
    rows = [
        (
            row.name,
            f"{row.streams_per_s:,.0f}",
            f"{row.request_us:,.0f}",
            f"{row.first_ms:.2f}",
            f"{row.chunk_us:.0f}",
            f"{row.idle_mib:.0f}",
        )
        for row in figures
    ]
    notes = [
        f"{many.streams:,} streams at the same time, 20 chunks/s each: {many.complete:,} complete in "
        f"{many.seconds:.1f} s, {many.cores:.2f} core, {many.stream_kib:.0f} KiB of memory a stream.",
        f"Load average at the end: {os.getloadavg()[0]:.1f}. Latencies mean little on a busy machine.",
    ]
    if missing:
        notes.append(f"Not installed: {', '.join(missing)}. `python -m benchmarks.peers` installs them.")
    body = "\n\n".join((table(head, rows), *notes))
    return Section(TITLE, body, tuple(_goals(figures, many)))


def _goals(figures: list[GatewayFigures], many: ManyStreams) -> Iterator[Goal]:
    by_name = {row.name: row for row in figures}
    ours = by_name[THINKALOUD.name]
    for name, times in (("LiteLLM's proxy", LITELLM_TIMES), ("Portkey's gateway", PORTKEY_TIMES)):
        if name in by_name:
            ratio = by_name[name].request_us / ours.request_us
            yield Goal(
                f"a 50-chunk stream costs {name} at least {times} times as much",
                f"{ratio:.1f} times ({by_name[name].request_us:,.0f} µs, {ours.request_us:,.0f} µs)",
                ratio >= times,
            )
    added_ms = ours.first_ms - by_name[RAW.name].first_ms
    yield Goal(
        f"first thought of a compatible endpoint: at most {MAX_FIRST_MS} ms more than bytes alone",
        f"{added_ms:.2f} ms",
        added_ms <= MAX_FIRST_MS,
    )
    yield Goal(
        f"a paced chunk of a compatible endpoint costs at most {MAX_CHUNK_US} µs",
        f"{ours.chunk_us:.0f} µs (bytes alone: {by_name[RAW.name].chunk_us:.0f} µs)",
        ours.chunk_us <= MAX_CHUNK_US,
    )
    yield Goal(
        f"{many.streams:,} paced streams at the same time without loss",
        f"{many.complete:,} complete",
        many.complete == many.streams,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateways", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only see that everything runs and is right")
    options = parser.parse_args()
    print(report_text([measure(QUICK if options.quick else FULL)]))


if __name__ == "__main__":
    main()
