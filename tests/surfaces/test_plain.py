"""Plain output on a terminal: dimmed, wrapped, with answer and thoughts on separate lines."""

from io import StringIO

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    ReplyEnded,
    ToolFinished,
    TurnEnded,
)
from thinkaloud.surfaces.plain import PlainWriter, ShowThinking, TerminalOptions

TURN: list[Event] = [
    BlockStarted(0, Kind.TEXT),
    BlockGrew(0, "I add first."),
    BlockEnded(0),
    BlockStarted(1, Kind.TOOL_CALL, "add"),
    BlockGrew(1, '{"a": 40}'),
    BlockEnded(1),
    ReplyEnded(Finish.TOOL_CALLS),
    ToolFinished(1, "42"),
    BlockStarted(2, Kind.REASONING),
    BlockGrew(2, "That is a number which can be said."),
    BlockEnded(2),
    BlockStarted(3, Kind.TEXT),
    BlockGrew(3, "It is 42."),
    BlockEnded(3),
    ReplyEnded(Finish.STOP),
    TurnEnded(Finish.STOP),
]


def rendered(*events: Event, terminal: TerminalOptions, show: ShowThinking = ShowThinking.SHOW) -> str:
    screen = StringIO()
    plain = PlainWriter(screen, screen, terminal=terminal, show=show)
    for seq, event in enumerate(events):
        plain.feed(Entry(seq, event))
    return screen.getvalue()


def test_answer_and_thoughts_start_on_their_own_lines() -> None:
    assert rendered(*TURN, terminal=TerminalOptions(shared_screen=True)).splitlines() == [
        "I add first.",
        "[think] 🔧 add: a: 40",
        "[think] → 42",
        "[think] That is a number which can be said.",
        "It is 42.",
    ]


def test_piped_answer_is_verbatim() -> None:
    answer, thoughts = StringIO(), StringIO()
    plain = PlainWriter(answer, thoughts)
    for seq, event in enumerate(TURN):
        plain.feed(Entry(seq, event))
    assert answer.getvalue() == "I add first.\n\nIt is 42.\n"
    assert thoughts.getvalue().startswith("[think] 🔧 add: a: 40\n")


def test_replies_keep_their_blank_line_without_thoughts() -> None:
    output = rendered(*TURN, terminal=TerminalOptions(shared_screen=True), show=ShowThinking.HIDE)
    assert output == "I add first.\n\nIt is 42.\n"


def test_notice_starts_on_its_own_line_after_a_cut_answer() -> None:
    cut = [*TURN[:2], BlockEnded(0, interrupted=True), TurnEnded(Finish.CANCELLED)]
    output = rendered(*cut, terminal=TerminalOptions(shared_screen=True))
    assert output == "I add first.\nStopped before the answer was complete.\n"


def test_thoughts_are_wrapped_and_flushed_at_their_end() -> None:
    output = rendered(*TURN[:11], terminal=TerminalOptions(shared_screen=True, columns=36))
    assert output.splitlines()[-2:] == ["[think] That is a number which can", "[think] be said."]


def test_only_thoughts_are_dimmed() -> None:
    output = rendered(*TURN, terminal=TerminalOptions(dim=True, shared_screen=True))
    assert "\x1b[2m[think] → 42\n\x1b[22m" in output
    assert output.endswith("\x1b[22mIt is 42.\n")


def test_what_is_told_in_the_middle_of_a_thought_has_a_line_of_its_own() -> None:
    answer, thoughts = StringIO(), StringIO()
    writer = PlainWriter(answer, thoughts)
    writer.feed(Entry(0, BlockStarted(0, Kind.REASONING)))
    writer.feed(Entry(1, BlockGrew(0, "One two")))
    writer.write_notice("Connecting again.")
    writer.feed(Entry(2, BlockGrew(0, " three.")))
    assert thoughts.getvalue() == "[think] One two\nConnecting again.\n[think] three."
