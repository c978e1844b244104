"""The program of each web framework's page, as it is, in Chromium with the real element: `make integrations`.

Between browser and server, a relay cuts the stream again and again. The browser must come back by itself, and
show all of the turn, while the model is asked once. Then the checks of `test_servers.py` run in the same
environment, and the row of the table is written.
"""

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, expect
from tests.cli.environment import running_simulator
from tests.integrations.environments import ROOT, environment_of
from tests.integrations.framework_table import SERVERS_TABLE, write_row
from tests.integrations.screen_table import PAGES, program_of
from tests.integrations.test_servers import free_port, running
from tests.patience import patient_context

CHECKS = ROOT / "tests/integrations/test_servers.py"
SIMULATOR_URL = "http://127.0.0.1:8401"
CUTS = 5
THOUGHT = "Six sevens are forty-two: " + "seven and seven and seven, " * 20
ANSWER = "It is 42."
_PAGE = re.compile(r"```html\n(.*?)```", re.DOTALL)


class WebServer(NamedTuple):
    """What a page is installed with, and how its program is started."""

    packages: tuple[str, ...]
    program: str
    command: str


WEB_SERVERS = {
    "fastapi": WebServer(("fastapi", "uvicorn"), "program.py", "-m uvicorn program:app --port {port}"),
    "django": WebServer(("django", "uvicorn"), "mysite/urls.py", "manage.py runserver --noreload {port}"),
    "flask": WebServer(("flask",), "program.py", "-m flask --app program run --port {port}"),
}


class CuttingRelay:
    """Passes connections on, and cuts each of the first streams somewhere in the middle."""

    def __init__(self, port: int) -> None:
        self.cuts = 0
        self.last_ids: list[str] = []
        self._upstream = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        """Pass one request on. Without keep-alive, each connection has one."""
        with client, socket.create_connection(self._upstream) as server:
            head = b""
            while b"\r\n\r\n" not in head and (data := client.recv(65_536)):
                head += data
            if not head:
                return
            server.sendall(re.sub(rb"\r\nConnection: [^\r]*", b"\r\nConnection: close", head))
            streams = head.startswith(b"GET /ask")
            if streams and (match := re.search(rb"\r\nLast-Event-ID: ([^\r]*)", head, re.IGNORECASE)):
                self.last_ids.append(match[1].decode())
            left = 900 + 211 * self.cuts if streams and self.cuts < CUTS else None
            while data := server.recv(65_536):
                client.sendall(data[:left])
                if left is not None and (left := left - len(data)) <= 0:
                    self.cuts += 1
                    return


@contextmanager
def served_page(name: str, folder: Path, simulator_url: str) -> Iterator[int]:
    """Make what the page says, in a folder of its own, and start it."""
    server = WEB_SERVERS[name]
    python = environment_of(f".venv-frameworks/{name}", *server.packages, "openai")
    program = program_of(name)
    assert SIMULATOR_URL in program
    if name == "django":
        subprocess.check_call([python, "-m", "django", "startproject", "mysite", "."], cwd=folder)
    (folder / server.program).write_text(program.replace(SIMULATOR_URL, simulator_url), "utf-8")
    html = _PAGE.search((PAGES / f"{name}.md").read_text("utf-8"))
    assert html is not None
    (folder / "page.html").write_text(html[1], "utf-8")
    port = free_port()
    command = [str(python), *server.command.format(port=port).split()]
    with running(command, port, folder, {**os.environ, "PYTHONPATH": str(folder)}):
        yield port


@pytest.mark.parametrize("name", sorted(WEB_SERVERS))
def test_page_shows_the_whole_turn_over_cut_connections(name: str, browser: Browser, tmp_path: Path) -> None:
    script = [{"thinking": THOUGHT, "text": ANSWER}]
    with (
        running_simulator("deepseek", script) as simulator,
        served_page(name, tmp_path, simulator.url) as port,
        patient_context(browser) as context,
    ):
        relay = CuttingRelay(port)
        page = context.new_page()
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(f"http://127.0.0.1:{relay.port}/")
        expect(page.locator("body > p")).to_have_text(ANSWER)
        block = page.locator("thinking-block")
        assert block.evaluate("block => block.text") == THOUGHT
        expect(block).to_have_attribute("status", "done")
        expect(block.locator("[part=label]")).to_contain_text("Thought for")
        block.locator("[part=summary]").click()
        expect(block.locator("[part=content]")).to_contain_text("Six sevens are forty-two")
        assert faults == []
        assert relay.cuts == CUTS
        assert len(relay.last_ids) == CUTS
        assert len(simulator.requests) == 1
    write_row(name, make_server_row(name, count_checks(name)), SERVERS_TABLE)


def count_checks(name: str) -> int:
    """Return how many checks a server of this framework passed; all of them must."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", name, str(CHECKS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    passed = re.search(r"^(\d+) passed", done.stdout, re.MULTILINE)
    assert passed is not None, done.stdout
    return int(passed[1])


def make_server_row(name: str, checks: int) -> str:
    """Return the row of a framework, with the versions of what is installed."""
    title = (PAGES / f"{name}.md").read_text("utf-8").splitlines()[0].removeprefix("# ")
    code = (
        "import sys, importlib.metadata as m; print(', '.join(f'{p} {m.version(p)}' for p in sys.argv[1:]))"
    )
    python = ROOT / ".venv-frameworks" / name / "bin/python"
    packages = WEB_SERVERS[name].packages
    versions = subprocess.check_output([python, "-c", code, *packages], text=True).strip()
    return f"| [{title}]({name}.md) | {versions} | {datetime.now(UTC):%Y-%m-%d} | {checks} | {CUTS} |\n"
