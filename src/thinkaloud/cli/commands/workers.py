"""`thinkaloud serve --workers N`: several gateways on one port and one PostgreSQL, to use more cores.

The first process binds the port and serves nothing itself. It starts the workers, passes stop signals on, and
replaces a worker that dies. The workers share its socket, so a connection that waits to be accepted is taken
by another one.
"""

import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

from thinkaloud.cli import EXIT_STOPPED
from thinkaloud.cli.output.console import EXIT_OK, EXIT_REFUSED
from thinkaloud.core.canon import Refused, ThinkaloudError, Wording

if TYPE_CHECKING:
    from thinkaloud.gateway.server.run import RunningServer

SQLITE_REFUSED = Wording(
    "--workers needs PostgreSQL, because only one process at a time can run turns on a SQLite file. Add "
    "--database postgresql://HOST/NAME, or leave out --workers."
)
_POLL_S = 0.5
_RESTART_S = 1.0
"""The time between two looks at the workers, and before a dead one is replaced."""

ServeOne = Callable[[socket.socket, Callable[["RunningServer"], None]], int]
"""Serves on a socket until a stop signal, and reports once it listens. Each worker gets a pickled copy."""


class _Worker(NamedTuple):
    process: SpawnProcess
    reports: Connection


def serve_workers(
    count: int, sock: socket.socket, serve_one: ServeOne, announce: Callable[["RunningServer"], None]
) -> int:
    """Run this many workers until a stop signal; return the exit code. `announce` is called once."""
    workers = [_start_worker(sock, serve_one) for _ in range(count)]
    with _stop_signals(workers) as stopping:
        try:
            servers = [_first_report(worker, stopping) for worker in workers]
            announce(servers[0])
            while not stopping.is_set():
                if wait([worker.process.sentinel for worker in workers], _POLL_S):
                    stopping.wait(_RESTART_S)
                    _replace_dead(workers, sock, serve_one, stopping)
        finally:
            if not stopping.is_set():  # a second signal would cut their grace period short
                _terminate(workers)
            for worker in workers:
                worker.process.join()
    stopped = all(worker.process.exitcode == EXIT_OK for worker in workers)
    return EXIT_OK if stopped else EXIT_STOPPED


def _start_worker(sock: socket.socket, serve_one: ServeOne) -> _Worker:
    context = multiprocessing.get_context("spawn")
    reports, worker_end = context.Pipe(duplex=False)
    process = context.Process(
        target=_run_worker, args=(sock, serve_one, worker_end), name="thinkaloud-worker"
    )
    process.start()
    worker_end.close()  # so that the pipe ends with the worker
    return _Worker(process, reports)


def _run_worker(sock: socket.socket, serve_one: ServeOne, reports: Connection) -> None:
    """Serve in a process of its own."""
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C in a terminal reaches the first process only, which passes it on once
    threading.Thread(target=_stop_with_parent, name="thinkaloud-parent", daemon=True).start()
    try:
        exit_code = serve_one(sock, reports.send)
    except ThinkaloudError as error:
        reports.send(error.wording)
        exit_code = EXIT_REFUSED
    sys.exit(exit_code)


def _stop_with_parent() -> None:
    """Stop this worker when the first process is gone, however that ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _first_report(worker: _Worker, stopping: threading.Event) -> "RunningServer":
    """Wait until a worker serves. What it refuses is refused here."""
    try:
        report: RunningServer | Wording = worker.reports.recv()
    except EOFError:
        if stopping.is_set():
            raise Refused("The gateway was stopped before it served.") from None
        raise Refused("A worker ended before it served. Its log says why.") from None
    if isinstance(report, Wording):
        raise Refused(wording=report)
    return report


def _replace_dead(
    workers: list[_Worker], sock: socket.socket, serve_one: ServeOne, stopping: threading.Event
) -> None:
    for number, worker in enumerate(workers):
        if not worker.process.is_alive() and not stopping.is_set():
            message = f"A worker ended with status {worker.process.exitcode} and is replaced."
            print(message, file=sys.stderr, flush=True)
            workers[number] = _start_worker(sock, serve_one)
            if stopping.is_set():  # the signal came just before there was a process to pass it on to
                workers[number].process.terminate()


@contextmanager
def _stop_signals(workers: list[_Worker]) -> Iterator[threading.Event]:
    """Pass SIGINT and SIGTERM on to the workers as SIGTERM. The event is set by the first of them."""
    stopping = threading.Event()

    def pass_on(number: int, frame: FrameType | None) -> None:
        stopping.set()
        _terminate(workers)

    previous = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopping
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _terminate(workers: list[_Worker]) -> None:
    for worker in workers:
        if worker.process.is_alive():
            worker.process.terminate()
