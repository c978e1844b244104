"""A gateway process that starts in a fraction of a second and of the computing.

It is forked from a process that has imported everything, and then runs the same command as `GatewayProcess`.
"""

import asyncio
import multiprocessing
import os
import runpy
import signal
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

from tests.fork_server import FORKING
from tests.gateway.gateway_process import GatewayProcess
from tests.gateway.paced_provider import START_S


class ForkedGateway(GatewayProcess):
    """A gateway whose process is forked and not started anew."""

    _ready = False
    _forked: multiprocessing.context.ForkServerProcess | None = None

    @property
    def pid(self) -> int:
        assert self._forked is not None
        assert self._forked.pid is not None
        return self._forked.pid

    async def start(self) -> None:
        """Start, and wait until it responds."""
        started_at_s = time.monotonic()
        self.killed = self._ready = False
        receiver, sender = FORKING.Pipe(duplex=False)
        variables = {"THINKALOUD_HOME": str(self.home), **self._variables}
        arguments = (sender, self._command[2:], variables, self.home / "stderr.log")
        self._forked = FORKING.Process(target=_run_module, args=arguments)
        await asyncio.to_thread(self._forked.start)
        sender.close()
        with open(os.dup(receiver.fileno()), encoding="utf-8") as output:
            receiver.close()
            self._url = (await asyncio.to_thread(output.readline)).strip()
        self.start_duration_s = time.monotonic() - started_at_s
        assert self._url, f"the gateway does not start: {self.errors[-2000:]}"
        self._ready = True

    def send(self, number: signal.Signals) -> "ForkedGateway":
        os.kill(self.pid, number)
        return self

    async def wait(self) -> int:
        """Wait for the process and return its exit code."""
        assert self._forked is not None
        await asyncio.to_thread(self._forked.join, START_S)
        code = self._forked.exitcode
        assert code is not None, "the gateway does not end"
        return code

    @property
    def alive(self) -> bool:
        """Whether the process is alive and has started."""
        return self._ready and self._forked is not None and self._forked.is_alive()


async def run_forked(home: Path, *command: str) -> tuple[str, str]:
    """Run a command of `thinkaloud` to its end; return its output and what it wrote to stderr."""
    receiver, sender = FORKING.Pipe(duplex=False)
    log = home / "command.log"
    log.unlink(missing_ok=True)
    arguments = (sender, ["thinkaloud", *command], {"THINKALOUD_HOME": str(home)}, log)
    process = FORKING.Process(target=_run_module, args=arguments)
    await asyncio.to_thread(process.start)
    sender.close()
    with open(os.dup(receiver.fileno()), encoding="utf-8") as file:
        receiver.close()
        output = await asyncio.to_thread(file.read)
    await asyncio.to_thread(process.join, START_S)
    messages = log.read_text("utf-8")
    assert process.exitcode == 0, messages
    return output, messages


def _run_module(sender: Connection, command: list[str], variables: dict[str, str], log: Path) -> None:
    """Run `python -m` with this command in a process that was just forked."""
    os.environ.update(variables)
    errors = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(sender.fileno(), 1)
    os.dup2(errors, 2)
    sender.close()
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
    sys.argv = command
    runpy.run_module(command[0], run_name="__main__", alter_sys=True)
