"""Real reverse proxies before a gateway: refused as they come, and served as the guide configures them."""

import asyncio
import io
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp
import pytest
from tests.gateway.forked_gateway import ForkedGateway
from tests.gateway.gateway_process import GatewayProcess, bearer_headers
from tests.patience import PATIENCE_S

from thinkaloud.gateway.store.engine.file_lock import lock_holder, lock_path

GUIDE = (Path(__file__).parents[2] / "docs/how-to/gateway.md").read_text("utf-8")
NAME = "chat.example.org"
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
LARGE_BYTES = 9 * 2**20
"""Less than the largest body that the gateway takes."""


class Proxy(NamedTuple):
    """A proxy: its command, its plainest configuration, the guide's one, and how to put a port into that."""

    command: str
    plain: str
    heading: str
    """The words before its configuration in the guide."""
    listen: tuple[str, str]
    """Text of the guide's configuration, and what it becomes on a port of this test."""


NGINX_FRAME = """
{user} daemon off; pid {folder}/pid; error_log stderr; events {{}}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    {server}
}}
"""
AS_OWN_USER = "global\n user haproxy\n group haproxy\n"
PROXIES = {
    "nginx": Proxy(
        "nginx -c {file}",
        "server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:8321; }} }}",
        "nginx (",
        ("server_name", "listen 127.0.0.1:{port}; server_name"),
    ),
    "haproxy": Proxy(
        "haproxy -f {file}",
        # Debian's HAProxy adds no header and runs as a user of its own, which only root can start.
        (AS_OWN_USER if os.geteuid() == 0 else "")
        + "defaults\n mode http\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n"
        + ("" if os.geteuid() == 0 else " option forwardfor\n")
        + "listen chat\n bind 127.0.0.1:{port}\n server gateway 127.0.0.1:8321\n",
        "HAProxy:",
        ("bind :80", "bind 127.0.0.1:{port}"),
    ),
    "caddy": Proxy(
        "caddy run --adapter caddyfile --config {file}",
        "http://127.0.0.1:{port} {{\n reverse_proxy 127.0.0.1:8321\n}}\n",
        "Caddy:",
        (f"{NAME} {{", f"http://{NAME}:{{port}} {{"),
    ),
}


def guide_configuration(proxy: Proxy, port: int) -> str:
    """Return the guide's configuration, word for word except for where the proxy listens."""
    block = re.compile(re.escape(f"\n{proxy.heading}") + r".*?^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    found = block.search(GUIDE)
    assert found is not None, f"the guide has no configuration after {proxy.heading!r}"
    text, replacement = proxy.listen
    assert text in found[1]
    return found[1].replace(text, replacement.replace("{port}", str(port)))


@asynccontextmanager
async def run_proxy(name: str, configuration: str, folder: Path, gateway_url: str) -> AsyncIterator[None]:
    """Run a proxy whose configuration has the guide's port of the gateway."""
    folder.mkdir()
    file = folder / "proxy.conf"
    upstream = gateway_url.removeprefix("http://")
    configuration = configuration.replace("127.0.0.1:8321", upstream)
    if name == "nginx":
        user = "user root;" if os.geteuid() == 0 else ""  # else its workers could not use this folder
        configuration = NGINX_FRAME.format(user=user, folder=folder, server=configuration)
    if name == "caddy":  # its other port would be the same for every copy of this test
        configuration = "{\n admin off\n}\n" + configuration
    file.write_text(configuration, "utf-8")
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            PROXIES[name].command.format(file=file).split(),
            stdout=log,
            stderr=log,
            env={"PATH": SYSTEM_PATH, "HOME": str(folder)},
        )
    try:
        yield
    except AssertionError as error:
        error.add_note((folder / "log").read_text("utf-8")[-2000:])
        raise
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, PATIENCE_S)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


async def until_it_listens(port: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline, "the proxy does not listen"
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return


INSTALLED = [
    name for name, proxy in PROXIES.items() if shutil.which(proxy.command.split()[0], path=SYSTEM_PATH)
]
needs_a_proxy = pytest.mark.skipif(not INSTALLED, reason=f"none of {', '.join(PROXIES)} is installed")


@needs_a_proxy
def test_proxies_are_refused_without_tokens(tmp_path: Path, provider: str) -> None:
    async def story() -> None:
        gateway = ForkedGateway(tmp_path / "home", provider)
        await gateway.start()
        try:
            await asyncio.gather(*(_refused_as_it_comes(name, tmp_path, gateway.url) for name in INSTALLED))
        finally:
            await gateway.stop()

    asyncio.run(story())


@needs_a_proxy
def test_configurations_of_the_guide_serve_callers_with_tokens(tmp_path: Path, provider: str) -> None:
    async def story() -> None:
        gateway = ForkedGateway(tmp_path / "home", provider, "--auth", "token", "--allow-host", NAME)
        await gateway.start()
        try:
            await asyncio.gather(*(_works_as_in_the_guide(name, tmp_path, gateway) for name in INSTALLED))
        finally:
            await gateway.stop()

    asyncio.run(story())


async def _refused_as_it_comes(name: str, folder: Path, gateway_url: str) -> None:
    port = free_port()
    configuration = PROXIES[name].plain.format(port=port)
    async with (
        run_proxy(name, configuration, folder / name, gateway_url),
        aiohttp.ClientSession() as http,
    ):
        await until_it_listens(port)
        # A caller can send any name of a host. Caddy serves nothing for one that it does not know.
        hosts = [f"127.0.0.1:{port}"] if name == "caddy" else ["localhost", gateway_url[7:], NAME]
        for host in hosts:
            url, headers = f"http://127.0.0.1:{port}/api/sessions", {"Host": host}
            async with http.get(url, headers=headers) as response:
                answer = await response.text()
                assert response.status in (401, 421), answer
                assert "--auth token" in answer, answer


async def _works_as_in_the_guide(name: str, folder: Path, gateway: GatewayProcess) -> None:
    port = free_port()
    holder = lock_holder(lock_path(gateway.database))
    assert holder is not None
    configuration = guide_configuration(PROXIES[name], port)
    async with (
        run_proxy(name, configuration, folder / name, gateway.url),
        aiohttp.ClientSession(headers={"Host": NAME}) as http,
    ):
        await until_it_listens(port)
        await _check_calls(http, f"http://127.0.0.1:{port}", holder.token)


async def _check_calls(http: aiohttp.ClientSession, url: str, token: str) -> None:
    """Without a token nothing is served; with one, sessions, large bodies and live streams are."""
    async with http.get(f"{url}/api/sessions") as response:
        assert response.status == 401, await response.text()
    headers = bearer_headers(token)
    async with http.post(f"{url}/api/sessions", json={}, headers=headers) as response:
        assert response.status == 201, await response.text()
        session = (await response.json())["id"]
    large = {"Content-Type": "application/json", **headers}
    async with http.post(f"{url}/api/import", data=io.BytesIO(b" " * LARGE_BYTES), headers=large) as response:
        assert response.status in (400, 422), await response.text()  # the gateway itself refuses it: no JSON
    body = {"prompt": "Go on.", "model": "paced/r2000-c1-ms20"}
    async with http.post(f"{url}/api/sessions/{session}/turns", json=body, headers=headers) as response:
        assert response.status == 202, await response.text()
        turn = (await response.json())["id"]
    async with http.get(f"{url}/api/turns/{turn}/events", headers=headers) as response:
        assert response.status == 200
        received = b""
        while received.count(b"block.grew") < 3:  # a proxy that buffers would wait for the end of the turn
            received += await asyncio.wait_for(response.content.readany(), PATIENCE_S)
    async with http.post(f"{url}/api/turns/{turn}/cancel", headers=headers) as response:
        assert response.status in (200, 202), await response.text()
