"""A gateway process with its own home: start, kill, stop, pause and restart."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import aiohttp
import msgspec
from tests.gateway.paced_provider import CATALOG_ROW, ROOT, START_S

from thinkaloud.gateway.server.gateway import Settings


class GatewayProcess:
    """`thinkaloud serve` on a free port, or `serve_with_settings` if a test needs other settings.

    `program` is another module with the same command line.
    """

    def __init__(
        self,
        home: Path,
        provider: str,
        *options: str,
        settings: Settings | None = None,
        program: str = "thinkaloud",
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.home = home
        self._url = ""
        self._variables = variables
        self.start_duration_s = 0.0
        """Duration of the last start, until the first response."""
        self.killed = False
        self._process: subprocess.Popen[str] | None = None
        command = [program, "serve", "--port", "0", "--log-format", "json", *options]
        if settings is not None:
            command = ["tests.gateway.serve_with_settings", msgspec.json.encode(settings).decode()]
        self._command = [sys.executable, "-m", *command]
        home.mkdir(exist_ok=True, parents=True)
        (home / "catalog.toml").write_text(CATALOG_ROW.format(url=provider), "utf-8")

    @property
    def url(self) -> str:
        """The address of the last start."""
        return self._url

    @property
    def database(self) -> Path:
        """The path of the database."""
        return self.home / "thinkaloud.db"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def errors(self) -> str:
        """Everything written to stderr, over all starts."""
        return (self.home / "stderr.log").read_text("utf-8")

    async def start(self) -> None:
        """Start, and wait until it responds."""
        started_at_s = time.monotonic()
        self.killed = False
        with (self.home / "stderr.log").open("a") as errors:
            self._process = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env={**os.environ, "THINKALOUD_HOME": str(self.home), **self._variables},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert self._process.stdout
        self._url = (await asyncio.to_thread(self._process.stdout.readline)).strip()
        self.start_duration_s = time.monotonic() - started_at_s
        assert self._url, f"the gateway does not start: {self.errors[-2000:]}"

    async def kill(self) -> None:
        """Kill it with SIGKILL."""
        self.killed = True
        await self.send(signal.SIGKILL).wait()

    def send(self, number: signal.Signals) -> "GatewayProcess":
        assert self._process is not None
        self._process.send_signal(number)
        return self

    async def wait(self) -> int:
        """Wait for the process and return its exit code."""
        assert self._process is not None
        assert self._process.stdout
        code = await asyncio.to_thread(self._process.wait, START_S)
        self._process.stdout.close()
        return code

    async def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        return await self.send(signal.SIGTERM).wait()

    @property
    def alive(self) -> bool:
        """Whether the process is alive."""
        return self._process is not None and self._process.poll() is None


class Caller:
    """An HTTP client of the gateway, as the user of its token, or as the local user."""

    def __init__(self, gateway: GatewayProcess, http: aiohttp.ClientSession) -> None:
        self.gateway = gateway
        self.http = http

    async def call(
        self, method: str, path: str, body: Any = None, *, status: int = 200, token: str = ""
    ) -> Any:
        """Send a request, check the status, and return the JSON."""
        async with self.http.request(
            method, self.gateway.url + path, json=body, headers=bearer_headers(token)
        ) as response:
            content = await response.read()
            assert response.status == status, (response.status, content)
            return msgspec.json.decode(content) if content else None

    async def create_session(self, token: str = "") -> str:
        """Create a session and return its id."""
        return str((await self.call("POST", "/api/sessions", {}, status=201, token=token))["id"])

    async def start_turn(self, model: str, session: str = "", token: str = "") -> str:
        """Start a turn, in a new session by default, and return its id."""
        session = session or await self.create_session(token)
        turn_body = {"prompt": "Go on.", "model": f"paced/{model}"}
        path = f"/api/sessions/{session}/turns"
        return str((await self.call("POST", path, turn_body, status=202, token=token))["id"])


def bearer_headers(token: str) -> dict[str, str]:
    """Return the Authorization header for a token, or nothing without one."""
    return {"Authorization": f"Bearer {token}"} if token else {}


@asynccontextmanager
async def start_caller(gateway: GatewayProcess) -> AsyncIterator[Caller]:
    """Start a gateway, yield a caller, and end the gateway with the block."""
    connector = aiohttp.TCPConnector(limit=0, force_close=True, family=socket.AF_INET)
    async with aiohttp.ClientSession(connector=connector) as http:
        await gateway.start()
        try:
            yield Caller(gateway, http)
        finally:
            if gateway.alive:
                await gateway.kill()
