"""The whole view: cases that the stories do not cover."""

import msgspec
import pytest
from tests.view.turns import (
    STOP,
    answer_events,
    assistant_call_events,
    sealed_thought_events,
    thought_events,
    timed_thought,
    timed_turn,
    tool_call_events,
    untimed_turn,
)

from thinkaloud.core.canon import (
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
from thinkaloud.core.transcript import Turn
from thinkaloud.core.view import (
    PRESETS,
    HiddenReason,
    OpenState,
    Policy,
    ThinkingState,
    ThinkingView,
    notice,
    preset,
    view,
)


def thinking_view(turn: Turn, policy: Policy | None = None, locale: str = "en-US") -> ThinkingView:
    """Return the view of a turn that has one."""
    thinking = view(turn, policy or Policy(), locale)
    assert thinking is not None
    return thinking


@pytest.mark.parametrize(
    "turn",
    [
        untimed_turn(),
        untimed_turn(TurnStarted(), STOP),
        untimed_turn(*answer_events(0, "Hello."), STOP),
        untimed_turn(*thought_events(0, ""), *answer_events(1, "Hello."), STOP),
        untimed_turn(*thought_events(0, " \n "), *answer_events(1, "Hello."), STOP),
        untimed_turn(BlockStarted(0, Kind.REASONING)),
    ],
)
@pytest.mark.parametrize("name", PRESETS)
def test_view_is_none_without_thinking(turn: Turn, name: str) -> None:
    """R005, R024, R025, R108, T3: nothing is drawn, under any preset."""
    assert view(turn, preset(name)) is None


def test_view_is_none_for_nested_blocks_only() -> None:
    turn = untimed_turn(*answer_events(0, "x"), *thought_events(1, "nested", parent=0))
    assert view(turn) is None


def test_view_does_not_change_the_turn() -> None:
    """R062, R118: no policy makes the view change the turn."""
    turn = untimed_turn(
        *thought_events(0, "One."), *tool_call_events(1, "find", "{}", "ok"), *answer_events(2, "Yes."), STOP
    )
    encoded_before = msgspec.json.encode(turn)
    for policy in PRESETS.values():
        view(turn, policy)
        view(turn, msgspec.structs.replace(policy, show_thinking=False), choices={0: True})
    assert msgspec.json.encode(turn) == encoded_before


def test_words_of_a_finished_thought_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return 3

    monkeypatch.setattr("thinkaloud.core.view.thinking.count_words", count)
    text = "A thought that no other test has, counted once."
    turn = untimed_turn(*thought_events(0, text))
    views = [view(turn, now_ms=at_ms) for at_ms in range(5)]
    assert [shown.blocks[0].words for shown in views if shown] == [3] * 5
    assert counted == [text]


def test_view_is_deterministic() -> None:
    turn = timed_thought()
    assert view(turn, now_ms=9000) == view(turn, now_ms=9000)


def test_view_round_trips_through_json() -> None:
    turn = untimed_turn(
        *thought_events(0, "One."),
        *assistant_call_events(1, "Helper", "do"),
        *thought_events(2, "inner", parent=1),
    )
    thinking = thinking_view(turn)
    assert msgspec.json.decode(msgspec.json.encode(thinking), type=ThinkingView) == thinking


@pytest.mark.parametrize(
    ("turn", "status"),
    [
        (untimed_turn(BlockStarted(0, Kind.REASONING), BlockGrew(0, "Hm")), ThinkingState.THINKING),
        (untimed_turn(*thought_events(0, "Hm.")), ThinkingState.DONE),
        (untimed_turn(*tool_call_events(0, "find", "{}", "ok")), ThinkingState.THINKING),
        (untimed_turn(*tool_call_events(0, "find", "{}", "ok")[:3]), ThinkingState.THINKING),
        (
            untimed_turn(*tool_call_events(0, "find", "{}", "ok"), *answer_events(1, " ")),
            ThinkingState.THINKING,
        ),
        (
            untimed_turn(*tool_call_events(0, "find", "{}", "ok"), *answer_events(1, "Found.")),
            ThinkingState.DONE,
        ),
        (
            untimed_turn(*tool_call_events(0, "find", "{}", "ok")[:3], TurnEnded(Finish.TOOL_CALLS)),
            ThinkingState.DONE,
        ),
        (untimed_turn(*thought_events(0, "Hm."), *answer_events(1, "Yes."), STOP), ThinkingState.DONE),
        (
            untimed_turn(*thought_events(0, "Hm."), *answer_events(1, "Yes."), TurnFailed("overloaded")),
            ThinkingState.ERROR,
        ),
        (untimed_turn(*thought_events(0, "Hm."), TurnFailed("cut_off")), ThinkingState.INTERRUPTED),
        (
            untimed_turn(*thought_events(0, "Hm."), *answer_events(1, "Ye"), TurnFailed("cut_off")),
            ThinkingState.DONE,
        ),
        (untimed_turn(*thought_events(0, "Hm."), TurnEnded(Finish.CANCELLED)), ThinkingState.INTERRUPTED),
        (untimed_turn(*thought_events(0, "Hm."), TurnEnded(Finish.REFUSAL)), ThinkingState.DONE),
    ],
)
def test_thinking_state_of_turns(turn: Turn, status: ThinkingState) -> None:
    """R083, R084, R103: thinking ends with the thought, not with the turn; calls keep it going."""
    assert thinking_view(turn).status is status


def test_thought_cut_before_a_later_answer_is_interrupted() -> None:
    cut: list[Event] = [BlockStarted(0, Kind.REASONING), BlockGrew(0, "Hm"), BlockEnded(0, interrupted=True)]
    assert thinking_view(untimed_turn(*cut)).blocks[0].label == "Interrupted"
    assert (
        thinking_view(untimed_turn(*cut, *answer_events(1, "Yes."), TurnEnded(Finish.CANCELLED))).status
        is ThinkingState.INTERRUPTED
    )
    assert (
        thinking_view(untimed_turn(*cut, *answer_events(1, "Yes."), STOP)).blocks[0].status
        is ThinkingState.DONE
    )


def test_unfinished_call_is_interrupted_with_the_turn() -> None:
    turn = untimed_turn(
        *thought_events(0, "Hm."), *tool_call_events(1, "find", "{}")[:3], TurnEnded(Finish.CANCELLED)
    )
    assert [step.status for step in thinking_view(turn).steps] == [
        ThinkingState.DONE,
        ThinkingState.INTERRUPTED,
    ]


def test_finished_call_stays_done_when_the_connection_is_lost() -> None:
    turn = untimed_turn(
        *thought_events(0, "Hm."), *tool_call_events(1, "find", "{}", "ok"), TurnFailed("cut_off")
    )
    thinking = thinking_view(turn)
    assert [step.status for step in thinking.steps] == [ThinkingState.DONE, ThinkingState.DONE]
    assert thinking.label == "Connection lost"


@pytest.mark.parametrize(
    ("forms", "reason"),
    [
        ([SealForm.ENCRYPTED], HiddenReason.ENCRYPTED),
        ([SealForm.REDACTED], HiddenReason.REDACTED),
        ([SealForm.ENCRYPTED, SealForm.REDACTED], HiddenReason.REDACTED),
        ([SealForm.SIGNATURE], HiddenReason.WITHHELD),
        ([SealForm.ITEM], HiddenReason.WITHHELD),
        ([SealForm.ITEM, SealForm.ENCRYPTED], HiddenReason.ENCRYPTED),
    ],
)
def test_hidden_thought_placeholder_gives_the_reason(forms: list[SealForm], reason: HiddenReason) -> None:
    """R033: encrypted, redacted and withheld have a text each, and nothing is invented."""
    (block,) = thinking_view(untimed_turn(*sealed_thought_events(0, *forms), STOP)).blocks
    assert block.unseen is reason
    assert block.placeholder
    assert (block.words, block.preview, block.peek) == (None, "", "")


def test_negative_durations_are_not_shown() -> None:
    """R079: clocks may be wrong; a negative duration is never shown."""
    assert thinking_view(timed_thought(start_ms=5000, end_ms=1000)).label == "Thought"


def test_duration_of_one_burst_is_unknown() -> None:
    thinking = thinking_view(timed_thought(end_ms=0))
    assert (thinking.label, thinking.blocks[0].label, thinking.duration_ms) == ("Thought", "Thought", None)


def test_approximate_duration_is_not_shared_by_several_thoughts() -> None:
    """R078, R079: the approximate time of a turn is not the time of one of its thoughts."""
    turn = timed_turn(
        (0, TurnStarted()),
        *((3000, event) for event in [*thought_events(0, "One."), *thought_events(1, "Two.")]),
        *((3010, event) for event in [*answer_events(2, "Yes."), STOP]),
    )
    thinking = thinking_view(turn)
    assert thinking.label == "Thought for ≈3s"
    assert [block.label for block in thinking.blocks] == ["Thought", "Thought"]


def test_duration_excludes_tool_time() -> None:
    """R079: only the thoughts' own time counts."""
    turn = timed_turn(
        (0, BlockStarted(0, Kind.REASONING)),
        (0, BlockGrew(0, "Find it.")),
        (1000, BlockEnded(0)),
        *((9000, event) for event in tool_call_events(1, "find", "{}", "ok")),
        *((9000, event) for event in [*answer_events(2, "Yes."), STOP]),
    )
    assert thinking_view(turn).label == "Thought for 1s"


@pytest.mark.parametrize(
    ("usage", "text"),
    [(Usage(), ""), (Usage(reasoning=0), ""), (Usage(reasoning=1), "1 token"), (Usage(output=9), "")],
)
def test_tokens_are_shown_only_if_reported(usage: Usage, text: str) -> None:
    """R004: tokens are never estimated."""
    assert (
        thinking_view(untimed_turn(*thought_events(0, "Hm."), UsageReported(usage), STOP)).tokens_text == text
    )


def test_provenance_of_thoughts() -> None:
    for provenance, english in [
        (Provenance.RAW, "Model's own words"),
        (Provenance.SUMMARY, "Provider's summary"),
        (Provenance.UNKNOWN, ""),
    ]:
        turn = untimed_turn(BlockStarted(0, Kind.REASONING, provenance=provenance), BlockGrew(0, "Hm."))
        assert thinking_view(turn).blocks[0].provenance == english


def test_unnamed_tools_and_assistants_get_a_generic_name() -> None:
    """R102: an assistant without a name is called "Assistant"."""
    turn = untimed_turn(*tool_call_events(0, "", "{}", "ok"), *assistant_call_events(1, ""))
    assert [step.label for step in thinking_view(turn).steps] == ["Tool", "Assistant is working…"]
    assert [step.label for step in thinking_view(turn, locale="pt").steps] == [
        "Ferramenta",
        "Assistente está trabalhando…",
    ]


def test_steps_below_a_hidden_block_move_up() -> None:
    turn = untimed_turn(
        *thought_events(0, " "),
        *tool_call_events(1, "find", "{}", "ok", parent=0),
        *tool_call_events(2, "read", "{}", "ok"),
    )
    assert [step.block for step in thinking_view(turn).steps] == [1, 2]


def test_step_texts_and_results_are_cut() -> None:
    """R101: a step shows the start of a long text."""
    (step,) = thinking_view(untimed_turn(*tool_call_events(0, "find", "x " * 5000, "y" * 5000))).steps
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
def test_notice_of_endings_without_thinking(ending: TurnEnded | TurnFailed, text: str) -> None:
    """R026, R103: each ending has its own notice."""
    assert notice(untimed_turn(*answer_events(0, "Yes."), ending)) == text


def test_live_turn_has_no_notice() -> None:
    assert notice(untimed_turn(*thought_events(0, "Hm."))) == ""


def test_step_open_states_are_independent() -> None:
    """R109, T5: nested steps open and close independently."""
    turn = untimed_turn(
        *assistant_call_events(0, "Helper"),
        *thought_events(1, "inner", parent=0),
        *thought_events(2, "again", parent=0),
    )
    thinking = view(turn, preset("trace"), choices={1: True, 0: False})
    assert thinking is not None
    (helper,) = thinking.steps
    assert [helper.open, *(step.open for step in helper.steps)] == [
        OpenState.COLLAPSED,
        OpenState.EXPANDED,
        OpenState.COLLAPSED,
    ]


def test_only_the_last_thought_without_an_answer_stays_open() -> None:
    turn = untimed_turn(*thought_events(0, "One."), *thought_events(1, "Two."), STOP)
    assert [block.open for block in thinking_view(turn).blocks] == [OpenState.COLLAPSED, OpenState.EXPANDED]
