"""A gateway as a process with a home of its own: started, killed, stopped, paused and started again."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from tests.gateway.paced_provider import CATALOG_ROW, ROOT, START_S

from thinkaloud.server.gateway import Settings


class GatewayProcess:
    """`thinkaloud serve` on any free port; with settings of a test, the same by `hosting`."""

    def __init__(self, home: Path, provider: str, *options: str, settings: Settings | None = None) -> None:
        self.home = home
        self.url = ""
        self.start_duration_s = 0.0
        """How long the last start took, until it answered."""
        self.killed = False
        self._process: subprocess.Popen[str] | None = None
        command = ["thinkaloud", "serve", "--port", "0", "--log-format", "json", *options]
        if settings is not None:
            command = ["tests.gateway.serve_with_settings", msgspec.json.encode(settings).decode()]
        self._command = [sys.executable, "-m", *command]
        home.mkdir(exist_ok=True)
        (home / "catalog.toml").write_text(CATALOG_ROW.format(url=provider), "utf-8")

    @property
    def database(self) -> Path:
        """Its one file."""
        return self.home / "thinkaloud.db"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def errors(self) -> str:
        """All that it said on stderr, over all starts."""
        return (self.home / "stderr.log").read_text("utf-8")

    async def start(self) -> None:
        """Start, and wait until it answers."""
        started_at_s = time.monotonic()
        self.killed = False
        with (self.home / "stderr.log").open("a") as errors:
            self._process = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env={**os.environ, "THINKALOUD_HOME": str(self.home)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert self._process.stdout
        self.url = (await asyncio.to_thread(self._process.stdout.readline)).strip()
        self.start_duration_s = time.monotonic() - started_at_s
        assert self.url, f"the gateway does not start: {self.errors[-2000:]}"

    async def kill(self) -> None:
        """Take it away without a word."""
        self.killed = True
        await self.send(signal.SIGKILL).wait()

    def send(self, number: signal.Signals) -> "GatewayProcess":
        assert self._process is not None
        self._process.send_signal(number)
        return self

    async def wait(self) -> int:
        """Wait for its end; the exit code."""
        assert self._process is not None
        assert self._process.stdout
        code = await asyncio.to_thread(self._process.wait, START_S)
        self._process.stdout.close()
        return code

    async def stop(self) -> int:
        """Ask it to stop; the exit code."""
        return await self.send(signal.SIGTERM).wait()

    @property
    def alive(self) -> bool:
        """Whether there is such a process."""
        return self._process is not None and self._process.poll() is None


class Caller:
    """Asks a gateway, as any program would; by its token as one user, without as the local one."""

    def __init__(self, gateway: GatewayProcess, http: aiohttp.ClientSession) -> None:
        self.gateway = gateway
        self.http = http

    async def call(
        self, method: str, path: str, body: Any = None, *, status: int = 200, token: str = ""
    ) -> Any:
        """The answer's JSON, after a look at its status."""
        async with self.http.request(
            method, self.gateway.url + path, json=body, headers=bearer_headers(token)
        ) as response:
            content = await response.read()
            assert response.status == status, (response.status, content)
            return msgspec.json.decode(content) if content else None

    async def create_session(self, token: str = "") -> str:
        """A new session's id."""
        return str((await self.call("POST", "/api/sessions", {}, status=201, token=token))["id"])

    async def start_turn(self, model: str, session: str = "", token: str = "") -> str:
        """The id of a turn that has begun, in a new session unless one is named."""
        session = session or await self.create_session(token)
        turn_body = {"prompt": "Go on.", "model": f"paced/{model}"}
        path = f"/api/sessions/{session}/turns"
        return str((await self.call("POST", path, turn_body, status=202, token=token))["id"])


def bearer_headers(token: str) -> dict[str, str]:
    """The header that shows a token, where there is one."""
    return {"Authorization": f"Bearer {token}"} if token else {}


@asynccontextmanager
async def start_caller(gateway: GatewayProcess) -> AsyncIterator[Caller]:
    """A caller of a gateway that is started here, and gone when the block ends."""
    connector = aiohttp.TCPConnector(limit=0, force_close=True, family=socket.AF_INET)
    async with aiohttp.ClientSession(connector=connector) as http:
        await gateway.start()
        try:
            yield Caller(gateway, http)
        finally:
            if gateway.alive:
                await gateway.kill()
