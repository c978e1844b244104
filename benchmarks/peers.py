"""The gateways and relays that are compared, each in a process and an environment of its own.

`python -m benchmarks.peers` installs LiteLLM and Portkey into `build/peers`. What is not installed is left
out of the comparison, with a message.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.serve import CATALOG

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "peers"
LITELLM = FOLDER / "litellm" / "bin" / "litellm"
PORTKEY = FOLDER / "portkey" / "node_modules" / "@portkey-ai" / "gateway" / "build" / "start-server.js"
LITELLM_PACKAGE = "litellm[proxy]"
PORTKEY_PACKAGE = "@portkey-ai/gateway@1.15.2"
PORTKEY_OVERRIDES = {"private": True, "overrides": {"@hono/node-server": "1.13.8"}}
"""With a newer `@hono/node-server` this Portkey answers 500."""
BURST_MODEL = "mock-rc-r25-c25-s4-p0"
"""25 chunks of thought and 25 of answer, of 4 characters each, at once."""
PACED_MODEL = "mock-rc-r50-c50-s4-p20"
"""100 chunks, one every 20 ms."""
ENVIRONMENT = {"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true", "LITELLM_LOG": "ERROR"}
"""LiteLLM demands a key of its own otherwise. It listens on this machine only."""
START_S = 120.0


class Peer(NamedTuple):
    """A running gateway or relay: where it listens, its process, and how it wants to be asked."""

    name: str
    port: int
    process: int
    model_prefix: str = ""
    headers: tuple[str, ...] = ()


class PeerKind(NamedTuple):
    """How a gateway or relay is started. `command` takes the provider's port, its own port and a folder."""

    name: str
    command: Callable[[int, int, Path], list[str]]
    installed: Callable[[], bool] = lambda: True
    model_prefix: str = ""
    headers: Callable[[int], tuple[str, ...]] = lambda _: ()


def _thinkaloud(provider_port: int, port: int, folder: Path) -> list[str]:
    (folder / "catalog.toml").write_text(CATALOG.format(port=provider_port), "utf-8")
    limits = ("--turns-per-user", "5000")
    return [sys.executable, "-m", "thinkaloud", "serve", "--port", str(port), "--log-format", "json", *limits]


def _relay(name: str) -> Callable[[int, int, Path], list[str]]:
    return lambda provider_port, port, _: [
        sys.executable,
        *("-m", "benchmarks.relays", name, str(provider_port), str(port)),
    ]


def _litellm(provider_port: int, port: int, folder: Path) -> list[str]:
    address = {"api_base": f"http://127.0.0.1:{provider_port}/v1", "api_key": "none"}
    rows = [
        {"model_name": model, "litellm_params": {"model": f"openai/{model}", **address}}
        for model in (BURST_MODEL, PACED_MODEL)
    ]
    config = folder / "litellm.yaml"
    config.write_text(json.dumps({"model_list": rows}), "utf-8")  # JSON is YAML
    return [str(LITELLM), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]


def _portkey(provider_port: int, port: int, folder: Path) -> list[str]:
    return ["node", str(PORTKEY), f"--port={port}", "--headless"]


def _portkey_headers(provider_port: int) -> tuple[str, ...]:
    return (
        "x-portkey-provider: openai",
        f"x-portkey-custom-host: http://127.0.0.1:{provider_port}/v1",
        "authorization: Bearer none",
    )


THINKALOUD = PeerKind("Thinkaloud", _thinkaloud, model_prefix="bench/")
RAW = PeerKind("bytes alone: asyncio and httptools", _relay("raw"))
STARLETTE = PeerKind("bytes alone: Starlette and aiohttp", _relay("starlette"))
LITELLM_PROXY = PeerKind("LiteLLM's proxy", _litellm, LITELLM.exists)
PORTKEY_GATEWAY = PeerKind("Portkey's gateway", _portkey, PORTKEY.exists, headers=_portkey_headers)
KINDS = (THINKALOUD, RAW, STARLETTE, PORTKEY_GATEWAY, LITELLM_PROXY)


@contextmanager
def running_peer(kind: PeerKind, provider_port: int, folder: Path, core: int | None) -> Iterator[Peer]:
    """Start a gateway or relay, on one core if a core is given, until the block ends."""
    own_folder = folder / kind.name.split(":")[0].replace(" ", "-").replace("'", "") / str(time.time_ns())
    own_folder.mkdir(parents=True)
    port = free_port()
    pin = () if core is None else ("taskset", "-c", str(core))
    with subprocess.Popen(
        [*pin, *kind.command(provider_port, port, own_folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env=os.environ | ENVIRONMENT | {"THINKALOUD_HOME": str(own_folder)},
    ) as running:
        try:
            _wait_until_serving(running, port, kind.name)
            headers = kind.headers(provider_port)
            yield Peer(kind.name, port, running.pid, kind.model_prefix, headers)
        finally:
            running.send_signal(signal.SIGCONT)
            running.kill()


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def _wait_until_serving(running: subprocess.Popen[bytes], port: int, name: str) -> None:
    until_s = time.monotonic() + START_S
    while time.monotonic() < until_s:
        if running.poll() is not None:
            raise SystemExit(f"{name} ended with status {running.returncode} before it served a request.")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
        except urllib.error.HTTPError:
            return  # it answers
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit(f"{name} did not serve a request within {START_S:g} s.")


def install() -> None:
    """Install LiteLLM and Portkey into `build/peers`."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", str(FOLDER / "litellm")], check=True)
    pip = FOLDER / "litellm" / "bin" / "pip"
    subprocess.run([str(pip), "install", "--quiet", LITELLM_PACKAGE], check=True)
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm was not found, so Portkey's gateway is left out. Install Node.js.")
    folder = FOLDER / "portkey"
    folder.mkdir(exist_ok=True)
    (folder / "package.json").write_text(json.dumps(PORTKEY_OVERRIDES), "utf-8")
    subprocess.run([npm, "install", "--no-audit", "--no-fund", PORTKEY_PACKAGE], cwd=folder, check=True)


if __name__ == "__main__":
    install()
