"""`thinkaloud` in a process that is forked from one that has imported everything.

To start a new Python takes most of a second of computing; what a command does after its imports is the same,
but that its gateway waits for a slow disk.
Some tests start `python -m thinkaloud` itself, so that this is known to work too.
"""

import fcntl
import os
import signal
import sys
import termios
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from subprocess import TimeoutExpired
from typing import Self

from tests import patient_gateway
from tests.fork_server import FORKING
from tests.patience import PATIENCE_S


class ForkedCommand:
    """A command that runs, with the names of `subprocess.Popen`.

    It reads what is written to `stdin`, and `stdout` and `stderr` have what it prints; or all three are the
    terminal that is given, which controls it.
    """

    def __init__(
        self,
        *words: str,
        env: Mapping[str, str] | None = None,
        terminal: int | None = None,
        piped: bool = False,
    ) -> None:
        pipes = [os.pipe() for _ in range(3)]
        inner = [pipes[0][0], pipes[1][1], pipes[2][1]]
        self.stdin = os.fdopen(pipes[0][1], "wb")
        self.stdout = os.fdopen(pipes[1][0], encoding="utf-8")
        self.stderr = os.fdopen(pipes[2][0], encoding="utf-8")
        if terminal is not None:
            inner = [inner[0] if piped else terminal, terminal, terminal]
        files = [Connection(os.dup(file)) for file in inner]
        variables = dict(os.environ if env is None else env)
        arguments = (words, variables, files, terminal is not None)
        self._process = FORKING.Process(target=_run_command, args=arguments)
        self._process.start()
        for file in (*files, *(Connection(end) for end in (pipes[0][0], pipes[1][1], pipes[2][1]))):
            file.close()
        if not piped:
            self.stdin.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int:
        return self.wait()

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float = PATIENCE_S) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise TimeoutExpired("thinkaloud", timeout)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float = PATIENCE_S) -> tuple[str, str]:
        """Return the rest of what it prints, when it has ended."""
        with ThreadPoolExecutor(1) as pool:
            errors = pool.submit(self.stderr.read)
            output = self.stdout.read()
        self.wait(timeout)
        self.close()
        return output, errors.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()
        self.close()

    def close(self) -> None:
        """Close the pipes of a command that has ended."""
        for file in (self.stdin, self.stdout, self.stderr):
            file.close()


def _run_command(
    words: tuple[str, ...], env: dict[str, str], files: list[Connection], controlled: bool
) -> None:
    """Run a command in the process that was just forked."""
    for number, file in enumerate(files):
        os.dup2(file.fileno(), number)
        file.close()
    if controlled:
        os.setsid()
        fcntl.ioctl(2, termios.TIOCSCTTY, 0)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["thinkaloud", *words]
    sys.exit(patient_gateway.main())
