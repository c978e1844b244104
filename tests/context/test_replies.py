"""An agent's run as steps of a conversation: each reply, followed by the results of its calls."""

from tests.transcript.turn_builders import answer, block, thought, tool_call

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockSealed,
    BlockStarted,
    Event,
    Finish,
    Kind,
    ReplyEnded,
    Seal,
    SealForm,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
)
from thinkaloud.core.canon.requests import ToolMessage
from thinkaloud.core.context import AnsweredTurn, Step, replies_of, steps_of
from thinkaloud.core.transcript import BlockStatus, Ending, Turn, fold

MESSAGE = Seal("gemini", SealForm.MESSAGE, "{}", "g-1")
CALLED = ReplyEnded(
    Finish.TOOL_CALLS, "calls", MESSAGE, Usage(output=5), "gemini", "g-1", "google", prefix="f1"
)
ANSWERED = ReplyEnded(Finish.STOP, "stop", MESSAGE, Usage(output=7), "gemini", "g-1", "google", prefix="f2")
STARTED = TurnStarted("gemini", "g-1")


def delegated(number: int, task: str) -> list[Event]:
    return [
        BlockStarted(number, Kind.ASSISTANT_CALL, "Fact Finder", f"c{number}", "id-7"),
        BlockGrew(number, task),
        BlockSealed(number, Seal("gemini", SealForm.SIGNATURE, "c2VhbA==")),
        BlockEnded(number),
    ]


RUN: list[Event] = [
    *(
        STARTED,
        *thought(0, "Ask."),
        *answer(1, "One moment."),
        *delegated(2, "Find it."),
        *tool_call(3),
        CALLED,
    ),
    *(*block(4, Kind.REASONING, "I look.", parent=2), *block(5, Kind.TOOL_CALL, "{}", parent=2)),
    *(ReplyEnded(Finish.TOOL_CALLS, parent=2), ToolFinished(3, "", "no")),
    *(ToolFinished(5, "18 C"), *block(6, Kind.TEXT, "18 C.", parent=2), ReplyEnded(Finish.STOP, parent=2)),
    *(ToolFinished(2, "18 C."), *thought(7, "So."), *answer(8, "Mild."), ANSWERED),
]


def turn_of(step: Step) -> Turn:
    assert isinstance(step, AnsweredTurn)
    return step.turn


def test_a_turn_without_replies_is_one_step() -> None:
    answered = AnsweredTurn(fold([STARTED, *answer(0, "Hi."), TurnEnded(Finish.STOP)]), "f0", "google")
    assert steps_of(answered) == (answered,)


def test_each_reply_is_a_turn_of_its_own() -> None:
    """With its own message, usage and prefix."""
    first, finder, tool, last = replies_of(fold(RUN))
    assert isinstance(first, AnsweredTurn)
    assert isinstance(last, AnsweredTurn)
    assert [(step.prefix, step.provider) for step in (first, last)] == [("f1", "google"), ("f2", "google")]
    assert [block.number for block in first.turn.blocks] == [0, 1, 2, 3]
    assert [block.text for block in last.turn.blocks] == ["So.", "Mild."]
    assert [block.number for block in last.turn.blocks] == [0, 1]
    assert (first.turn.message, first.turn.usage, first.turn.model) == (MESSAGE, Usage(output=5), "g-1")
    outcomes = [step.turn.outcome for step in (first, last)]
    assert [outcome and (outcome.ending, outcome.cause) for outcome in outcomes] == [
        *((Ending.CALLED_TOOLS, "calls"), (Ending.ANSWERED, "stop"))
    ]
    assert finder == ToolMessage("c2", "18 C.", "fact_finder")
    assert tool == ToolMessage("", "no", "", failed=True)


def test_an_assistant_call_becomes_a_tool_call_with_a_task() -> None:
    call = turn_of(replies_of(fold(RUN))[0]).blocks[2]
    assert (call.kind, call.name, call.call_id) == (Kind.TOOL_CALL, "fact_finder", "c2")
    assert call.text == '{"task":"Find it."}'
    assert [seal.payload for seal in call.seals] == ["c2VhbA=="]
    assert (call.result, call.status) == (None, BlockStatus.DONE)


def test_an_assistant_has_its_own_conversation() -> None:
    first, result, last = replies_of(fold(RUN), 2)
    assert [block.text for block in turn_of(first).blocks] == ["I look.", "{}"]
    assert [block.parent for block in turn_of(first).blocks] == [None, None]
    assert result == ToolMessage("", "18 C")
    assert turn_of(last).answer == "18 C."
    assert replies_of(fold(RUN), 3) == ()


def test_a_failed_call_has_its_error_and_partial_result() -> None:
    turn = fold([STARTED, *tool_call(0), CALLED, ToolFinished(0, "the beginning", "Too long.")])
    assert replies_of(turn)[1] == ToolMessage("", "Too long.\n\nthe beginning", failed=True)


def test_server_tools_are_part_of_their_reply() -> None:
    turn = fold([STARTED, *tool_call(0), ToolFinished(0, "found"), *answer(1, "So."), ANSWERED])
    (step,) = replies_of(turn)
    assert turn_of(step).blocks[0].result == "found"


def test_a_call_left_to_the_caller_has_no_result() -> None:
    turn = fold(
        [STARTED, *tool_call(0), *tool_call(1), CALLED, ToolFinished(0, "4"), TurnEnded(Finish.TOOL_CALLS)]
    )
    assert [type(step) for step in steps_of(AnsweredTurn(turn))] == [AnsweredTurn, ToolMessage]


def test_an_interrupted_reply_is_kept_as_a_step() -> None:
    broken: list[Event] = [BlockStarted(9, Kind.TEXT), BlockGrew(9, "And"), BlockEnded(9, interrupted=True)]
    turn = fold([*RUN, *broken, TurnFailed("cut_off", "It broke.")])
    *steps, last = steps_of(AnsweredTurn(turn, "f9", "google"))
    assert tuple(steps) == replies_of(turn)
    assert isinstance(last, AnsweredTurn)
    assert (last.prefix, last.provider, last.turn.outcome) == ("", "google", turn.outcome)
    assert [(block.number, block.text) for block in last.turn.blocks] == [(0, "And")]


def test_an_empty_interrupted_reply_is_no_step() -> None:
    blank: list[Event] = [BlockStarted(9, Kind.TEXT), BlockEnded(9, interrupted=True)]
    for rest in ([], blank):
        turn = fold([*RUN, *rest, TurnFailed("cut_off")])
        assert steps_of(AnsweredTurn(turn)) == replies_of(turn)


def test_steps_of_does_not_change_the_turn() -> None:
    turn, again = fold(RUN), fold(RUN)
    steps_of(AnsweredTurn(turn))
    assert turn == again
