"""Server-rendered apps with `<thinking-block>`: each is built, started, and opened in Chromium.

`make integrations` runs it: the packages are large, so it is no part of `make test`. The element is packed
and unpacked as an app would install it. The table in `web/integrations/README.md` says what passed.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, expect
from tests.patience import PATIENCE_S, patient_context
from tests.web.site import WEB

FOLDER = WEB / "integrations"
TABLE = FOLDER / "README.md"
MARKS = re.compile(r"(?<=<!-- results -->\n).*?(?=<!-- end -->)", re.DOTALL)
BUILD_S = 900
QUIET = {"NEXT_TELEMETRY_DISABLED": "1", "NUXT_TELEMETRY_DISABLED": "1"}
BAD = ("error", "warning")


class App(NamedTuple):
    """A framework: its packages with versions worth naming, and how an app of it is built and started."""

    name: str
    packages: tuple[str, ...]
    build: tuple[str, ...]
    start: tuple[str, ...]


APPS = (
    App(
        "Next",
        ("next", "react", "@ai-sdk/react", "ai"),
        ("next", "build", "next"),
        ("node_modules/next/dist/bin/next", "start", "next"),
    ),
    App("Nuxt", ("nuxt", "vue", "ai"), ("nuxt", "build", "nuxt"), ("nuxt/.output/server/index.mjs",)),
)
AI_SDK = ("ai-5", "ai", "ai-7")

rows: list[str] = []


def node_binary(name: str) -> str:
    path = shutil.which(name)
    assert path, f"there is no {name}"
    return path


def run(*command: str, folder: Path = FOLDER, timeout: float = BUILD_S) -> str:
    completed = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | QUIET,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert completed.returncode == 0, f"{' '.join(command)}:\n{completed.stdout}{completed.stderr}"
    return completed.stdout


def versions(packages: tuple[str, ...]) -> str:
    named = []
    for package in packages:
        manifest = json.loads((FOLDER / "node_modules" / package / "package.json").read_bytes())
        named.append(f"{manifest['name']} {manifest['version']}")
    return ", ".join(named)


@pytest.fixture(scope="module", autouse=True)
def packed_element(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The element as `npm install` would leave it; at the end, the table of what passed."""
    folder = tmp_path_factory.mktemp("package")
    run(node_binary("npm"), "pack", "--silent", "--pack-destination", str(folder), folder=WEB)
    (package,) = folder.glob("*.tgz")
    with tarfile.open(package) as archive:
        archive.extractall(folder, filter="data")
    installed = FOLDER / "node_modules" / "thinking-block"
    shutil.rmtree(installed, ignore_errors=True)
    shutil.copytree(folder / "package", installed)
    yield
    if len(rows) == len(APPS) + len(AI_SDK):
        node = run(node_binary("node"), "--version").strip()
        date = datetime.now(UTC).date().isoformat()
        lines = [f"{date}, Node.js {node}", "", "| what | versions | result |", "|---|---|---|", *rows, ""]
        table = "\n".join(lines)
        TABLE.write_text(MARKS.sub(lambda _: table, TABLE.read_text("utf-8")), "utf-8")


@contextmanager
def started(app: App) -> Iterator[str]:
    """Start the built app on a free port of this machine, and wait until it answers."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    environment = os.environ | QUIET | {"PORT": str(port), "HOST": "127.0.0.1", "HOSTNAME": "127.0.0.1"}
    with subprocess.Popen([node_binary("node"), *app.start], cwd=FOLDER, env=environment) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            wait_for(url, process)
            yield url
        finally:
            process.terminate()


def wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        assert process.poll() is None, "the app stopped"
        try:
            urlopen(url, timeout=PATIENCE_S).close()
        except URLError:
            time.sleep(0.1)
        else:
            return
    pytest.fail(f"{url} does not answer")


@pytest.mark.parametrize("app", APPS, ids=lambda app: app.name)
def test_server_rendered_app_shows_thinking(browser: Browser, app: App) -> None:
    run(node_binary("npx"), *app.build)
    with started(app) as url, patient_context(browser) as context:
        with urlopen(url, timeout=PATIENCE_S) as response:
            assert "<thinking-block" in response.read().decode(), "the server renders the element"
        page = context.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if message.type in BAD else None)
        page.goto(url)
        stored, streamed = page.locator("thinking-block").first, page.locator("thinking-block").last
        expect(stored).to_have_attribute("status", "done")
        stored.locator("summary.summary").click()
        expect(stored.locator(".body strong")).to_have_text("ten minutes")
        page.get_by_role("button", name="Ask").click()
        expect(streamed.locator(".summary .label")).to_contain_text("Thinking")
        expect(page.locator("main")).to_contain_text("The train leaves at 18:32.")
        expect(streamed).to_have_attribute("status", "done")
        assert streamed.evaluate("block => block.text") == "I look up the timetable."
        assert complaints == []
    rows.append(f"| {app.name}, built and opened in Chromium | {versions(app.packages)} | passed |")


@pytest.mark.parametrize("package", AI_SDK)
def test_messages_of_every_version_of_the_ai_sdk_are_read(package: str) -> None:
    read = json.loads(run(node_binary("node"), "read-messages.mjs", package))
    assert read == {
        "kinds": ["reasoning", "tool_call", "text"],
        "texts": ["I look up the timetable.", '{"from":"office"}', "The train leaves at 18:32."],
        "result": "18:32",
        "ending": "answered",
        "rewrites": 0,
    }
    rows.append(f"| Messages of the AI SDK, as they grow | {versions((package,))} | passed |")
