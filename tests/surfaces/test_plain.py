"""The plain command line on a terminal: dim, wrapped, and answer and thoughts on lines of their own."""

from io import StringIO

from thinkaloud.canon import (
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
from thinkaloud.surfaces.plain import Look, Plain, Show

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


def on_one_screen(*events: Event, look: Look, show: Show = Show.SHOW) -> str:
    screen = StringIO()
    plain = Plain(screen, screen, look=look, show=show)
    for seq, event in enumerate(events):
        plain.feed(Entry(seq, event))
    return screen.getvalue()


def test_answer_and_thoughts_begin_lines_of_their_own() -> None:
    assert on_one_screen(*TURN, look=Look(one_screen=True)).splitlines() == [
        "I add first.",
        '[think] 🔧 add: {"a": 40}',
        "[think] → 42",
        "[think] That is a number which can be said.",
        "It is 42.",
    ]


def test_a_pipe_gets_the_answer_untouched() -> None:
    answer, thoughts = StringIO(), StringIO()
    plain = Plain(answer, thoughts)
    for seq, event in enumerate(TURN):
        plain.feed(Entry(seq, event))
    assert answer.getvalue() == "I add first.\n\nIt is 42.\n"
    assert thoughts.getvalue().startswith('[think] 🔧 add: {"a": 40}\n')


def test_without_thoughts_between_them_the_replies_keep_their_blank_line() -> None:
    told = on_one_screen(*TURN, look=Look(one_screen=True), show=Show.HIDE)
    assert told == "I add first.\n\nIt is 42.\n"


def test_an_answer_that_is_cut_does_not_share_its_line_with_the_notice() -> None:
    cut = [*TURN[:2], BlockEnded(0, interrupted=True), TurnEnded(Finish.CANCELLED)]
    told = on_one_screen(*cut, look=Look(one_screen=True))
    assert told == "I add first.\nStopped before the answer was complete.\n"


def test_thoughts_are_wrapped_and_whole_when_they_end() -> None:
    told = on_one_screen(*TURN[:11], look=Look(one_screen=True, columns=36))
    assert told.splitlines()[-2:] == ["[think] That is a number which can", "[think] be said."]


def test_thoughts_are_dim_and_answers_are_not() -> None:
    told = on_one_screen(*TURN, look=Look(dim=True, one_screen=True))
    assert "\x1b[2m[think] → 42\n\x1b[22m" in told
    assert told.endswith("\x1b[22mIt is 42.\n")
