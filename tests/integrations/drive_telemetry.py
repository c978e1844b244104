"""Phoenix at its newest version, in an environment of its own: `make integrations`.

A session is exported as JSON and sent to Phoenix by the command. What Phoenix then tells through its own API
must be what was sent, and its page must show the tree. The picture and the row of the docs are made here.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from playwright.sync_api import Browser, expect
from tests.integrations.environments import ROOT, environment_of
from tests.integrations.traced_session import THOUGHT, traced_session
from tests.patience import PATIENCE_S, patient_context

from thinkaloud.core.export.otlp import requests
from thinkaloud.core.export.record import write_json

PAGE = ROOT / "docs/integrations/telemetry.md"
PICTURE = ROOT / "docs/pictures/telemetry.png"
MAX_PICTURE_BYTES = 200_000
FIRST_REPLY = "chat claude-sonnet-4-5"
START_S = 600
"""Phoenix makes its database at its first start, which takes a minute on a busy machine."""
QUIET = {"PHOENIX_TELEMETRY_ENABLED": "false", "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false"}
"""Phoenix loads nothing from other hosts and counts no use: its documented variables."""
EXPECTED = [
    ("invoke_agent", "agent", "UNSET"),
    (FIRST_REPLY, "llm", "UNSET"),
    ("execute_tool get_weather", "tool", "UNSET"),
    ("execute_tool get_tides", "tool", "ERROR"),
    ("invoke_agent Water expert", "agent", "UNSET"),
    ("chat deepseek-v4-pro", "llm", "UNSET"),
    (FIRST_REPLY, "llm", "UNSET"),
]
"""Names, kinds and states as Phoenix tells them."""
SPANS = """query ($id: ID!) { project: node(id: $id) { ... on Project { spans(first: 50) { edges { node {
  name spanKind statusCode spanId parentId tokenCountTotal attributes } } } } } }"""
_ROW = re.compile(r"^\| Phoenix \|.*\n", re.MULTILINE)


def test_phoenix_shows_a_session_as_it_was(tmp_path: Path, browser: Browser) -> None:
    file = tmp_path / "session.json"
    session = traced_session(time.time_ns() // 1_000_000)
    file.write_bytes(write_json(session))
    [request] = requests(session)
    trace = request["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"]
    with phoenix(tmp_path) as (url, version):
        command = [sys.executable, "-m", "thinkaloud", "export", str(file), "--send", url]
        subprocess.check_call([*command, "--content", "thoughts", "--openinference"])
        project, spans = wait_for_spans(url, EXPECTED)
        assert [(span["name"], span["spanKind"], span["statusCode"]) for span in spans] == EXPECTED
        tokens = {span["name"]: span["tokenCountTotal"] or 0 for span in spans}
        assert tokens["invoke_agent"] == 0, "the replies have the counts"
        assert any(THOUGHT in span["attributes"] for span in spans)
        picture = open_trace(browser, url, project, trace)
    assert len(picture) < MAX_PICTURE_BYTES
    PICTURE.write_bytes(picture)
    write_row(version, len(spans))


@contextmanager
def phoenix(folder: Path) -> Iterator[tuple[str, str]]:
    """Install and run Phoenix; yield its address and version."""
    python = environment_of(".venv-phoenix", "arize-phoenix")
    version = subprocess.check_output(
        [python, "-c", "from importlib.metadata import version; print(version('arize-phoenix'))"], text=True
    )
    port, grpc_port = free_ports(2)
    settings = {
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(grpc_port),
    }
    with open(folder / "phoenix.log", "wb") as log:
        server = subprocess.Popen(
            [python, "-m", "phoenix.server.main", "serve"],
            env={"PATH": os.environ["PATH"], "HOME": str(folder), **settings, **QUIET},
            stdout=log,
            stderr=log,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_ready(url, server)
        yield url, version.strip()
    finally:
        server.terminate()
        server.wait(PATIENCE_S)


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [server.getsockname()[1] for server in sockets]
    for server in sockets:
        server.close()
    return ports


def wait_until_ready(url: str, server: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        assert server.poll() is None, "Phoenix ended, see phoenix.log"
        try:
            with urlopen(f"{url}/healthz", timeout=PATIENCE_S):
                return
        except (URLError, OSError):
            time.sleep(0.5)
    raise AssertionError("Phoenix did not start")


def ask(url: str, query: str, **variables: str) -> Any:
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = Request(f"{url}/graphql", body, {"content-type": "application/json"})
    with urlopen(request, timeout=PATIENCE_S) as response:
        return json.load(response)["data"]


def wait_for_spans(url: str, expected: list[tuple[str, str, str]]) -> tuple[str, list[Any]]:
    """Return the project and its spans, once Phoenix has stored all of them."""
    end = time.monotonic() + PATIENCE_S
    spans: list[Any] = []
    while time.monotonic() < end:
        projects = ask(url, "{ projects { edges { node { id name } } } }")["projects"]["edges"]
        for project in (edge["node"]["id"] for edge in projects):
            spans = [edge["node"] for edge in ask(url, SPANS, id=project)["project"]["spans"]["edges"]]
            if len(spans) == len(expected):
                return project, spans
        time.sleep(0.5)
    raise AssertionError(f"Phoenix has {len(spans)} spans, not {len(expected)}")


def open_trace(browser: Browser, url: str, project: str, trace: str) -> bytes:
    """Open the trace in the page of Phoenix, and return a picture of it."""
    with patient_context(browser, viewport={"width": 1360, "height": 900}) as context:
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{url}/projects/{project}/traces/{trace}")
        page.get_by_text(FIRST_REPLY).first.click()
        expect(page.get_by_text(THOUGHT).filter(visible=True).first).to_be_visible()
        expect(page.get_by_text("execute_tool get_tides").first).to_be_visible()
        picture = page.screenshot()
        assert not [address for address in asked if not address.startswith((url, "data:", "blob:"))]
    return picture


def write_row(version: str, spans: int) -> None:
    """Write what was seen, and when, into the docs."""
    row = (
        f"| Phoenix | {version} | {datetime.now(UTC):%Y-%m-%d} | {spans} of {spans} spans, with thoughts |\n"
    )
    text = PAGE.read_text("utf-8")
    PAGE.write_text(_ROW.sub(row, text), "utf-8")
