"""The widget of notebooks, with the messages that it sends; `drive_screens.py` shows it in their pages."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from tests.integrations import screen_table
from tests.patience import PATIENCE_S

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Event,
    Finish,
    Kind,
    Refused,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.transcript import Ending
from thinkaloud.integrations import element, notebook
from thinkaloud.integrations.element import BATCH_SIZE
from thinkaloud.integrations.notebook import ThinkingWidget, saved_output, show, show_async
from thinkaloud.simulators import run_simulator

pytestmark = pytest.mark.skipif(not (element.SCRIPTS / "notebook.js").is_file(), reason="make element")
BEGIN: list[Event] = [TurnStarted(), BlockStarted(0, Kind.REASONING)]
END: list[Event] = [BlockEnded(0), TurnEnded(Finish.STOP)]
HOSTILE = "</script><img src=x onerror=alert(1)>"


class Messages:
    """What a widget sends to its page."""

    def __init__(self, widget: ThinkingWidget, monkeypatch: pytest.MonkeyPatch) -> None:
        self.states: list[dict[str, Any]] = []
        monkeypatch.setattr(widget.comm, "send", self._send)

    def _send(self, data: dict[str, Any], **_: object) -> None:
        self.states.append(data["state"])

    @property
    def size(self) -> int:
        return sum(len(json.dumps(state)) for state in self.states)

    def entries(self) -> list[dict[str, Any]]:
        batches = {name: text for state in self.states for name, text in state.items() if "batch_" in name}
        del batches["batch_count"]
        assert list(batches) == [f"batch_{number}" for number in range(len(batches))]
        return [json.loads(line) for text in batches.values() for line in text.splitlines()]

    def text(self) -> str:
        return "".join(entry["event"].get("text", "") for entry in self.entries())


def thought(length: int, piece: str = "word ") -> list[Event]:
    return [*BEGIN, *(BlockGrew(0, piece) for _ in range(length)), *END]


def test_everything_is_sent_once_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    widget = ThinkingWidget()
    messages = Messages(widget, monkeypatch)
    turn = widget.follow(iter(thought(100)))
    seqs = [entry["seq"] for entry in messages.entries()]
    assert seqs == sorted(set(seqs)), "text that waited is one entry, with the number of its last piece"
    assert (seqs[:2], seqs[-2:]) == ([0, 1], [102, 103])
    assert messages.text() == "word " * 100
    assert widget.turn is turn
    assert turn.reasoning == "word " * 100


def test_a_delta_costs_the_same_in_a_short_and_in_a_long_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = []
    for length in (200, 200_000):
        widget = ThinkingWidget()
        messages = Messages(widget, monkeypatch)
        widget.follow(iter(thought(length)))
        costs.append(messages.size / length)
        # Without the clock, as many messages as the sizes of batches make.
        assert len(messages.states) <= 5 + messages.size / BATCH_SIZE * 2 + 20 * PATIENCE_S
    assert costs[1] < 2 * costs[0]


def test_text_is_sent_while_the_stream_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    widget = ThinkingWidget()
    messages = Messages(widget, monkeypatch)
    sent = []

    def stream() -> Iterator[Event]:
        yield from BEGIN
        yield BlockGrew(0, "first")
        yield BlockGrew(0, "second")
        end_s = time.monotonic() + PATIENCE_S
        while messages.text() != "firstsecond" and time.monotonic() < end_s:
            time.sleep(0.01)
        sent.append(messages.text())
        yield from END

    widget.follow(stream())
    assert sent == ["firstsecond"]


def test_a_page_that_comes_late_gets_all_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    widget = ThinkingWidget({"preset": "koder"}, "pt-BR")
    messages = Messages(widget, monkeypatch)
    widget.follow(iter(thought(10)))
    state = widget.get_state()
    texts = [state[f"batch_{number}"] for number in range(state["batch_count"])]
    assert [json.loads(line) for text in texts for line in text.splitlines()] == messages.entries()
    assert messages.text() == "word " * 10
    assert (state["policy"], state["attributes"]) == ({"preset": "koder"}, {"lang": "pt-BR"})


def test_an_interrupted_cell_ends_the_turn_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    widget = ThinkingWidget()
    messages = Messages(widget, monkeypatch)

    def stream() -> Iterator[Event]:
        yield from BEGIN
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        widget.follow(stream())
    assert widget.turn.outcome
    assert widget.turn.outcome.ending is Ending.CANCELLED
    assert [entry["seq"] for entry in messages.entries()] == [0, 1, 2, 3]


def test_an_asynchronous_stream_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    async def stream() -> AsyncIterator[Event]:
        for event in thought(3):
            yield event
            await asyncio.sleep(0)

    shown = asyncio.run(show_async(stream()))
    assert shown.turn.reasoning == "word word word "
    assert "Turn" in repr(shown)
    assert shown._display_() is shown.widget


def test_a_widget_shows_one_turn() -> None:
    widget = ThinkingWidget()
    widget.follow(iter(thought(1)))
    with pytest.raises(Refused, match="shows one turn"):
        widget.follow(iter(thought(1)))


def test_wrong_settings_are_refused_before_anything_is_shown() -> None:
    with pytest.raises(Refused, match=r"Invalid setting in thinking\.display"):
        show(iter(thought(1)), policy={"live": "sometimes"})


def test_a_saved_notebook_has_html_without_a_widget() -> None:
    widget = ThinkingWidget()
    widget.follow(iter(thought(1, HOSTILE)))
    output = saved_output(widget)
    assert set(output) == {"text/html", "text/plain"}
    assert "<details" in output["text/html"]
    assert HOSTILE not in output["text/html"]
    assert widget.turn_id in output["text/html"]


def test_the_program_of_the_page_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    widgets: list[ThinkingWidget] = []

    def make_widget(*arguments: Any) -> ThinkingWidget:
        widgets.append(ThinkingWidget(*arguments))
        return widgets[-1]

    monkeypatch.setattr(notebook, "ThinkingWidget", make_widget)

    async def run() -> None:
        async with run_simulator("deepseek", script=[{"thinking": "Trial.", "text": "Yes."}]) as server:
            program = screen_table.program_of("notebook").replace("http://127.0.0.1:8401", server.url)
            assert server.url in program
            await asyncio.to_thread(exec, program, {"__name__": "__main__"})

    asyncio.run(run())
    assert capsys.readouterr().out.endswith("Yes.\n")
    assert [widget.turn.reasoning for widget in widgets] == ["Trial."]
