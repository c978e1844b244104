"""The rules that no dialect can break, whatever it does with its blocks."""

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.dialects.legality import assert_legal

from thinkaloud.canon import (
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
)
from thinkaloud.dialects.blocks import Blocks

KEYS = st.sampled_from(["a", "b", 3, ("tool", 1)])
TEXTS = st.sampled_from(["", " ", "word", "字"])
KINDS = st.sampled_from([Kind.REASONING, Kind.TEXT, Kind.TOOL_CALL])

Move = Callable[[Blocks], object]


def moves() -> st.SearchStrategy[Move]:
    """Anything that a dialect may do, in any order."""
    return st.one_of(
        st.builds(lambda model: lambda blocks: blocks.begin(model), TEXTS),
        st.builds(lambda key, kind: lambda blocks: blocks.start(key, kind), KEYS, KINDS),
        st.builds(lambda key, text: lambda blocks: blocks.grow(key, text), KEYS, TEXTS),
        st.builds(lambda key, kind, text: lambda blocks: blocks.say(key, kind, text), KEYS, KINDS, TEXTS),
        st.builds(lambda key, text: lambda blocks: blocks.seal(key, SealForm.SIGNATURE, text), KEYS, TEXTS),
        st.builds(lambda key, text: lambda blocks: blocks.finish_tool(key, text, text), KEYS, TEXTS),
        st.builds(lambda key, kind: lambda blocks: blocks.refile(key, kind), KEYS, KINDS),
        st.builds(lambda key: lambda blocks: blocks.end(key), KEYS),
        st.builds(lambda key: lambda blocks: blocks.end_all(but=key), KEYS),
        st.builds(
            lambda count: lambda blocks: blocks.report(Usage(output=count)), st.none() | st.integers(0, 9)
        ),
        st.builds(lambda text: lambda blocks: blocks.notice("note", text), TEXTS),
        st.builds(lambda text: lambda blocks: blocks.finish(Finish.STOP, text, text), TEXTS),
        st.builds(lambda text: lambda blocks: blocks.fail("broken", text), TEXTS),
    )


@settings(max_examples=300, deadline=None)
@given(st.lists(moves(), max_size=20), st.booleans())
def test_whatever_a_dialect_does_is_a_legal_turn(script: list[Move], one_by_one: bool) -> None:
    """R030: start before growth, end before the end of the turn, and exactly one end."""
    blocks = Blocks("dialect", "model")
    events = []
    for move in script:
        move(blocks)
        if one_by_one:
            events += blocks.take()
    blocks.cut_off("its end")
    assert_legal(events + blocks.take())
    assert blocks.take() == []


def test_text_that_comes_together_is_told_together() -> None:
    blocks = Blocks("dialect")
    for piece in ("a", "", "b"):
        blocks.say("key", Kind.TEXT, piece)
        blocks.grow("key", "")
    assert blocks.take() == [TurnStarted("dialect"), BlockStarted(0, Kind.TEXT), BlockGrew(0, "ab")]
    blocks.grow("key", "c")
    blocks.end("key")
    assert blocks.take() == [BlockGrew(0, "c"), BlockEnded(0)]


def test_a_key_may_be_used_again_and_seals_go_to_its_newest_block() -> None:
    blocks = Blocks("dialect", "model")
    for text in ("a", "b"):
        blocks.say("key", Kind.REASONING, text)
        blocks.end("key")
    blocks.take()
    blocks.seal("key", SealForm.SIGNATURE, "s")
    assert blocks.take() == [BlockSealed(1, Seal("dialect", SealForm.SIGNATURE, "s", "model"))]
    assert blocks.known("key")
    assert not blocks.is_open("key")


def test_the_last_words_of_a_block_may_move_to_a_new_one() -> None:
    blocks = Blocks("dialect")
    blocks.say("key", Kind.REASONING, "thought, answer")
    blocks.refile("key", Kind.TEXT, 6)
    blocks.end("key")
    blocks.say("next", Kind.TEXT, "!")
    blocks.finish(Finish.STOP)
    events = blocks.take()
    assert BlockReclassified(0, Kind.TEXT, 6, 1) in events
    assert [block.text for block in assert_legal(events).blocks] == ["thought, ", "answer", "!"]


def test_nothing_is_told_of_what_never_was() -> None:
    blocks = Blocks("dialect")
    blocks.grow("key", "a")
    blocks.seal("key", SealForm.SIGNATURE, "s")
    blocks.finish_tool("key", "done")
    blocks.refile("key", Kind.TEXT)
    blocks.end("key")
    blocks.report(Usage())
    assert blocks.take() == []


def test_after_the_end_nothing_is_told() -> None:
    blocks = Blocks("dialect")
    blocks.start("key", Kind.TOOL_CALL)
    blocks.finish(Finish.STOP)
    assert isinstance(blocks.take()[-1], TurnEnded)
    blocks.start("other", Kind.TEXT)
    blocks.say("other", Kind.TEXT, "a")
    blocks.seal("key", SealForm.SIGNATURE, "s")
    blocks.finish_tool("key", "done")
    blocks.refile("key", Kind.TEXT)
    blocks.report(Usage(output=1))
    blocks.notice("note", "late")
    blocks.finish(Finish.STOP)
    blocks.fail("broken", "late")
    blocks.cut_off("its end")
    assert blocks.take() == []


def test_what_is_open_when_a_turn_breaks_was_interrupted() -> None:
    blocks = Blocks("dialect")
    blocks.say("key", Kind.TOOL_CALL, "{")
    blocks.finish_tool("key", "", "no such tool")
    blocks.report(Usage(output=1))
    blocks.fail("broken", "It broke.")
    assert blocks.take()[2:] == [
        BlockGrew(0, "{"),
        ToolFinished(0, "", "no such tool"),
        UsageReported(Usage(output=1)),
        BlockEnded(0, interrupted=True),
        TurnFailed("broken", "It broke."),
    ]
