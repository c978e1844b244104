"""Properties that hold for every legal turn, after each of its events."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockSealed,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    Seal,
    SealForm,
    ToolFinished,
    TurnEnded,
    TurnFailed,
)
from thinkaloud.core.transcript import Turn, apply
from thinkaloud.core.view import (
    PRESETS,
    Channel,
    OpenState,
    PlainRenderer,
    ThinkingState,
    ThinkingView,
    columns_of,
    gateway_answer,
    plain_lines,
    thinking_block,
    view,
)

CALLS = (Kind.TOOL_CALL, Kind.ASSISTANT_CALL)
TEXTS = st.sampled_from(["Hm. ", "\n", " ", "**Plan**\n\n", "漢字", "👩‍💻", "{}", "\r\n", "word"])
ENDINGS: list[TurnEnded | TurnFailed] = [
    *(TurnEnded(finish) for finish in Finish),
    TurnFailed("cut_off"),
    TurnFailed("overloaded"),
]
ACTS = st.lists(st.sampled_from(["start", "grow", "grow", "seal", "end", "finish"]), max_size=25)


@st.composite
def scripts(draw: st.DrawFn) -> list[tuple[int, Event]]:
    """Generate the events of a legal turn with their times; the end may be missing."""
    kinds: list[Kind] = []
    running: list[int] = []
    script: list[tuple[int, Event]] = []
    now = 0
    for act in draw(ACTS):
        now += draw(st.sampled_from([0, 1, 60, 1500]))
        if act == "start" or not kinds:
            parents = [n for n, kind in enumerate(kinds) if kind in CALLS]
            kinds.append(draw(st.sampled_from(Kind)))
            running.append(len(kinds) - 1)
            parent = draw(st.sampled_from([None, *parents]))
            script.append((now, BlockStarted(running[-1], kinds[-1], "name", parent=parent)))
        elif act == "grow" and running:
            script.append((now, BlockGrew(draw(st.sampled_from(running)), draw(TEXTS))))
        elif act == "end" and running:
            block = running.pop(draw(st.integers(0, len(running) - 1)))
            script.append((now, BlockEnded(block, draw(st.booleans()))))
        elif act == "finish":
            calls = [n for n, kind in enumerate(kinds) if kind in CALLS]
            script += [(now, ToolFinished(n, "back")) for n in calls[:1]]
        else:
            seal = Seal("d", draw(st.sampled_from(SealForm)), "x")
            script.append((now, BlockSealed(draw(st.integers(0, len(kinds) - 1)), seal)))
    if draw(st.booleans()):
        script += [(now, BlockEnded(block)) for block in running]
        script.append((now, draw(st.sampled_from(ENDINGS))))
    return script


@given(scripts(), st.sampled_from(sorted(PRESETS)), st.sampled_from(["en-US", "pt-BR"]))
def test_view_exists_exactly_when_there_is_thinking(
    script: list[tuple[int, Event]], name: str, locale: str
) -> None:
    """R005, R062, R108: a view exists exactly when there is thinking, and has texts."""
    turn = Turn()
    for seq, (at_ms, event) in enumerate(script):
        apply(turn, Entry(seq, event, at_ms))
        content_before = _content(turn)
        thinking = view(turn, PRESETS[name], locale, now_ms=at_ms)
        block = thinking_block(turn)
        assert (thinking is None) == (block is None)
        assert msgspec.json.decode(msgspec.json.encode(gateway_answer(turn)))["content"] is not None
        assert _content(turn) == content_before
        if thinking is not None:
            _check_view(turn, thinking)


@given(scripts(), st.booleans(), st.sampled_from(sorted(PRESETS)))
def test_user_choices_survive_every_event(script: list[tuple[int, Event]], opened: bool, name: str) -> None:
    """R074, R087, T4, T5: a choice for one block never changes and does not affect others."""
    turn = Turn()
    for seq, (at_ms, event) in enumerate(script):
        apply(turn, Entry(seq, event, at_ms))
        free = view(turn, PRESETS[name], now_ms=at_ms)
        bound = view(turn, PRESETS[name], now_ms=at_ms, choices={0: opened})
        if free is None or bound is None:
            continue
        for free_block, bound_block in zip(free.blocks, bound.blocks, strict=True):
            expected_open = (
                (OpenState.EXPANDED if opened else OpenState.COLLAPSED)
                if free_block.block == 0
                else free_block.open
            )
            assert bound_block.open is expected_open


@given(scripts())
def test_plain_renderer_keeps_the_whole_answer(script: list[tuple[int, Event]]) -> None:
    """R003: the answer is verbatim, and every line of thought has its prefix."""
    turn, renderer = Turn(), PlainRenderer()
    pieces = []
    for seq, (at_ms, event) in enumerate(script):
        apply(turn, Entry(seq, event, at_ms))
        pieces += renderer.feed(turn, event)
    thoughts = "".join(text for channel, text in pieces if channel is Channel.REASONING)
    assert all(line.startswith("[think] ") for line in thoughts.split("\n") if line)
    if turn.outcome is not None:
        assert not thoughts or thoughts.endswith("\n")
    answer = "".join(text for channel, text in pieces if channel is Channel.ANSWER)
    assert sorted(answer) == sorted(turn.answer)
    assert "".join(text for channel, text in plain_lines(turn) if channel is Channel.ANSWER) == turn.answer


def _content(turn: Turn) -> bytes:
    """Return all of a turn as JSON; reading a text joins its pieces, which does not change the content."""
    return msgspec.json.encode([[block.text for block in turn.blocks], turn])


def _check_view(turn: Turn, thinking: ThinkingView) -> None:
    assert thinking.label
    assert thinking.header
    assert "\n" not in thinking.header
    assert columns_of(thinking.preview) <= 40
    assert thinking.words is None or thinking.status is not ThinkingState.THINKING
    assert turn.live or thinking.status is not ThinkingState.THINKING
    assert (thinking.open is OpenState.HIDDEN and thinking.status is not ThinkingState.THINKING) == bool(
        thinking.marker
    )
    assert bool(thinking.badge) == (thinking.tool_count > 0)
    assert [block.label for block in thinking.blocks if not block.label] == []
    assert all(bool(block.step) == (len(thinking.blocks) > 1) for block in thinking.blocks)
    assert {step.block for step in thinking.steps} >= {block.block for block in thinking.blocks}
