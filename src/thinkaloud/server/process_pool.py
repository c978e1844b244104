"""Runs long computations in processes of their own, so that streams do not share the interpreter with them.

The input and the output of a computation are files without a name, so neither is held in memory here. Short
computations run in a thread: starting a process would take longer.
"""

import asyncio
import io
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import BinaryIO

from thinkaloud.canon import ThinkaloudError
from thinkaloud.store.database import NotSaved

Computation = Callable[..., Iterable[bytes]]
"""A function of a module. It yields the bytes of its output, and raises what it refuses."""

PROCESSES = 2
"""Processes at the same time. More computations wait."""
MAX_IN_THREAD_BYTES = 128 * 1024
"""A larger input is computed in a process."""
_LOWER_PRIORITY = 10
_MAX_MESSAGE_BYTES = 2_000
_REFUSED = 3
"""The exit status of a computation that raised an error. The error is its output."""


class ProcessFailed(ThinkaloudError):
    """The process of a computation ended without a result."""


class ProcessPool:
    """Runs computations, a few at a time. Close it to end those that still run."""

    def __init__(self, size: int = PROCESSES) -> None:
        self._threads = ThreadPoolExecutor(size, "thinkaloud-process")
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    async def run(self, compute: Computation, *arguments: object, input_bytes: int) -> BinaryIO:
        """Return the output of a computation as a file to read. The caller closes it."""
        if input_bytes <= MAX_IN_THREAD_BYTES:
            return await asyncio.to_thread(_run_here, compute, arguments)
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, self._run_in_process, compute, arguments)
        except OSError as error:
            raise NotSaved(f"Cannot work with files in {tempfile.gettempdir()}: {error.strerror}.") from error

    def close(self) -> None:
        """End all processes and wait for them."""
        self._closed = True
        for process in tuple(self._processes):
            process.kill()
        self._threads.shutdown(cancel_futures=True)

    def _run_in_process(self, compute: Computation, arguments: tuple[object, ...]) -> BinaryIO:
        with tempfile.TemporaryFile() as input_file, ExitStack() as stack:
            pickle.dump((compute, arguments), input_file)
            input_file.seek(0)
            output = stack.enter_context(tempfile.TemporaryFile())
            status, messages = self._wait_for_process(input_file, output)
            output.seek(0)
            if status == _REFUSED:
                raise pickle.load(output)
            if status:
                raise ProcessFailed(f"A process ended with status {status}: {messages}")
            stack.pop_all()
            return output

    def _wait_for_process(self, input_file: BinaryIO, output: BinaryIO) -> tuple[int, str]:
        """Run a process to its end; return its exit status, and what it wrote to stderr."""
        if self._closed:
            raise ProcessFailed("The gateway is stopping.")
        command = [sys.executable, "-m", __name__]
        with subprocess.Popen(command, stdin=input_file, stdout=output, stderr=subprocess.PIPE) as process:
            self._processes.add(process)
            try:
                _, messages = process.communicate()
            finally:
                self._processes.discard(process)
        return process.returncode, messages[-_MAX_MESSAGE_BYTES:].decode(errors="replace")


def _run_here(compute: Computation, arguments: tuple[object, ...]) -> BinaryIO:
    return io.BytesIO(b"".join(compute(*arguments)))


def _main() -> int:
    """Run the computation on stdin. Write its output to stdout, or the error that it raised."""
    if hasattr(os, "nice"):
        os.nice(_LOWER_PRIORITY)
    try:
        compute, arguments = pickle.load(sys.stdin.buffer)
        for chunk in compute(*arguments):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
    except (ThinkaloudError, OSError) as error:
        sys.stdout.buffer.seek(0)
        sys.stdout.buffer.truncate()
        pickle.dump(error, sys.stdout.buffer)
        return _REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(_main())
