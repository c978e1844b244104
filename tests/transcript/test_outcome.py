"""The outcome of a turn, as a table of its blocks and the provider's finish reason."""

import pytest
from tests.transcript.turn_builders import (
    answer,
    block,
    finished_tool_call,
    sealed_thought,
    thought,
    tool_call,
)

from thinkaloud.core.canon import (
    BlockEnded,
    BlockStarted,
    Event,
    Finish,
    Kind,
    ToolFinished,
    TurnEnded,
    TurnFailed,
)
from thinkaloud.core.transcript import Ending, Outcome, fold

NESTED = [BlockStarted(0, Kind.ASSISTANT_CALL), *block(1, Kind.TEXT, "yes", parent=0), BlockEnded(0)]

EVENTS_BY_NAME: dict[str, list[Event]] = {
    "nothing": [],
    "answer": answer(0, "yes"),
    "blank-answer": answer(0, " ", "\n"),
    "thought": thought(0, "hm"),
    "blank-thought": thought(0, "\n"),
    "empty-thought": thought(0),
    "sealed-thought": sealed_thought(0),
    "thought-and-answer": [*thought(0, "hm"), *answer(1, "yes")],
    "thought-and-blank-answer": [*thought(0, "hm"), *answer(1, "\n")],
    "call": tool_call(0),
    "thought-and-call": [*thought(0, "hm"), *tool_call(1)],
    "answer-and-call": [*answer(0, "Let me see."), *tool_call(1)],
    "finished-call": finished_tool_call(0),
    "answer-and-finished-call": [*finished_tool_call(0), *answer(1, "yes")],
    "thought-and-finished-call": [*thought(0, "hm"), *finished_tool_call(1)],
    "finished-call-and-call": [*finished_tool_call(0), *tool_call(1)],
    "running-assistant": NESTED,
    "finished-assistant": [*NESTED, ToolFinished(0, "yes")],
}

# Not in the table, because the blocks do not matter: length, refusal and cancelled.
OUTCOME_TABLE = """
blocks                             stop            unknown         tool_calls

nothing                            empty           empty           empty
answer                             answered        answered        answered
blank-answer                       empty           empty           empty
thought                            reasoning_only  reasoning_only  reasoning_only
blank-thought                      empty           empty           empty
empty-thought                      empty           empty           empty
sealed-thought                     reasoning_only  reasoning_only  reasoning_only
thought-and-answer                 answered        answered        answered
thought-and-blank-answer           reasoning_only  reasoning_only  reasoning_only
call                               called_tools    called_tools    called_tools
thought-and-call                   called_tools    called_tools    called_tools
answer-and-call                    answered        answered        called_tools
finished-call                      empty           empty           empty
answer-and-finished-call           answered        answered        answered
thought-and-finished-call          reasoning_only  reasoning_only  reasoning_only
finished-call-and-call             called_tools    called_tools    called_tools
running-assistant                  called_tools    called_tools    called_tools
finished-assistant                 empty           empty           empty
"""
FINISHES, *ROWS = [line.split() for line in OUTCOME_TABLE.splitlines() if line]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row[0]))
def test_outcome_from_blocks_and_finish(row: list[str]) -> None:
    """R026: reasoning without an answer is an outcome of its own, not a failure."""
    for finish, ending in zip(FINISHES[1:], row[1:], strict=True):
        turn = fold([*EVENTS_BY_NAME[row[0]], TurnEnded(Finish(finish))])
        assert turn.outcome == Outcome(Ending(ending), finish), finish


def test_outcome_table_covers_all_blocks() -> None:
    assert [row[0] for row in ROWS] == list(EVENTS_BY_NAME)


@pytest.mark.parametrize(
    ("finish", "ending"),
    [
        (Finish.LENGTH, Ending.CUT_OFF),
        (Finish.REFUSAL, Ending.REFUSED),
        (Finish.CANCELLED, Ending.CANCELLED),
    ],
)
@pytest.mark.parametrize("events_name", EVENTS_BY_NAME)
def test_outcome_of_length_refusal_and_cancellation(finish: Finish, ending: Ending, events_name: str) -> None:
    turn = fold([*EVENTS_BY_NAME[events_name], TurnEnded(finish)])
    assert turn.outcome == Outcome(ending, finish.value)


def test_outcome_cause_is_the_providers_stop_reason() -> None:
    assert fold([TurnEnded(Finish.LENGTH, "max_tokens")]).outcome == Outcome(Ending.CUT_OFF, "max_tokens")


@pytest.mark.parametrize(
    ("code", "ending"),
    [("cut_off", Ending.CUT_OFF), ("bad_frame", Ending.FAILED), ("overloaded_error", Ending.FAILED)],
)
@pytest.mark.parametrize("events_name", EVENTS_BY_NAME)
def test_outcome_of_failure_ignores_the_blocks(code: str, ending: Ending, events_name: str) -> None:
    turn = fold([*EVENTS_BY_NAME[events_name], TurnFailed(code, "Why.")])
    assert turn.outcome == Outcome(ending, code, "Why.")
