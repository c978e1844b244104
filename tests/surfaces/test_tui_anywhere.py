"""The view of a turn in anybody's app: the programs of the page as they are, and a view without arguments."""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from tests.cli.environment import running_simulator
from tests.patience import PATIENCE_S
from tests.surfaces.test_tui_stories import FILES, ScreenStory
from tests.surfaces.tui import settle
from tests.view.stories import load
from textual.app import App, ComposeResult
from textual.pilot import Pilot

import thinkaloud
from thinkaloud.core.canon import Kind
from thinkaloud.core.transcript import Delta, Ending
from thinkaloud.core.view import preset
from thinkaloud.surfaces.tui.turn_view import TurnView

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/integrations/textual.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
MAX_PROGRAM_LINES = 15
SIMULATOR_URL = "http://127.0.0.1:8401"
SCRIPT = [{"thinking": "Six sevens.", "text": "**42.**"}]


class PlainApp(App[None]):
    """An app that knows nothing of the view but its name."""

    def compose(self) -> ComposeResult:
        yield TurnView()


async def until(pilot: Pilot[Any], condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        await pilot.pause(0.02)


def in_app(run: Callable[[TurnView, Pilot[None]], Any]) -> None:
    """Run a test with the view of an app."""

    async def main() -> None:
        app = PlainApp()
        async with app.run_test(size=(100, 40)) as pilot:
            await run(app.query_one(TurnView), pilot)

    asyncio.run(main())


async def words(view: TurnView, pilot: Pilot[None]) -> tuple[str, str]:
    """Return what is drawn of thinking and answer."""
    view.flush()
    await settle(pilot, view.thinking, view.answer, view.notices)
    return view.thinking.screen_text(), view.answer.screen_text()


DRIVER = """
import asyncio
import json
from tests.surfaces.test_tui_anywhere import until, words


async def drive() -> None:
    app = Ask()
    async with app.run_test(size=(100, 40)) as pilot:
        view = app.query_one(TurnView)
        await until(pilot, lambda: not view.turn.live)
        print(json.dumps(await words(view, pilot)))


asyncio.run(drive())
"""


def test_program_of_the_page_shows_thought_and_answer() -> None:
    assert len(PROGRAMS[0].splitlines()) <= MAX_PROGRAM_LINES
    with running_simulator("deepseek", SCRIPT) as simulator:
        program = PROGRAMS[0].replace(SIMULATOR_URL, simulator.url) + DRIVER
        output = subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, text=True)
        assert len(simulator.requests) == 1
    thinking, answer = json.loads(output.splitlines()[-1])
    assert re.fullmatch(r"▶ 💭 Thought .*· 2 words — Six sevens\.", thinking)
    assert answer == "42."


def test_program_with_rich_prints_and_returns_the_turn() -> None:
    names: dict[str, Any] = {}
    with running_simulator("deepseek", SCRIPT) as simulator, redirect_stdout(StringIO()) as printed:
        exec(PROGRAMS[1].replace(SIMULATOR_URL, simulator.url), names)
    assert names["turn"].answer == "**42.**"
    assert "Six sevens." in printed.getvalue()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_story_in_an_app_of_somebody_else(path: Path) -> None:
    """The view was made without arguments, and takes the settings of the story later."""
    story = load(path)

    async def run(view: TurnView, pilot: Pilot[None]) -> None:
        telling = ScreenStory(story, view)
        for number, step in enumerate(story.steps):
            assert await telling.step(pilot, step) == [], f"step {number} of {story.story!r}"

    in_app(run)


def chunks() -> Iterator[dict[str, Any]]:
    for text in ("Six ", "sevens."):
        yield {"choices": [{"index": 0, "delta": {"reasoning_content": text}}]}
    yield {"choices": [{"index": 0, "delta": {"content": "42."}, "finish_reason": "stop"}]}


async def async_chunks() -> AsyncIterator[dict[str, Any]]:
    for chunk in chunks():
        yield chunk


@pytest.mark.parametrize("source", [chunks, async_chunks], ids=["blocking", "async"])
def test_streams_are_followed(source: Callable[[], object]) -> None:
    async def run(view: TurnView, pilot: Pilot[None]) -> None:
        turn = await view.follow(thinkaloud.follow(source()))
        assert turn is view.turn
        thinking, answer = await words(view, pilot)
        assert "Six sevens." in thinking
        assert answer == "42."

    in_app(run)


def test_app_goes_on_while_a_blocking_stream_is_waited_for() -> None:
    async def run(view: TurnView, pilot: Pilot[None]) -> None:
        paused = 0

        def slow() -> Iterator[object]:
            for chunk in chunks():
                before = paused
                deadline = time.monotonic() + PATIENCE_S
                while paused < before + 3 and time.monotonic() < deadline:
                    time.sleep(0.01)
                yield chunk

        following = asyncio.create_task(view.follow(thinkaloud.follow(slow())))
        while not following.done():
            await pilot.pause(0.01)
            paused += 1
        assert (await following).answer == "42."

    in_app(run)


def test_error_of_a_stream_is_raised_and_shown() -> None:
    def broken() -> Iterator[object]:
        yield from list(chunks())[:2]
        raise ConnectionError("gone")

    async def run(view: TurnView, pilot: Pilot[None]) -> None:
        with pytest.raises(ConnectionError, match="gone"):
            await view.follow(thinkaloud.follow(broken()))
        thinking, _ = await words(view, pilot)
        assert "Six sevens." in thinking
        assert "gone" in view.notices.screen_text()

    in_app(run)


def test_deltas_of_a_loop_are_appended() -> None:
    async def run(view: TurnView, pilot: Pilot[None]) -> None:
        for delta in thinkaloud.follow(chunks()):
            view.append(delta)
        assert "Thought" in (await words(view, pilot))[0]  # though the turn has not ended
        view.finish()
        assert [block.text for block in view.turn.blocks] == ["Six sevens.", "42."]
        assert view.turn.outcome is not None
        assert view.turn.outcome.ending is Ending.ANSWERED

    in_app(run)


def test_text_is_appended_to_a_thought_and_to_the_answer() -> None:
    async def run(view: TurnView, pilot: Pilot[None]) -> None:
        for text in ("Let me ", "see."):
            view.append(text)
        assert (await words(view, pilot))[0].splitlines()[-1] == "│ Let me see."
        assert view.thinking.screen_text().startswith("▼ ⚙ Thinking...")
        view.append("Yes.", Kind.TEXT)
        view.append("Once more.")
        view.finish()
        _, answer = await words(view, pilot)
        assert answer == "Yes."
        assert [block.text for block in view.turn.blocks] == ["Let me see.", "Yes.", "Once more."]

    in_app(run)


def test_calls_that_arrive_in_turns_stay_apart() -> None:
    async def run(view: TurnView, pilot: Pilot[None]) -> None:
        for text in ("", '{"city":', '"Lima"}'):
            for block, name in ((3, "weather"), (5, "time")):
                view.append(Delta(Kind.TOOL_CALL, text, block, name))
        view.finish()
        assert [(block.name, block.text) for block in view.turn.blocks] == [
            ("weather", '{"city":"Lima"}'),
            ("time", '{"city":"Lima"}'),
        ]
        assert view.turn.outcome is not None
        assert view.turn.outcome.ending is Ending.CALLED_TOOLS

    in_app(run)


def test_failed_turn_says_why_and_ends_once() -> None:
    async def run(view: TurnView, pilot: Pilot[None]) -> None:
        view.append("Hm.")
        view.finish("The cable is out.")
        view.finish()
        await words(view, pilot)
        assert "The cable is out." in view.notices.screen_text()

    in_app(run)


@pytest.mark.parametrize("wrong", [5, None, b"text"])
def test_wrong_types_are_refused(wrong: Any) -> None:
    async def run(view: TurnView, pilot: Pilot[None]) -> None:
        with pytest.raises(TypeError, match="takes a delta"):
            view.append(wrong)
        assert view.turn.blocks == []

    in_app(run)


def test_view_without_arguments_has_the_default_preset() -> None:
    assert TurnView().policy == preset("default")
