"""R028: the six callbacks are called in the right order, whatever order the blocks end in."""

from collections.abc import Sequence

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockReclassified,
    BlockStarted,
    Event,
    Finish,
    Kind,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from thinkaloud.core.transcript import Callbacks, Ending, Handler, Turn


class RecordingHandler:
    """Records the calls of its callbacks."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, ...]] = []

    def on_text(self, text: str) -> None:
        self.calls.append(("text", text))

    def on_reasoning(self, reasoning: str) -> None:
        self.calls.append(("reasoning", reasoning))

    def on_reasoning_end(self) -> None:
        self.calls.append(("reasoning end",))

    def on_tool_start(self, name: str, arguments: str) -> None:
        self.calls.append(("tool start", name, arguments))

    def on_tool_end(self, name: str, result: str, error: str) -> None:
        self.calls.append(("tool end", name, result, error))

    def on_complete(self, result: Turn) -> None:
        assert result.outcome is not None
        self.calls.append(("complete", result.outcome.ending))


def callback_calls(events: Sequence[Event]) -> list[tuple[str, ...]]:
    recorder = RecordingHandler()
    handler: Handler = recorder
    callbacks = Callbacks(handler)
    for event in events:
        callbacks.feed(event)
    return recorder.calls


THOUGHT: list[Event] = [BlockStarted(0, Kind.REASONING), BlockGrew(0, "hm")]
END = TurnEnded(Finish.STOP)


def test_on_reasoning_end_precedes_text() -> None:
    """R028: on_reasoning_end precedes the next text and on_complete."""
    answer: list[Event] = [BlockStarted(1, Kind.TEXT), BlockGrew(1, "yes"), BlockEnded(1), END]
    assert callback_calls([TurnStarted(), *THOUGHT, BlockEnded(0), *answer]) == [
        ("reasoning", "hm"),
        ("reasoning end",),
        ("text", "yes"),
        ("complete", Ending.ANSWERED),
    ]


def test_text_during_open_reasoning_calls_on_reasoning_end() -> None:
    """R028: some servers end the reasoning block only after the text block."""
    answer: list[Event] = [BlockStarted(1, Kind.TEXT), BlockGrew(1, "yes"), BlockEnded(1), BlockEnded(0), END]
    assert [call[0] for call in callback_calls([TurnStarted(), *THOUGHT, *answer])] == [
        "reasoning",
        "reasoning end",
        "text",
        "complete",
    ]


def test_tool_callbacks_get_arguments_and_result() -> None:
    """R028: tool callbacks."""
    events: list[Event] = [
        TurnStarted(),
        BlockStarted(0, Kind.TOOL_CALL, name="add"),
        BlockGrew(0, '{"a":'),
        BlockGrew(0, "1}"),
        BlockEnded(0),
        ToolFinished(0, "2"),
        BlockStarted(1, Kind.ASSISTANT_CALL, name="Checker"),
        BlockGrew(1, "check it"),
        BlockStarted(2, Kind.REASONING, parent=1),
        BlockGrew(2, "its own thought"),
        BlockEnded(2),
        BlockStarted(3, Kind.TOOL_CALL, name="inner", parent=1),
        BlockEnded(3),
        ToolFinished(3, "x"),
        BlockEnded(1),
        ToolFinished(1, "", "no"),
        END,
    ]
    assert callback_calls(events) == [
        ("tool start", "add", '{"a":1}'),
        ("tool end", "add", "2", ""),
        ("tool start", "Checker", "check it"),
        ("tool end", "Checker", "", "no"),
        ("complete", Ending.EMPTY),
    ]


def test_failure_calls_on_reasoning_end_and_on_complete() -> None:
    """R026 R028: nothing is raised; the failure is in the outcome."""
    events: list[Event] = [
        TurnStarted(),
        *THOUGHT,
        BlockEnded(0, interrupted=True),
        TurnFailed("cut_off", "gone"),
    ]
    assert callback_calls(events) == [("reasoning", "hm"), ("reasoning end",), ("complete", Ending.CUT_OFF)]


def test_white_space_reasoning_calls_no_callback() -> None:
    """R025: white space alone is not reported; before visible text it is kept."""
    blank: list[Event] = [BlockStarted(0, Kind.REASONING), BlockGrew(0, "\n"), BlockGrew(0, " ")]
    assert callback_calls([TurnStarted(), *blank, BlockEnded(0), END]) == [("complete", Ending.EMPTY)]
    word: list[Event] = [*blank, BlockGrew(0, "so"), BlockEnded(0), END]
    assert callback_calls([TurnStarted(), *word])[0] == ("reasoning", "\n so")


def test_reclassified_text_is_sent_again() -> None:
    moved: list[Event] = [
        *THOUGHT,
        BlockGrew(0, "yes"),
        BlockReclassified(0, Kind.TEXT, 3, 1),
        BlockEnded(0),
        END,
    ]
    assert callback_calls([TurnStarted(), *moved])[-3:-1] == [("reasoning end",), ("text", "yes")]
    text: list[Event] = [BlockStarted(0, Kind.TEXT), BlockGrew(0, "hm")]
    assert callback_calls([TurnStarted(), *text, BlockReclassified(0, Kind.REASONING), BlockEnded(0), END])[
        :3
    ] == [
        ("text", "hm"),
        ("reasoning", "hm"),
        ("reasoning end",),
    ]
