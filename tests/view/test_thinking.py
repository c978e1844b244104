"""The view as a whole: what stories do not tell."""

import msgspec
import pytest
from tests.view.telling import STOP, called, delegated, said, sealed, thought, timed_thought, told, untimed

from thinkaloud.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Event,
    Finish,
    Kind,
    Provenance,
    SealForm,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    UsageReported,
)
from thinkaloud.transcript import Turn
from thinkaloud.view import PRESETS, Open, Policy, Standing, ThinkingView, Unseen, notice, preset, view


def seen(turn: Turn, policy: Policy | None = None, locale: str = "en-US") -> ThinkingView:
    """The view of a turn that surely has one."""
    found = view(turn, policy or Policy(), locale)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "turn",
    [
        untimed(),
        untimed(TurnStarted(), STOP),
        untimed(*said(0, "Hello."), STOP),
        untimed(*thought(0, ""), *said(1, "Hello."), STOP),
        untimed(*thought(0, " \n "), *said(1, "Hello."), STOP),
        untimed(BlockStarted(0, Kind.REASONING)),
    ],
)
@pytest.mark.parametrize("name", PRESETS)
def test_no_thinking_no_view(turn: Turn, name: str) -> None:
    """R005, R024, R025, R108, T3: nothing is drawn, under any preset."""
    assert view(turn, preset(name)) is None


def test_a_nested_block_alone_is_no_thinking_of_the_turn() -> None:
    turn = untimed(*said(0, "x"), *thought(1, "nested", parent=0))
    assert view(turn) is None


def test_looking_changes_nothing() -> None:
    """R062, R118: a view is only a view, whatever the policy hides."""
    turn = untimed(*thought(0, "One."), *called(1, "find", "{}", "ok"), *said(2, "Yes."), STOP)
    before = msgspec.json.encode(turn)
    for policy in PRESETS.values():
        view(turn, policy)
        view(turn, msgspec.structs.replace(policy, show_thinking=False), choices={0: True})
    assert msgspec.json.encode(turn) == before


def test_the_same_look_gives_the_same_view() -> None:
    turn = timed_thought()
    assert view(turn, now_ms=9000) == view(turn, now_ms=9000)


def test_a_view_goes_through_json_and_back() -> None:
    turn = untimed(*thought(0, "One."), *delegated(1, "Helper", "do"), *thought(2, "inner", parent=1))
    found = seen(turn)
    assert msgspec.json.decode(msgspec.json.encode(found), type=ThinkingView) == found


@pytest.mark.parametrize(
    ("turn", "status"),
    [
        (untimed(BlockStarted(0, Kind.REASONING), BlockGrew(0, "Hm")), Standing.THINKING),
        (untimed(*thought(0, "Hm.")), Standing.DONE),
        (untimed(*called(0, "find", "{}", "ok")), Standing.THINKING),
        (untimed(*called(0, "find", "{}", "ok")[:3]), Standing.THINKING),
        (untimed(*called(0, "find", "{}", "ok"), *said(1, " ")), Standing.THINKING),
        (untimed(*called(0, "find", "{}", "ok"), *said(1, "Found.")), Standing.DONE),
        (untimed(*called(0, "find", "{}", "ok")[:3], TurnEnded(Finish.TOOL_CALLS)), Standing.DONE),
        (untimed(*thought(0, "Hm."), *said(1, "Yes."), STOP), Standing.DONE),
        (untimed(*thought(0, "Hm."), *said(1, "Yes."), TurnFailed("overloaded")), Standing.ERROR),
        (untimed(*thought(0, "Hm."), TurnFailed("cut_off")), Standing.INTERRUPTED),
        (untimed(*thought(0, "Hm."), *said(1, "Ye"), TurnFailed("cut_off")), Standing.DONE),
        (untimed(*thought(0, "Hm."), TurnEnded(Finish.CANCELLED)), Standing.INTERRUPTED),
        (untimed(*thought(0, "Hm."), TurnEnded(Finish.REFUSAL)), Standing.DONE),
    ],
)
def test_where_thinking_stands(turn: Turn, status: Standing) -> None:
    """R083, R084, R103: thinking ends with the thought, not with the turn; calls keep it going."""
    assert seen(turn).status is status


def test_a_thought_cut_before_a_later_answer_is_interrupted() -> None:
    cut: list[Event] = [BlockStarted(0, Kind.REASONING), BlockGrew(0, "Hm"), BlockEnded(0, interrupted=True)]
    assert seen(untimed(*cut)).blocks[0].label == "Interrupted"
    assert seen(untimed(*cut, *said(1, "Yes."), TurnEnded(Finish.CANCELLED))).status is Standing.INTERRUPTED
    assert seen(untimed(*cut, *said(1, "Yes."), STOP)).blocks[0].status is Standing.DONE


def test_a_call_that_never_came_back_is_interrupted_with_the_turn() -> None:
    turn = untimed(*thought(0, "Hm."), *called(1, "find", "{}")[:3], TurnEnded(Finish.CANCELLED))
    assert [step.status for step in seen(turn).steps] == [Standing.DONE, Standing.INTERRUPTED]


def test_a_call_that_came_back_stays_done_when_the_connection_is_lost() -> None:
    turn = untimed(*thought(0, "Hm."), *called(1, "find", "{}", "ok"), TurnFailed("cut_off"))
    found = seen(turn)
    assert [step.status for step in found.steps] == [Standing.DONE, Standing.DONE]
    assert found.label == "Connection lost"


@pytest.mark.parametrize(
    ("forms", "why"),
    [
        ([SealForm.ENCRYPTED], Unseen.ENCRYPTED),
        ([SealForm.REDACTED], Unseen.REDACTED),
        ([SealForm.ENCRYPTED, SealForm.REDACTED], Unseen.REDACTED),
        ([SealForm.SIGNATURE], Unseen.WITHHELD),
        ([SealForm.ITEM], Unseen.WITHHELD),
        ([SealForm.ITEM, SealForm.ENCRYPTED], Unseen.ENCRYPTED),
    ],
)
def test_a_sealed_thought_says_why_it_cannot_be_read(forms: list[SealForm], why: Unseen) -> None:
    """R033: encrypted, redacted and withheld are three things, and none gets invented words."""
    (block,) = seen(untimed(*sealed(0, *forms), STOP)).blocks
    assert block.unseen is why
    assert block.placeholder
    assert (block.words, block.preview, block.peek) == (None, "", "")


def test_times_that_run_backwards_are_not_said() -> None:
    """R079: clocks may be wrong; a negative time is never shown."""
    assert seen(timed_thought(start_ms=5000, end_ms=1000)).label == "Thought"


def test_one_burst_without_a_start_is_unknown() -> None:
    found = seen(timed_thought(end_ms=0))
    assert (found.label, found.blocks[0].label, found.duration_ms) == ("Thought", "Thought", None)


def test_several_bursts_share_no_time_with_each_other() -> None:
    """R078, R079: the approximate time of the turn is not the time of any one of its thoughts."""
    turn = told(
        (0, TurnStarted()),
        *((3000, event) for event in [*thought(0, "One."), *thought(1, "Two.")]),
        *((3010, event) for event in [*said(2, "Yes."), STOP]),
    )
    found = seen(turn)
    assert found.label == "Thought for ≈3s"
    assert [block.label for block in found.blocks] == ["Thought", "Thought"]


def test_tool_time_is_not_thinking_time() -> None:
    """R079: only the thoughts' own time counts."""
    turn = told(
        (0, BlockStarted(0, Kind.REASONING)),
        (0, BlockGrew(0, "Find it.")),
        (1000, BlockEnded(0)),
        *((9000, event) for event in called(1, "find", "{}", "ok")),
        *((9000, event) for event in [*said(2, "Yes."), STOP]),
    )
    assert seen(turn).label == "Thought for 1s"


@pytest.mark.parametrize(
    ("usage", "text"),
    [(Usage(), ""), (Usage(reasoning=0), ""), (Usage(reasoning=1), "1 token"), (Usage(output=9), "")],
)
def test_tokens_only_when_the_provider_says(usage: Usage, text: str) -> None:
    """R004: never estimated."""
    assert seen(untimed(*thought(0, "Hm."), UsageReported(usage), STOP)).tokens_text == text


def test_whose_words_a_thought_is_made_of() -> None:
    for provenance, english in [
        (Provenance.RAW, "Model's own words"),
        (Provenance.SUMMARY, "Provider's summary"),
        (Provenance.UNKNOWN, ""),
    ]:
        turn = untimed(BlockStarted(0, Kind.REASONING, provenance=provenance), BlockGrew(0, "Hm."))
        assert seen(turn).blocks[0].provenance == english


def test_names_for_those_who_have_none() -> None:
    """R102: an assistant without a name is still an assistant."""
    turn = untimed(*called(0, "", "{}", "ok"), *delegated(1, ""))
    assert [step.label for step in seen(turn).steps] == ["Tool", "Assistant is working…"]
    assert [step.label for step in seen(turn, locale="pt").steps] == [
        "Ferramenta",
        "Assistente está trabalhando…",
    ]


def test_steps_of_a_block_that_is_not_shown_move_up() -> None:
    turn = untimed(*thought(0, " "), *called(1, "find", "{}", "ok", parent=0), *called(2, "read", "{}", "ok"))
    assert [step.block for step in seen(turn).steps] == [1, 2]


def test_long_inputs_and_results_are_cut() -> None:
    """R101: a step shows enough to know what happened."""
    (step,) = seen(untimed(*called(0, "find", "x " * 5000, "y" * 5000))).steps
    assert step.text.endswith("…")
    assert step.result == "y" * 280 + "…"
    assert len(step.text) <= 120


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (STOP, ""),
        (TurnEnded(Finish.TOOL_CALLS), ""),
        (TurnEnded(Finish.LENGTH), "The length limit cut the answer off."),
        (TurnEnded(Finish.REFUSAL), "The model declined to answer."),
        (TurnEnded(Finish.CANCELLED), "Stopped before the answer was complete."),
        (TurnFailed("cut_off"), "The connection was lost before the answer was complete."),
        (TurnFailed("rate_limited", "Slow down."), "The answer failed: Slow down."),
        (TurnFailed("rate_limited"), "The answer failed: rate_limited"),
        (TurnFailed(""), ""),
    ],
)
def test_notices_stand_without_any_thinking(ending: TurnEnded | TurnFailed, text: str) -> None:
    """R026, R103: each way to end has its own words."""
    assert notice(untimed(*said(0, "Yes."), ending)) == text


def test_a_live_turn_has_no_notice() -> None:
    assert notice(untimed(*thought(0, "Hm."))) == ""


def test_every_step_has_its_own_open_state() -> None:
    """R109, T5: nested steps open and close on their own."""
    turn = untimed(*delegated(0, "Helper"), *thought(1, "inner", parent=0), *thought(2, "again", parent=0))
    found = view(turn, preset("trace"), choices={1: True, 0: False})
    assert found is not None
    (helper,) = found.steps
    assert [helper.open, *(step.open for step in helper.steps)] == [
        Open.COLLAPSED,
        Open.EXPANDED,
        Open.COLLAPSED,
    ]


def test_only_the_last_thought_of_a_turn_that_led_nowhere_stays_open() -> None:
    turn = untimed(*thought(0, "One."), *thought(1, "Two."), STOP)
    assert [block.open for block in seen(turn).blocks] == [Open.COLLAPSED, Open.EXPANDED]
