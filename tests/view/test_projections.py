"""The gateway's JSON and the thinking block's JSON."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.view.turns import (
    STOP,
    answer_events,
    assistant_call_events,
    sealed_thought_events,
    thought_events,
    timed_turn,
    tool_call_events,
    untimed_turn,
)
from wcwidth import iter_graphemes

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Event,
    Finish,
    Kind,
    SealForm,
    SummaryWritten,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    UsageReported,
)
from thinkaloud.core.transcript import Turn
from thinkaloud.core.view import ThinkingBlock, gateway_answer, thinking_block
from thinkaloud.core.view.thinking import RESULT_LIMIT

STEP_KEYS = {
    "reasoning": {"id", "type", "content", "timestamp", "childSteps"},
    "tool_call": {"id", "type", "content", "timestamp", "childSteps", "toolName", "toolInput", "toolResult"},
    "assistant_call": {
        *("id", "type", "content", "timestamp", "childSteps"),
        *("assistantName", "assistantId", "assistantTask", "assistantResult"),
    },
}


def block_of(turn: Turn) -> ThinkingBlock:
    """Return the thinking block of a turn that has one."""
    block = thinking_block(turn)
    assert block is not None
    return block


def test_gateway_answer_json_is_exact() -> None:
    """R001, R004: content and reasoning are separate, with the known facts."""
    turn = timed_turn(
        (0, TurnStarted()),
        (0, BlockStarted(0, Kind.REASONING)),
        (0, BlockGrew(0, "I need to think about this...")),
        (4200, BlockEnded(0)),
        *((4300, event) for event in [*answer_events(1, "Four."), UsageReported(Usage(reasoning=234)), STOP]),
    )
    built = msgspec.to_builtins(gateway_answer(turn))
    blocks = built.pop("reasoning_blocks")
    assert built == {
        "content": [{"type": "text", "text": "Four."}],
        "reasoning_content": "I need to think about this...",
        "reasoning_meta": {"model_supports": True, "duration_ms": 4200, "tokens": 234},
    }
    assert blocks == [
        {
            "block": 0,
            "text": "I need to think about this...",
            "duration_ms": 4200,
            "provenance": "unknown",
            "unseen": None,
        }
    ]


def test_gateway_answer_unknown_values_are_null() -> None:
    """R004, R005, R024, R025: no thought, no content and no number is invented."""
    for turn in (untimed_turn(), untimed_turn(*thought_events(0, " "), *answer_events(1, "Hi."), STOP)):
        built = msgspec.to_builtins(gateway_answer(turn))
        assert built["reasoning_content"] is None
        assert built["reasoning_meta"] == {"model_supports": None, "duration_ms": None, "tokens": None}
        assert built["reasoning_blocks"] == []


def test_gateway_answer_joins_thoughts_with_a_blank_line() -> None:
    """R004, R088: one string, and the blocks as a list."""
    turn = untimed_turn(
        *thought_events(0, "One."),
        *sealed_thought_events(1, SealForm.REDACTED),
        *answer_events(2, "A"),
        *thought_events(3, "Two."),
        *answer_events(4, "B"),
    )
    built = gateway_answer(turn)
    assert built.reasoning_content == "One.\n\nTwo."
    assert [(block.block, block.text, block.unseen) for block in built.reasoning_blocks] == [
        (0, "One.", None),
        (1, "", "redacted"),
        (3, "Two.", None),
    ]
    assert [part.text for part in built.content] == ["A", "B"]


def test_gateway_answer_lists_hidden_thoughts_without_content() -> None:
    """R033: an encrypted thought has no text but is listed."""
    built = gateway_answer(
        untimed_turn(*sealed_thought_events(0, SealForm.ENCRYPTED), *answer_events(1, "Hi."), STOP)
    )
    assert built.reasoning_content is None
    assert built.reasoning_meta.model_supports is True
    counted = gateway_answer(untimed_turn(*answer_events(0, "Hi."), UsageReported(Usage(reasoning=64)), STOP))
    assert counted.reasoning_meta.model_supports is True
    assert counted.reasoning_blocks == []


def test_r004_model_supports_is_what_the_catalog_says_until_thinking_was_seen() -> None:
    """R004: thinking that was seen proves more than a row."""
    silent = untimed_turn(*answer_events(0, "Hi."), STOP)
    for supports in (True, False, None):
        assert gateway_answer(silent, model_supports=supports).reasoning_meta.model_supports is supports
    seen = untimed_turn(*answer_events(0, "Hi."), UsageReported(Usage(reasoning=64)), STOP)
    assert gateway_answer(seen, model_supports=False).reasoning_meta.model_supports is True


def test_gateway_answer_marks_approximate_durations() -> None:
    """R004: a duration that was not measured is marked."""
    turn = timed_turn(
        (0, TurnStarted()),
        *((4200, event) for event in [*thought_events(0, "Hm."), *answer_events(1, "Yes."), STOP]),
    )
    meta = msgspec.to_builtins(gateway_answer(turn).reasoning_meta)
    assert meta == {"model_supports": True, "duration_ms": 4200, "tokens": None, "approximate": True}


PIECES = st.lists(st.tuples(st.sampled_from([Kind.REASONING, Kind.TEXT]), st.text(max_size=12)), max_size=12)


@given(PIECES)
def test_projections_hold_the_text_of_the_blocks(pieces: list[tuple[Kind, str]]) -> None:
    """R001, R004: all projections hold exactly the text of the blocks."""
    events: list[Event] = []
    for n, (kind, text) in enumerate(pieces):
        events += thought_events(n, text) if kind is Kind.REASONING else answer_events(n, text)
    turn = untimed_turn(*events)
    thoughts = [text for kind, text in pieces if kind is Kind.REASONING and text.strip()]
    built = gateway_answer(turn)
    assert "".join(part.text for part in built.content) == turn.answer
    assert [block.text for block in built.reasoning_blocks] == thoughts
    assert (built.reasoning_content or "") == "\n\n".join(thoughts)
    steps = thinking_block(turn)
    assert [step.content for step in steps.steps] == thoughts if steps else thoughts == []


def test_thinking_block_json_is_exact() -> None:
    """R120, R121, R122, R123, R124: exactly these keys; empty optional ones are left out."""
    turn = timed_turn(
        *((1000, event) for event in thought_events(0, "Look it **up**.")),
        *((2000, event) for event in tool_call_events(1, "web_search", '{"query": "rye"}', "Three results")),
        (3000, BlockStarted(2, Kind.ASSISTANT_CALL, "Policy Checker", assistant_id="policy")),
        (3000, BlockGrew(2, "Check the\nrules")),
        *((3500, event) for event in thought_events(3, "Read page 4.", parent=2)),
        (4000, BlockEnded(2)),
        (4000, ToolFinished(2, "Allowed")),
        (5000, SummaryWritten("Checked the rules")),
    )
    assert msgspec.to_builtins(block_of(turn)) == {
        "summary": "Checked the rules",
        "status": "thinking",
        "steps": (
            {"id": "0", "type": "reasoning", "content": "Look it **up**.", "timestamp": 1000},
            {
                "id": "1",
                "type": "tool_call",
                "content": '{"query": "rye"}',
                "toolName": "web_search",
                "toolInput": '{"query": "rye"}',
                "toolResult": "Three results",
                "timestamp": 2000,
            },
            {
                "id": "2",
                "type": "assistant_call",
                "content": "Check the rules",
                "assistantName": "Policy Checker",
                "assistantId": "policy",
                "assistantTask": "Check the\nrules",
                "assistantResult": "Allowed",
                "childSteps": (
                    {"id": "3", "type": "reasoning", "content": "Read page 4.", "timestamp": 3500},
                ),
                "timestamp": 3000,
            },
        ),
    }


def test_thinking_block_is_none_without_thinking() -> None:
    """R005, R108: a turn without thinking has no thinking block."""
    assert thinking_block(untimed_turn(*answer_events(0, "Hi."), STOP)) is None


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        (None, "thinking"),
        (STOP, "done"),
        (TurnEnded(Finish.CANCELLED), "done"),
        (TurnEnded(Finish.LENGTH), "done"),
        (TurnFailed("cut_off"), "error"),
        (TurnFailed("overloaded"), "error"),
    ],
)
def test_thinking_block_status(ending: TurnEnded | TurnFailed | None, status: str) -> None:
    """R103, R120: thinking, done or error."""
    events: list[Event] = [*thought_events(0, "Hm."), *tool_call_events(1, "find", "{}", "ok")]
    assert block_of(untimed_turn(*events, *([ending] if ending else []))).status == status


def test_thinking_block_is_done_once_the_answer_starts() -> None:
    """R104: thinking is done when the answer starts, not when the turn ends."""
    assert block_of(untimed_turn(*thought_events(0, "Hm."), *answer_events(1, "Yes")[:2])).status == "done"


def test_thinking_block_tool_count_excludes_nested_calls() -> None:
    """R098, R107, R125: only top-level tools and assistants count."""
    turn = untimed_turn(
        *thought_events(0, "Hm."),
        *tool_call_events(1, "find", "{}", "ok"),
        *assistant_call_events(2, "Helper"),
        *tool_call_events(3, "read", "{}", "ok", parent=2),
    )
    assert block_of(turn).tool_count == 2


def test_thinking_steps_cut_long_texts_by_graphemes() -> None:
    """R122, R123: by grapheme clusters."""
    family = "👨‍👩‍👧‍👦"
    turn = untimed_turn(*tool_call_events(0, "find", family * 300, family * 300))
    (step,) = block_of(turn).steps
    for text in (step.tool_input, step.tool_result):
        assert text is not None
        assert list(iter_graphemes(text)) == [family] * RESULT_LIMIT + ["…"]


def test_thinking_step_result_holds_the_error() -> None:
    turn = untimed_turn(*tool_call_events(0, "find", "{}")[:3], ToolFinished(0, error="no such file"))
    (step,) = block_of(turn).steps
    assert step.tool_result == "no such file"


def test_thinking_steps_omit_empty_keys() -> None:
    turn = untimed_turn(BlockStarted(0, Kind.TOOL_CALL), BlockStarted(1, Kind.ASSISTANT_CALL))
    tool, assistant = msgspec.to_builtins(block_of(turn))["steps"]
    assert tool == {"id": "0", "type": "tool_call", "content": ""}
    assert assistant == {"id": "1", "type": "assistant_call", "content": ""}


def test_thinking_step_of_a_hidden_thought_has_no_text() -> None:
    """R033: the step is listed, without invented text."""
    (step,) = block_of(untimed_turn(*sealed_thought_events(0, SealForm.REDACTED), STOP)).steps
    assert (step.type, step.content) == ("reasoning", "")


SHAPES = st.lists(st.sampled_from(["thought", "tool", "assistant", "text"]), max_size=20)


@given(SHAPES, st.data())
def test_thinking_steps_have_only_the_keys_of_their_kind(shapes: list[str], data: st.DataObject) -> None:
    """R099, R121, R122, R123, R124: steps in order of execution, nested below their parents."""
    events: list[Event] = []
    assistants: list[int] = []
    for n, shape in enumerate(shapes):
        parent = data.draw(st.sampled_from([None, *assistants]))
        if shape == "assistant":
            events += assistant_call_events(n, "A", "task", parent)
            assistants.append(n)
        elif shape == "tool":
            events += tool_call_events(n, "t", "{}", "r", parent)
        else:
            events += thought_events(n, "x", parent) if shape == "thought" else answer_events(n, "x", parent)
    turn = untimed_turn(*events)
    block = thinking_block(turn)
    steps = [] if block is None else msgspec.json.decode(msgspec.json.encode(block))["steps"]
    _check(turn, steps, None)


def _check(turn: Turn, steps: list[dict[str, object]], parent: int | None) -> None:
    expected = [block for block in turn.blocks if block.parent == parent and block.kind is not Kind.TEXT]
    assert [step["id"] for step in steps] == [str(block.number) for block in expected]
    for step, block in zip(steps, expected, strict=True):
        assert step["type"] == block.kind.value
        assert step.keys() <= STEP_KEYS[block.kind.value]
        below = step.get("childSteps", [])
        assert isinstance(below, list)
        _check(turn, below, block.number)
