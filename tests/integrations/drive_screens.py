"""Each screen at its newest version, in an environment of its own and in Chromium: `make integrations`.

Its program shows a stream that this test sends piece by piece. Pictures are in `build/screens`, and the row
of the table is written from what was measured. For one screen, add `-k` and its name.
"""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect
from tests.integrations.drive_builds import Progress, running
from tests.integrations.environments import ROOT, environment_of
from tests.integrations.screen_story import COUNT_ENTRIES, ScreenStory, new_block
from tests.integrations.screen_stream import URL, StreamServer
from tests.integrations.screen_table import PROGRAMS, SCREENS, Screen, make_row, write_row
from tests.patience import patient_context
from tests.web.story_page import FILES, load

from thinkaloud.core.canon import BlockEnded, BlockGrew, BlockStarted, Finish, Kind, TurnEnded, TurnStarted

PICTURES = ROOT / "build/screens"
HOSTILE = "</script><img src=x onerror=alert(1)>"
THOUGHT = f"I look up **the timetable** {HOSTILE}"
ANSWER = f"The train leaves at `18:32` {HOSTILE}."
ANYWIDGET = re.compile(r"https://[^/]+/anywidget@.*/dist/index")
RUN_CELL = """() => { void window.jupyterapp.commands.execute("notebook:run-cell"); }"""
KERNEL_WAITS = """() => {
  const context = window.jupyterapp?.shell?.currentWidget?.sessionContext;
  return context?.session?.kernel?.status === "idle";
}"""

pytestmark = pytest.mark.timeout(0)


@contextmanager
def started(screen: Screen, stream: StreamServer, folder: Path) -> Iterator[str]:
    """Start the program of a screen on a free port, in a folder of its own, and wait until it answers."""
    python = environment_of(environment_name(screen), *screen.packages)
    shutil.copy(PROGRAMS / screen.program, folder)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    command = [word.format(port=port, program=screen.program) for word in screen.command]
    environment = os.environ | {URL: stream.url, "PYTHONPATH": str(ROOT), "HOME": str(folder)}
    with (folder / "output").open("w") as output:
        process = running(str(python), *command, folder=folder, env=environment, stdout=output, stderr=output)
        with process as server:
            wait_for(port, server)
            yield f"http://127.0.0.1:{port}{screen.path}"
    print((folder / "output").read_text("utf-8"))


def wait_for(port: int, server: "subprocess.Popen[str]") -> None:
    """Wait until the server listens. A request would make some run the program, which takes the stream."""
    progress = Progress(server.pid)
    while server.poll() is None:
        with socket.socket() as connection:
            if connection.connect_ex(("127.0.0.1", port)) == 0:
                return
        progress.check()
        time.sleep(0.1)
    pytest.fail("the program stopped")


def serve_anywidget(screen: Screen, context: BrowserContext) -> None:
    """Give the page the script of anywidget, which Panel's bridge loads from a host that no test asks."""
    path = ROOT / environment_name(screen) / "share/jupyter/nbextensions/anywidget/index.js"
    headers = {"Access-Control-Allow-Origin": "*"}
    context.route(ANYWIDGET, lambda route: route.fulfill(path=path, headers=headers))


def environment_name(screen: Screen) -> str:
    """Return the folder of a screen's environment."""
    return f".venv-screens/{screen.name.split()[0].lower()}"


def begin_turn(screen: Screen, page: Page, url: str) -> None:
    """Have the program of a screen show the next stream: by another visit, or by running the cell."""
    if screen.name != "JupyterLab":
        page.goto(url)
        return
    if page.url == "about:blank":
        page.goto(url)
    page.wait_for_function(KERNEL_WAITS)
    page.evaluate(RUN_CELL)


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.name)
def test_screen_shows_thinking(browser: Browser, screen: Screen, tmp_path: Path) -> None:
    stream, measured = StreamServer(), dict[str, Any]()
    with (
        started(screen, stream, tmp_path) as url,
        patient_context(browser, viewport={"width": 1100, "height": 800}) as context,
    ):
        context.add_init_script(COUNT_ENTRIES)
        serve_anywidget(screen, context)
        page = context.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(f"a dialog: {dialog.message}"))
        check_turn(screen, stream, page, url, measured)
        check_cut_off(screen, stream, page, url, measured)
        if screen.tells_stories:
            told = [tell(screen, stream, page, url, path) for path in FILES]
            measured["stories"] = f"{sum(not problem for problem in told)} of {len(told)}"
            problems += filter(None, told)
        assert problems == []
    write_row(screen.name, make_row(screen, versions(screen), f"{datetime.now(UTC):%Y-%m-%d}", measured))


def check_turn(screen: Screen, stream: StreamServer, page: Page, url: str, measured: dict[str, Any]) -> None:
    """Read the screen while the stream goes on, open the block, and read it again at the end."""
    stream.prepare()
    begin_turn(screen, page, url)
    stream.send([TurnStarted(), BlockStarted(0, Kind.REASONING), BlockGrew(0, THOUGHT)], 1_000)
    block = new_block(page)
    expect(block.locator(".summary .label")).to_have_text("Thinking...")
    expect(block.locator(".summary .preview")).to_contain_text("the timetable")
    measured["live"] = True
    block.locator("summary.summary").click()
    expect(block.locator(".text")).to_have_text(THOUGHT.replace("**", ""))
    picture(page, screen, "live")
    stream.send([BlockGrew(0, "\n\nFound."), BlockEnded(0), BlockStarted(1, Kind.TEXT)], 5_200)
    stream.send([BlockGrew(1, ANSWER), BlockEnded(1), TurnEnded(Finish.STOP)], 6_000)
    expect(block.locator(".summary .label")).to_have_text("Thought for 4.2s")
    stream.end()
    expect(answer_of(page)).to_be_visible()
    expect(block.locator(".text")).to_have_text(THOUGHT.replace("**", "") + "Found.")
    expect(block.locator(".body")).to_be_visible()
    measured["stays open"] = True
    assert sum(frame.locator("img[src=x]").count() for frame in page.frames) == 0
    expect(answer_of(page)).to_contain_text(HOSTILE)
    measured["hostile text"] = True
    picture(page, screen, "done")


def answer_of(page: Page) -> Locator:
    """Return the answer, wherever the screen shows it."""
    for frame in page.frames:
        if frame.get_by_text("The train leaves at").count():
            return frame.get_by_text("The train leaves at").last
    return page.get_by_text("The train leaves at").last


def check_cut_off(
    screen: Screen, stream: StreamServer, page: Page, url: str, measured: dict[str, Any]
) -> None:
    """Read the screen after a stream that stopped before its end: its text stays, and it says so."""
    for frame in page.frames:
        for known in frame.locator("thinking-block").all():
            known.evaluate("node => { node.dataset.known = ''; }")
    stream.prepare()
    begin_turn(screen, page, url)
    stream.send([TurnStarted(), BlockStarted(0, Kind.REASONING), BlockGrew(0, "Half a thou")], 1_000)
    block = new_block(page)
    expect(block.locator(".summary .preview")).to_contain_text("Half a thou")
    stream.end()
    expect(block).to_have_attribute("status", "disconnected")
    assert block.evaluate("node => node.text") == "Half a thou"
    picture(page, screen, "cut-off")
    measured["cut off"] = True
    block.evaluate("node => { node.dataset.known = ''; }")


def tell(screen: Screen, stream: StreamServer, page: Page, url: str, path: Path) -> str:
    """Tell one story, and return the first step that is not as it is written."""
    story = load(path)
    telling = ScreenStory(page, stream, lambda page: begin_turn(screen, page, url), story)
    try:
        for n, step in enumerate(story["steps"]):
            if problems := telling.step(step):
                picture(page, screen, path.stem)
                return f"step {n} of {story['story']!r}: {problems}"
    finally:
        stream.end()
    return ""


def picture(page: Page, screen: Screen, name: str) -> None:
    """Take a picture for a person to look at."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{screen.name}-{name}.png")


def versions(screen: Screen) -> dict[str, str]:
    """Return the versions of a screen's packages."""
    python = ROOT / environment_name(screen) / "bin/python"
    code = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    output = subprocess.check_output([python, "-c", code, *screen.packages], text=True)
    return dict(zip(screen.packages, output.split(), strict=True))
