"""The emitter enforces a valid order of events, whatever a dialect does."""

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.dialects.turn_checks import assert_valid_turn

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockReclassified,
    BlockSealed,
    BlockStarted,
    Finish,
    Kind,
    Seal,
    SealForm,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    UsageReported,
    Wording,
)
from thinkaloud.core.dialects.emitter import TurnEmitter

KEYS = st.sampled_from(["a", "b", 3, ("tool", 1)])
TEXTS = st.sampled_from(["", " ", "word", "字"])
KINDS = st.sampled_from([Kind.REASONING, Kind.TEXT, Kind.TOOL_CALL])

EmitterCall = Callable[[TurnEmitter], object]


def emitter_calls() -> st.SearchStrategy[EmitterCall]:
    """Generate any call of the emitter."""
    return st.one_of(
        st.builds(lambda model: lambda emitter: emitter.start_turn(model), TEXTS),
        st.builds(lambda key, kind: lambda emitter: emitter.start_block(key, kind), KEYS, KINDS),
        st.builds(lambda key, text: lambda emitter: emitter.append(key, text), KEYS, TEXTS),
        st.builds(
            lambda key, kind, text: lambda emitter: emitter.append_or_start(key, kind, text),
            KEYS,
            KINDS,
            TEXTS,
        ),
        st.builds(lambda key, text: lambda emitter: emitter.seal(key, SealForm.SIGNATURE, text), KEYS, TEXTS),
        st.builds(lambda key, text: lambda emitter: emitter.finish_tool(key, text, text), KEYS, TEXTS),
        st.builds(lambda key, kind: lambda emitter: emitter.reclassify(key, kind), KEYS, KINDS),
        st.builds(lambda key: lambda emitter: emitter.end_block(key), KEYS),
        st.builds(lambda key: lambda emitter: emitter.end_all_blocks(except_key=key), KEYS),
        st.builds(
            lambda count: lambda emitter: emitter.report_usage(Usage(output=count)),
            st.none() | st.integers(0, 9),
        ),
        st.builds(lambda text: lambda emitter: emitter.add_notice("note", Wording.plain(text)), TEXTS),
        st.builds(lambda text: lambda emitter: emitter.finish(Finish.STOP, text, text), TEXTS),
        st.builds(lambda text: lambda emitter: emitter.fail("broken", Wording.plain(text)), TEXTS),
    )


@settings(max_examples=300, deadline=None)
@given(st.lists(emitter_calls(), max_size=20), st.booleans())
def test_random_emitter_calls_give_a_valid_turn(calls: list[EmitterCall], one_by_one: bool) -> None:
    """R030: a block starts before it grows and ends before the turn; the turn ends exactly once."""
    emitter = TurnEmitter("dialect", "model")
    events = []
    for call in calls:
        call(emitter)
        if one_by_one:
            events += emitter.drain()
    emitter.fail_cut_off("its end")
    assert_valid_turn(events + emitter.drain())
    assert emitter.drain() == []


def test_emitter_joins_consecutive_text() -> None:
    emitter = TurnEmitter("dialect")
    for piece in ("a", "", "b"):
        emitter.append_or_start("key", Kind.TEXT, piece)
        emitter.append("key", "")
    assert emitter.drain() == [TurnStarted("dialect"), BlockStarted(0, Kind.TEXT), BlockGrew(0, "ab")]
    emitter.append("key", "c")
    emitter.end_block("key")
    assert emitter.drain() == [BlockGrew(0, "c"), BlockEnded(0)]


def test_seal_goes_to_the_latest_block_of_a_reused_key() -> None:
    emitter = TurnEmitter("dialect", "model")
    for text in ("a", "b"):
        emitter.append_or_start("key", Kind.REASONING, text)
        emitter.end_block("key")
    emitter.drain()
    emitter.seal("key", SealForm.SIGNATURE, "s")
    assert emitter.drain() == [BlockSealed(1, Seal("dialect", SealForm.SIGNATURE, "s", "model"))]
    assert emitter.has_block("key")
    assert not emitter.has_open("key")


def test_emitter_reclassifies_the_tail_of_a_block() -> None:
    emitter = TurnEmitter("dialect")
    emitter.append_or_start("key", Kind.REASONING, "thought, answer")
    emitter.reclassify("key", Kind.TEXT, 6)
    emitter.end_block("key")
    emitter.append_or_start("next", Kind.TEXT, "!")
    emitter.finish(Finish.STOP)
    events = emitter.drain()
    assert BlockReclassified(0, Kind.TEXT, 6, 1) in events
    assert [block.text for block in assert_valid_turn(events).blocks] == ["thought, ", "answer", "!"]


def test_emitter_ignores_unknown_keys() -> None:
    emitter = TurnEmitter("dialect")
    emitter.append("key", "a")
    emitter.seal("key", SealForm.SIGNATURE, "s")
    emitter.finish_tool("key", "done")
    emitter.reclassify("key", Kind.TEXT)
    emitter.end_block("key")
    emitter.report_usage(Usage())
    assert emitter.drain() == []


def test_emitter_ignores_calls_after_the_end() -> None:
    emitter = TurnEmitter("dialect")
    emitter.start_block("key", Kind.TOOL_CALL)
    emitter.finish(Finish.STOP)
    assert isinstance(emitter.drain()[-1], TurnEnded)
    emitter.start_block("other", Kind.TEXT)
    emitter.append_or_start("other", Kind.TEXT, "a")
    emitter.seal("key", SealForm.SIGNATURE, "s")
    emitter.finish_tool("key", "done")
    emitter.reclassify("key", Kind.TEXT)
    emitter.report_usage(Usage(output=1))
    emitter.add_notice("note", Wording("late"))
    emitter.finish(Finish.STOP)
    emitter.fail("broken", Wording("late"))
    emitter.fail_cut_off("its end")
    assert emitter.drain() == []


def test_fail_interrupts_open_blocks() -> None:
    emitter = TurnEmitter("dialect")
    emitter.append_or_start("key", Kind.TOOL_CALL, "{")
    emitter.finish_tool("key", "", "no such tool")
    emitter.report_usage(Usage(output=1))
    emitter.fail("broken", Wording("It broke."))
    assert emitter.drain()[2:] == [
        BlockGrew(0, "{"),
        ToolFinished(0, "", "no such tool"),
        UsageReported(Usage(output=1)),
        BlockEnded(0, interrupted=True),
        TurnFailed("broken", "It broke."),
    ]


def test_number_that_cannot_be_a_count_is_unknown() -> None:
    emitter = TurnEmitter("test")
    emitter.report_usage(Usage(input=10**30, output=-5, reasoning=0, cache_read=2**53))
    emitter.report_usage(Usage(input=2**63))
    reports = [event for event in emitter.drain() if isinstance(event, UsageReported)]
    assert reports == [UsageReported(Usage(reasoning=0, cache_read=2**53))]
