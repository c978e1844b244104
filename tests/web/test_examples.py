"""The examples of every framework: they build from their lock file, their types hold, each shows a turn.

A person opens the thinking while it streams, and it stays open when the answer is there.
"""

import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, expect
from tests.patience import patient_context
from tests.web.site import WEB, Site

EXAMPLES = WEB / "examples"
BUILT = EXAMPLES / "dist" / ".built"
"""The digest of what the examples were built from, as soon as they are."""
NAMES = ("plain", "react", "vue", "svelte")
SPEEDS = (4, 1)
"""Times as fast as recorded: three seconds are mostly enough to open it in between, twelve always are."""
FIRST_WORDS = "They leave the office at 17:50"
LAST_WORDS = "boarding closes 18:32"
ANSWER = "18:32"
LIVE_OR_OVER = re.compile("streaming|done")
BAD = ("error", "warning")


class Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(folder)))
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def is_installed() -> bool:
    """Whether the packages are those of the lock file, which npm copies when it has installed them."""
    installed = EXAMPLES / "node_modules" / ".package-lock.json"
    return installed.exists() and installed.stat().st_mtime > (EXAMPLES / "package-lock.json").stat().st_mtime


def inputs_digest() -> str:
    """Return a digest of all that the build reads: the examples with their lock file, and the element."""
    roots = [path for path in EXAMPLES.iterdir() if path.name not in ("node_modules", "dist")]
    roots += [WEB / "dist", WEB / "package.json", WEB.parent / "examples" / "recorded_turn.ndjson"]
    digest = hashlib.sha256()
    for root in sorted(roots):
        for path in sorted([root, *root.rglob("*")]):
            if path.is_file():
                digest.update(f"{path}\n".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def build() -> None:
    """Check and build the examples, unless that was done with the same files: it takes half a minute."""
    if is_installed() and BUILT.is_file() and BUILT.read_text("utf-8") == inputs_digest():
        return
    npm = shutil.which("npm")
    if not npm:
        pytest.skip("there is no npm")
    install = [] if is_installed() else [("ci", "--no-audit", "--no-fund")]
    for step in (*install, ("run", "check"), ("run", "build")):
        completed = subprocess.run(
            [npm, *step], cwd=EXAMPLES, capture_output=True, text=True, timeout=300, check=False
        )
        assert completed.returncode == 0, f"npm {' '.join(step)}:\n{completed.stdout}{completed.stderr}"
    BUILT.write_text(inputs_digest(), "utf-8")


def visit(browser: Browser, url: str) -> None:
    in_time = any(opened_in_time(browser, f"{url}/?speed={speed}") for speed in SPEEDS)
    assert in_time, "it was opened too late to tell anything"


def opened_in_time(browser: Browser, url: str) -> bool:
    """See a turn through, and open it; False where that came too late to tell anything."""
    with patient_context(browser, viewport={"width": 800, "height": 700}) as context:
        page = context.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if message.type in BAD else None)
        page.goto(url)
        block = page.locator("thinking-block")
        expect(block).to_have_attribute("status", LIVE_OR_OVER)
        expect(block.locator(".summary .preview")).not_to_be_empty()
        assert not block.evaluate("block => block.open"), "the policy says that it peeks"

        block.locator("summary.summary").click()
        expect(page.locator("p[role=status]")).to_have_text("You opened the thinking.")
        expect(block.locator(".body")).to_contain_text(FIRST_WORDS)
        in_time = block.get_attribute("status") == "streaming"

        expect(page.locator("#answer")).to_contain_text(ANSWER)
        expect(block).to_have_attribute("status", "done")
        assert block.evaluate("block => block.open"), "what was opened stays open"
        expect(block.locator(".body")).to_be_visible()
        assert LAST_WORDS in block.evaluate("block => (block.expandAll(), block.shadowRoot.textContent)")
        assert complaints == []
    return in_time


def test_every_example_shows_a_turn_that_stays_open(browser: Browser, site: Site) -> None:
    """One test for all, since they are built into one folder; `site` says whether the element is built."""
    build()
    with served(EXAMPLES / "dist") as url:
        for name in NAMES:
            print(name)
            visit(browser, f"{url}/{name}")
