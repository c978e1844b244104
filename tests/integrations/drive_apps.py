"""Apps of Streamlit, Gradio and NiceGUI at their newest version: `make integrations`.

The program of a page is run as it is, against a simulator. What only apps have is tried with the programs of
`screens/`: what a person stops, what is drawn again, and how much a delta costs.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.integrations.drive_builds import running
from tests.integrations.drive_screens import started, wait_for
from tests.integrations.environments import ROOT
from tests.integrations.screen_story import COUNT_ENTRIES, new_block
from tests.integrations.screen_stream import StreamServer
from tests.integrations.screen_table import SCREENS, Screen, program_of
from tests.patience import patient_context

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Event,
    Finish,
    Kind,
    TurnEnded,
    TurnStarted,
)

SIMULATOR_URL = "http://127.0.0.1:8401"
ANSWERS = '[{"thinking": "Look up Lima.", "text": "In **Lima**."}, {"thinking": "Again.", "text": "There."}]'
STARTED: list[Event] = [TurnStarted(), BlockStarted(0, Kind.REASONING)]

pytestmark = pytest.mark.timeout(0)


class App(NamedTuple):
    """What a person does in an app: where they ask, and how they stop an answer, in its own test program."""

    input: str
    stop: str = ""


APPS = {
    "Streamlit": App("textarea", "[data-testid=stStatusWidget] button, button:has-text('Stop')"),
    "Gradio": App("textarea", "button.stop-button"),
    "NiceGUI": App("input"),
}
SCREENS_OF_APPS = [screen for screen in SCREENS if screen.name in APPS]


class Visit(NamedTuple):
    """A page of an app, and the stream that it shows."""

    screen: Screen
    page: Page
    url: str
    stream: StreamServer

    def begin(self) -> Locator:
        """Show a thought that has begun, and return its block."""
        self.stream.prepare()
        self.page.goto(self.url)
        self.stream.send([*STARTED, BlockGrew(0, "I look up **the timetable**.")], 1_000)
        return new_block(self.page)


@pytest.fixture(scope="module", params=SCREENS_OF_APPS, ids=lambda screen: screen.name)
def visit(
    request: pytest.FixtureRequest, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Visit]:
    stream, folder = StreamServer(), tmp_path_factory.mktemp("app")
    screen = request.param._replace(packages=(*request.param.packages, "openai"))
    with started(screen, stream, folder) as url, patient_context(browser) as context:
        context.add_init_script(COUNT_ENTRIES)
        yield Visit(screen, context.new_page(), url, stream)
    stream.close()


@contextmanager
def simulator(folder: Path) -> Iterator[str]:
    """Run the simulator in a process of its own, since a browser is driven in this one."""
    (folder / "answers.json").write_text(ANSWERS, "utf-8")
    port = free_port()
    command = ["-m", "thinkaloud", "simulate", "deepseek", "--port", str(port), "--script", "answers.json"]
    with running(str(ROOT / ".venv/bin/python"), *command, folder=folder) as process:
        wait_for(port, process)
        yield f"http://127.0.0.1:{port}"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def test_program_of_the_page_answers_twice(visit: Visit, browser: Browser, tmp_path: Path) -> None:
    screen, app = visit.screen, APPS[visit.screen.name]
    with simulator(tmp_path) as simulator_url:
        port = free_port()
        program = program_of(screen.module).replace(SIMULATOR_URL, simulator_url)
        program = program.replace("ui.run()", f"ui.run(port={port}, show=False, reload=False)")
        (tmp_path / "app.py").write_text(program, "utf-8")
        python = ROOT / f".venv-screens/{screen.name.lower()}/bin/python"
        command = [word.format(port=port, program="app.py") for word in screen.command]
        environment = os.environ | {"GRADIO_SERVER_PORT": str(port), "HOME": str(tmp_path)}
        del environment["PYTEST_CURRENT_TEST"]  # where it is set, NiceGUI expects a test of its own kind
        with (
            running(str(python), *command, folder=tmp_path, env=environment) as process,
            patient_context(browser) as context,
        ):
            wait_for(port, process)
            page = context.new_page()
            page.goto(f"http://127.0.0.1:{port}")
            ask(page, app)
            first = page.locator("thinking-block").first
            expect(page.locator("strong", has_text="Lima").first).to_be_visible()
            first.locator("summary.summary").click()
            expect(first.locator(".text")).to_have_text("Look up Lima.")
            ask(page, app)
            second = page.locator("thinking-block").nth(1)
            expect(second.locator(".summary .label")).to_contain_text("Thought for")
            expect(page.get_by_text("There.").last).to_be_visible()
            assert [first.evaluate("node => node.open"), second.evaluate("node => node.open")] == [
                True,
                False,
            ]


def ask(page: Page, app: App) -> None:
    box = page.locator(app.input).first
    box.click()
    page.keyboard.type("Where?")
    page.keyboard.press("Enter")


def test_what_is_stopped_keeps_its_text_and_says_so(visit: Visit) -> None:
    if not APPS[visit.screen.name].stop:
        pytest.skip(f"{visit.screen.name} has no button that stops what its program shows by itself")
    block = visit.begin()
    expect(block.locator(".summary .preview")).to_contain_text("the timetable")
    visit.page.locator(APPS[visit.screen.name].stop).first.click()
    if visit.screen.name == "Streamlit":
        visit.stream.send(
            [BlockGrew(0, " And more.")], 2_000
        )  # a program notices with the next piece at last
    expect(block).to_have_attribute("status", "aborted")
    assert block.evaluate("node => node.text").startswith("I look up **the timetable**.")
    visit.stream.end()


def test_what_is_closed_by_hand_stays_closed_when_the_script_runs_again(visit: Visit) -> None:
    if visit.screen.name != "Streamlit":
        pytest.skip("only Streamlit runs its script again")
    block = visit.begin()
    block.locator("summary.summary").click()
    visit.stream.send([BlockEnded(0), TurnEnded(Finish.STOP)], 2_000)
    visit.stream.end()
    expect(block).to_have_attribute("status", "done")
    for opened in (True, False):
        assert block.evaluate("node => node.open") is opened
        block.evaluate("node => { node.dataset.run = 'before'; }")
        visit.page.get_by_role("button", name="Run again").click()
        expect(visit.page.get_by_text("Stop", exact=True)).to_have_count(0)
        expect(visit.page.locator("thinking-block")).to_have_count(1)
        assert block.evaluate("node => [node.open, node.dataset.run]") == [opened, "before"]
        if opened:
            block.locator("summary.summary").click()


def test_a_delta_costs_as_much_after_a_megabyte(visit: Visit) -> None:
    block = visit.begin()
    received = count_bytes(visit.page)
    cost = bytes_of_deltas(visit, block, received)
    for _ in range(32):
        visit.stream.send([BlockGrew(0, "word " * 6_554)], 2_000)
    at_a_megabyte = bytes_of_deltas(visit, block, received)
    visit.stream.send([BlockEnded(0), TurnEnded(Finish.STOP)], 2_000)
    visit.stream.end()
    assert block.evaluate("node => node.text.length") > 1_000_000
    assert 0 < at_a_megabyte < max(4 * cost, 20 * 24_000), (cost, at_a_megabyte)


def count_bytes(page: Page) -> list[int]:
    """Return a list to which the size of everything that the page receives is added."""
    received: list[int] = []
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on(
        "Network.webSocketFrameReceived", lambda event: received.append(len(event["response"]["payloadData"]))
    )
    session.on("Network.dataReceived", lambda event: received.append(event["dataLength"]))
    return received


def bytes_of_deltas(visit: Visit, block: Locator, received: list[int]) -> int:
    """Send twenty small deltas, one after the other, and return how many bytes the page got for them."""
    seq = visit.stream.send([BlockGrew(0, " And.")], 2_000)
    visit.page.wait_for_function("([node, seq]) => node.newestSeq >= seq", arg=[block.element_handle(), seq])
    received.clear()
    for _ in range(20):
        seq = visit.stream.send([BlockGrew(0, " And so on.")], 2_000)
        visit.page.wait_for_function(
            "([node, seq]) => node.newestSeq >= seq", arg=[block.element_handle(), seq]
        )
    return sum(received)
