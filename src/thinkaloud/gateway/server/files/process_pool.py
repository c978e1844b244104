"""Runs the reading of uploaded files and the writing of exports in processes of their own, within limits.

What a stranger's file can make a reader do ends with the process: it has bounds on memory, time and output,
and is killed when the client leaves. Input and output are files without a name, so neither is held in memory
here. The output is bytes and an error is JSON: nothing that a process writes can run code here.

Each user has one process at a time in a pool, and users take turns.
"""

import asyncio
import errno
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from thinkaloud.core.canon import Refused, ThinkaloudError, Wording, reason_of
from thinkaloud.core.wire.frames import MIB
from thinkaloud.gateway.server.http.errors import (
    BadRequest,
    PayloadTooLarge,
    ServiceUnavailable,
    TooManyRequests,
)
from thinkaloud.gateway.server.http.limits import ProcessLimits
from thinkaloud.gateway.store.engine.database import NotSaved
from thinkaloud.importers.json_items import DamagedFile, UnknownFormat

if sys.platform != "win32":
    import resource

Computation = Callable[..., Iterable[bytes]]
"""A function of a module. It yields the bytes of its output, and raises what it refuses."""

PROCESSES = 2
"""Processes of one pool at the same time. More computations wait."""
_LOWER_PRIORITY = 10
_MAX_MESSAGE_BYTES = 2_000
_MAX_FIELD_CHARACTERS = 500
"""The part of each text in an error that is kept. Some quote a file."""
_REFUSED = 3
"""The exit status of a computation that raised an error. The error is its output."""
_OUT_OF_MEMORY = 4
_FILE_ERROR = "OSError"
_REFUSALS = {cls.__name__: cls for cls in (BadRequest, PayloadTooLarge, UnknownFormat, DamagedFile, Refused)}
"""The errors that pass from a process to its gateway. Others pass as the nearest one of these."""
_SMALLER = Wording("Import the file in parts, or export the session as text.")


class ProcessFailed(ThinkaloudError):
    """The process of a computation ended without a result."""


class _ComputationError(msgspec.Struct, frozen=True):
    """An error as a process writes it."""

    name: str
    message: Wording


class ProcessPool:
    """Runs computations, a few at a time. Close it to end those that still run."""

    def __init__(self, limits: ProcessLimits, requests_per_user: int, size: int = PROCESSES) -> None:
        self._limits = limits
        self._requests_per_user = requests_per_user
        self._threads = ThreadPoolExecutor(size, "thinkaloud-process")
        self._slots = asyncio.Semaphore(size)
        self._users: dict[int, UserPlace] = {}
        self._running: set[_Process] = set()
        self._closed = False

    @contextmanager
    def admit(self, user: int) -> Iterator["UserPlace"]:
        """Count a request of a user, or refuse it. Inside, computations can be run."""
        place = self._users.setdefault(user, UserPlace(self))
        if place.requests >= self._requests_per_user:
            count = self._requests_per_user
            raise TooManyRequests(
                "You have {count} requests of this kind in progress. Wait until one has ended.", count=count
            )
        place.requests += 1
        try:
            yield place
        finally:
            place.requests -= 1
            if not place.requests:
                del self._users[user]

    def close(self) -> None:
        """End all processes and wait for them."""
        self._closed = True
        for process in tuple(self._running):
            process.kill()
        self._threads.shutdown(cancel_futures=True)

    async def run(self, compute: Computation, *arguments: object) -> BinaryIO:
        """Run a computation when there is a free slot. `UserPlace` calls this."""
        async with self._slots:
            if self._closed:
                raise _stopping()
            process = _Process(self._limits)
            self._running.add(process)
            loop = asyncio.get_running_loop()
            future = loop.run_in_executor(self._threads, process.run, compute, arguments)
            try:
                return await asyncio.shield(future)
            except OSError as error:
                raise _file_error(reason_of(error)) from error
            except asyncio.CancelledError:
                process.kill()
                await asyncio.wait((future,))
                if not future.cancelled() and future.exception() is None:
                    future.result().close()
                raise
            finally:
                self._running.discard(process)


class UserPlace:
    """The requests of one user in a pool. Hold `lock` to run a computation.

    So only one request of each user waits for a slot, and users get the slots in turn.
    """

    def __init__(self, pool: ProcessPool) -> None:
        self.requests = 0
        self.lock = asyncio.Lock()
        self._pool = pool

    async def run(self, compute: Computation, *arguments: object) -> BinaryIO:
        """Return the output of a computation as a file to read. The caller closes it."""
        assert self.lock.locked()
        return await self._pool.run(compute, *arguments)


class _Process:
    """One process: started and waited for in a thread, killed from any."""

    def __init__(self, limits: ProcessLimits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False
        self._timed_out = False

    def kill(self) -> None:
        """End the process at once, or keep it from starting."""
        with self._lock:
            self._killed = True
            if self._process is not None:
                self._process.kill()

    def run(self, compute: Computation, arguments: tuple[object, ...]) -> BinaryIO:
        """Run the process to its end and return its output."""
        # The folder is for the files that a process needs by name. They go with it, also after a kill.
        with (
            tempfile.TemporaryDirectory(prefix="thinkaloud-") as folder,
            tempfile.TemporaryFile() as input_file,
            ExitStack() as stack,
        ):
            input_file.write(msgspec.json.encode(self._limits) + b"\n")
            pickle.dump((compute, arguments), input_file)
            input_file.seek(0)
            output = stack.enter_context(tempfile.TemporaryFile())
            status, messages = self._wait(input_file, output, folder)
            output.seek(0)
            if status:
                raise self._error(status, output, messages)
            stack.pop_all()
            return output

    def _wait(self, input_file: BinaryIO, output: BinaryIO, folder: str) -> tuple[int, str]:
        """Run the process to its end; return its exit status, and what it wrote to stderr."""
        # Without -P, a `resource.py` in the current folder would be imported instead of the system's.
        command = [sys.executable, "-P", "-m", __name__]
        environment = {**os.environ, "TMPDIR": folder, "TEMP": folder, "TMP": folder}
        with self._lock:
            if self._killed:
                raise _stopping()
            self._process = subprocess.Popen(
                command, stdin=input_file, stdout=output, stderr=subprocess.PIPE, env=environment
            )
        with self._process as process:
            try:
                _, messages = process.communicate(timeout=self._limits.wall_s)
            except subprocess.TimeoutExpired:
                self._timed_out = True
                process.kill()
                _, messages = process.communicate()
        return process.returncode, messages[-_MAX_MESSAGE_BYTES:].decode(errors="replace")

    def _error(self, status: int, output: BinaryIO, messages: str) -> Exception:
        """Return why a process ended without a result."""
        limits = self._limits
        if self._killed:
            return _stopping()
        if self._timed_out:
            return PayloadTooLarge(
                "It takes longer than {wall_s} s. {smaller}", wall_s=f"{limits.wall_s:g}", smaller=_SMALLER
            )
        if status == _REFUSED:
            error = _error_decoder.decode(output.read())
            if error.name == _FILE_ERROR:
                return _file_error(error.message)
            return _REFUSALS[error.name](wording=error.message)
        if sys.platform != "win32" and status == -signal.SIGXCPU:
            return PayloadTooLarge(
                "It takes longer than {cpu_s} s of computing. {smaller}", cpu_s=limits.cpu_s, smaller=_SMALLER
            )
        killed_by_system = sys.platform != "win32" and status == -signal.SIGKILL
        if status == _OUT_OF_MEMORY or killed_by_system:
            size = f"{limits.memory_bytes // MIB} MiB"
            return PayloadTooLarge(
                "It takes more than {size} of memory. {smaller}", size=size, smaller=_SMALLER
            )
        return ProcessFailed(
            "A process ended with status {status}: {messages}", status=status, messages=messages
        )


_error_decoder = msgspec.json.Decoder(_ComputationError)
_limits_decoder = msgspec.json.Decoder(ProcessLimits)


def _file_error(reason: Wording) -> NotSaved:
    return NotSaved(
        "Cannot work with files in {folder}: {reason}.", folder=tempfile.gettempdir(), reason=reason
    )


def _stopping() -> ServiceUnavailable:
    """Return why a process was killed. The other reason, a client that left, is told to nobody."""
    return ServiceUnavailable("The gateway is stopping. Try again in a moment.")


def _limit_this_process(limits: ProcessLimits) -> None:
    """Bound what this process may take. On Windows, time and output are bounded by the gateway only."""
    if sys.platform == "win32":
        return
    os.nice(_LOWER_PRIORITY)
    _set_limit(resource.RLIMIT_AS, limits.memory_bytes, limits.memory_bytes)
    _set_limit(resource.RLIMIT_FSIZE, limits.output_bytes, limits.output_bytes)
    _set_limit(resource.RLIMIT_CORE, 0, 0)
    # At the first number the process gets SIGXCPU, which tells what happened; at the second one SIGKILL.
    _set_limit(resource.RLIMIT_CPU, limits.cpu_s, limits.cpu_s + 1)
    if sys.platform == "linux":
        # If the memory of the machine or the container ends, this process is ended and not the gateway.
        with suppress(OSError):  # not offered in some containers; the other limits hold there too
            Path("/proc/self/oom_score_adj").write_text("1000")


def _set_limit(kind: int, soft: int, hard: int) -> None:
    """Set a limit of the system, or keep the operator's own one if it is lower: it cannot be raised."""
    if sys.platform == "win32":
        return
    _, highest = resource.getrlimit(kind)
    if highest != resource.RLIM_INFINITY:
        soft, hard = min(soft, highest), min(hard, highest)
    resource.setrlimit(kind, (soft, hard))


def _main() -> int:
    """Run the computation on stdin. Write its output to stdout, or the error that it raised."""
    limits = _limits_decoder.decode(sys.stdin.buffer.readline())
    _limit_this_process(limits)
    try:
        compute, arguments = pickle.load(sys.stdin.buffer)
        size = 0
        for chunk in compute(*arguments):
            size += len(chunk)
            if size > limits.output_bytes:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return 0
    except MemoryError:
        return _OUT_OF_MEMORY
    except ThinkaloudError as error:
        name = next((cls.__name__ for cls in type(error).__mro__ if cls.__name__ in _REFUSALS), "")
        if not name:
            raise
        problem = _ComputationError(name, error.wording.map(lambda text: text[:_MAX_FIELD_CHARACTERS]))
    except OSError as error:
        problem = _ComputationError(_FILE_ERROR, reason_of(error))
        if error.errno == errno.EFBIG:  # also by the limit of the system, for any file that is written
            message = Wording(
                "It takes more than {size} MiB on the disk. {smaller}",
                size=limits.output_bytes // MIB,
                smaller=_SMALLER,
            )
            problem = _ComputationError(PayloadTooLarge.__name__, message)
    sys.stdout.buffer.seek(0)
    sys.stdout.buffer.truncate()
    sys.stdout.buffer.write(msgspec.json.encode(problem))
    sys.stdout.buffer.flush()
    return _REFUSED


if __name__ == "__main__":
    sys.exit(_main())
