"""A gateway process that starts in a fraction of a second, to be killed many times.

It is forked from a process that has imported everything. What it does from then on is what `thinkaloud serve`
does, on a free port and with its own home.
"""

import asyncio
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from types import MappingProxyType

import msgspec
from tests.gateway import serve_with_settings
from tests.gateway.gateway_process import GatewayProcess
from tests.gateway.paced_provider import START_S

from thinkaloud.gateway.server.gateway import Settings

_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(
    [
        "tests.gateway.serve_with_settings",
        "thinkaloud.gateway.server.http.app",
        "thinkaloud.gateway.store.engine.sqlite",
        "thinkaloud.gateway.store.engine.postgres",
    ]
)


class ForkedGateway(GatewayProcess):
    """A gateway whose process is forked and not started anew."""

    def __init__(
        self,
        home: Path,
        provider: str,
        settings: Settings,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(home, provider, settings=settings, variables=variables)
        self._settings_json = msgspec.json.encode(settings).decode()
        self._ready = False
        self._forked: multiprocessing.context.ForkServerProcess | None = None

    @property
    def pid(self) -> int:
        assert self._forked is not None
        assert self._forked.pid is not None
        return self._forked.pid

    async def start(self) -> None:
        """Start, and wait until it responds."""
        started_at_s = time.monotonic()
        self._ready = False
        receiver, sender = _FORKING.Pipe(duplex=False)
        variables = {"THINKALOUD_HOME": str(self.home), **self._variables}
        arguments = (sender, self._settings_json, variables, self.home / "stderr.log")
        self._forked = _FORKING.Process(target=_serve, args=arguments)
        await asyncio.to_thread(self._forked.start)
        sender.close()
        try:
            self._url = await asyncio.to_thread(receiver.recv)
        except EOFError:
            raise AssertionError(f"the gateway does not start: {self.errors[-2000:]}") from None
        finally:
            receiver.close()
        self._ready = True
        self.start_duration_s = time.monotonic() - started_at_s

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


def _serve(sender: Connection, settings_json: str, variables: dict[str, str], log: Path) -> None:
    """Serve in a process that was just forked, and send the address when it is ready."""
    os.environ.update(variables)
    errors = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(errors, 2)
    sys.stderr = os.fdopen(2, "w", buffering=1)
    sys.exit(serve_with_settings.main(settings_json, on_url=sender.send))
