"""Server-rendered apps with `<thinking-block>`: each is built, started, and opened in Chromium.

`make integrations` runs it: the packages are large, so it is no part of `make test`. The element is packed
and unpacked as an app would install it. The table in `web/integrations/README.md` says what passed.

A build may take as long as the machine needs. One that hangs is recognized by the processor time that it
does not use.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, expect
from tests.patience import PATIENCE_S, patient_context
from tests.web.site import WEB

FOLDER = WEB / "integrations"
TABLE = FOLDER / "README.md"
MARKS = re.compile(r"(?<=<!-- results -->\n).*?(?=<!-- end -->)", re.DOTALL)
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

# Holds a streamed answer before the end of its thought, so that a slow machine sees the thought as well.
HOLD_STREAM = """
const send = window.fetch;
const thought = new Promise(resolve => { window.endThought = resolve; });
window.fetch = async (...request) => {
  const response = await send(...request);
  if (!response.headers.get("content-type")?.includes("event-stream")) return response;
  let rest = "";
  const hold = new TransformStream({
    async transform(text, stream) {
      const events = (rest + text).split("\\n\\n");
      rest = events.pop();
      for (const event of events) {
        if (event.includes("reasoning-end")) await thought;
        stream.enqueue(`${event}\\n\\n`);
      }
    },
  });
  const body = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(hold);
  return new Response(body.pipeThrough(new TextEncoderStream()), response);
};
"""

pytestmark = pytest.mark.timeout(0)

rows: list[str] = []


def node_binary(name: str) -> str:
    path = shutil.which(name)
    assert path, f"there is no {name}"
    return path


class Progress:
    """Fails once no process of a group has used the processor for as long as a test waits for anything."""

    def __init__(self, group: int) -> None:
        self._group = group
        self._used: list[str] = []
        self._used_at = time.monotonic()

    def check(self) -> None:
        listed = subprocess.run(
            ["ps", "-A", "-o", "pgid=,pid=,time="], capture_output=True, text=True, check=True
        )
        used = [line for line in listed.stdout.splitlines() if line.split()[0] == str(self._group)]
        if used != self._used:
            self._used = used
            self._used_at = time.monotonic()
        assert time.monotonic() - self._used_at < PATIENCE_S, f"it does nothing any more: {used}"


@contextmanager
def running(*command: str, folder: Path = FOLDER, **options: Any) -> Iterator["subprocess.Popen[str]"]:
    """A program that ends, with all that it started, when the block does."""
    with subprocess.Popen(command, cwd=folder, text=True, start_new_session=True, **options) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):  # it has ended, and nothing of it is left
                os.killpg(process.pid, signal.SIGKILL)


def run(*command: str, folder: Path = FOLDER) -> str:
    """What a program prints until it ends; it must succeed."""
    with TemporaryFile("w+", encoding="utf-8") as output:
        environment = os.environ | QUIET
        with running(*command, folder=folder, env=environment, stdout=output) as process:
            progress = Progress(process.pid)
            while process.poll() is None:
                progress.check()
                time.sleep(0.5)
        output.seek(0)
        printed = output.read()
    assert process.returncode == 0, f"{' '.join(command)}:\n{printed}"
    return printed


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
    url = f"http://127.0.0.1:{port}"
    with running(node_binary("node"), *app.start, env=environment) as process:
        wait_for(url, process)
        yield url


def wait_for(url: str, process: "subprocess.Popen[str]") -> None:
    progress = Progress(process.pid)
    while process.poll() is None:
        try:
            urlopen(url, timeout=PATIENCE_S).close()
        except URLError:
            progress.check()
            time.sleep(0.1)
        else:
            return
    pytest.fail("the app stopped")


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
        page.add_init_script(HOLD_STREAM)
        page.goto(url)
        stored, streamed = page.locator("thinking-block").first, page.locator("thinking-block").last
        expect(stored).to_have_attribute("status", "done")
        stored.locator("summary.summary").click()
        expect(stored.locator(".body strong")).to_have_text("ten minutes")
        page.get_by_role("button", name="Ask").click()
        expect(streamed.locator(".summary .label")).to_contain_text("Thinking")
        page.evaluate("() => window.endThought()")
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
