"""Checks that the log of a run is valid, for all tests that run agents.

A run is a tree of replies and calls in one sequence of entries. Whatever happens, and wherever it is stopped:
nothing starts below a call that is not running, nothing is open when the call above it ends, and there is
one end.
"""

from collections.abc import Iterable

import msgspec
from tests.transcript.turn_builders import with_joined_text

from thinkaloud.core.canon import (
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    ReplyEnded,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from thinkaloud.core.transcript import (
    CALL_KINDS,
    Block,
    BlockStatus,
    Turn,
    apply,
    events_to_end_blocks,
    events_to_end_turn,
    fold,
    unfold,
)
from thinkaloud.core.view import ThinkingStep, thinking_block, view

TRUSTED_FINISHES = (Finish.TOOL_CALLS, Finish.STOP, Finish.UNKNOWN)
"""After any other end of a reply its calls are left alone."""
CANCELLED = TurnEnded(Finish.CANCELLED)
CONNECTION_LOST = TurnFailed("cut_off", "The connection broke.")


def assert_legal(entries: Iterable[Entry], *, client: tuple[str, ...] = ()) -> Turn:
    """Check a whole log and return its turn. `client` are the tools that the caller runs."""
    whole_log = list(entries)
    turn = assert_legal_so_far(whole_log)
    assert [entry for entry in whole_log if _is_end(entry.event)] == whole_log[-1:]
    assert_over(turn, client=client)
    return turn


def assert_legal_so_far(entries: Iterable[Entry]) -> Turn:
    """Check the beginning of a log and return its turn. It can be ended at any point."""
    turn = Turn()
    stamps: dict[int, int] = {}
    for index, entry in enumerate(entries):
        assert entry.seq == index
        assert isinstance(entry.event, TurnStarted) == (index == 0), "a turn starts first, and once"
        _assert_event_allowed(turn, entry.event)
        _assert_time_ordered(stamps, entry)
        apply(turn, entry)
        if not isinstance(entry.event, BlockGrew):
            _assert_can_be_stopped(turn)
    return turn


def assert_over(turn: Turn, *, client: tuple[str, ...] = ()) -> None:
    """Check a turn that has ended."""
    assert not turn.live
    assert [block.number for block in turn.blocks if block.status is BlockStatus.RUNNING] == []
    last = [reply for reply in turn.replies if reply.parent is None][-1:]
    for reply in turn.replies:
        open_calls = [turn.blocks[number] for number in reply.calls if turn.blocks[number].result is None]
        if reply.finish in TRUSTED_FINISHES:
            assert all(reply in last and block.name in client for block in open_calls), (reply, open_calls)
    assert_round_trip(turn)
    assert_counted(turn)


def assert_round_trip(turn: Turn) -> None:
    """Check that an exported and imported log is the same."""
    restored = Turn()
    for entry in unfold(turn):
        _assert_event_allowed(restored, entry.event)
        apply(restored, entry)
    assert same_turn(restored, turn)


def same_turn(first: Turn, second: Turn) -> bool:
    """Whether two turns are equal apart from their number of entries and pieces."""
    with_joined_text(first), with_joined_text(second)
    assert msgspec.structs.replace(first, seq=0) == msgspec.structs.replace(second, seq=0)
    return True


def copy_turn(turn: Turn) -> Turn:
    """Return a copy of the turn."""
    blocks = [
        msgspec.structs.replace(block, pieces=[*block.pieces], seals=[*block.seals]) for block in turn.blocks
    ]
    return msgspec.structs.replace(turn, blocks=blocks, notices=[*turn.notices], replies=[*turn.replies])


def assert_counted(turn: Turn) -> None:
    """R120-R125: the steps are the blocks, each below its call; tools are counted on all levels."""
    block, turn_view = thinking_block(turn), view(turn)
    if block is None or turn_view is None:
        assert block is None
        assert turn_view is None
        return
    assert block.tool_count == turn_view.tool_count == len(turn.own_blocks(*CALL_KINDS))
    deep = sum(any_block.kind in CALL_KINDS for any_block in turn.blocks)
    assert turn_view.tool_count_deep == _calls_in(block.steps) == deep
    for step in block.steps:
        _assert_step_parent(turn, step, None)


def _assert_step_parent(turn: Turn, step: ThinkingStep, parent: int | None) -> None:
    block = turn.blocks[int(step.id)]
    assert (block.parent, block.kind.value) == (parent, step.type)
    for child in step.child_steps:
        _assert_step_parent(turn, child, block.number)


def _calls_in(steps: tuple[ThinkingStep, ...]) -> int:
    return sum((step.type != "reasoning") + _calls_in(step.child_steps) for step in steps)


def _is_end(event: Event) -> bool:
    return isinstance(event, TurnEnded | TurnFailed)


def _assert_event_allowed(turn: Turn, event: Event) -> None:
    """A block starts only below a running call; a call that ends has no open blocks below it."""
    match event:
        case BlockStarted() | ReplyEnded() if event.parent is not None:
            parent_call = turn.blocks[event.parent]
            assert parent_call.kind is Kind.ASSISTANT_CALL, event
            assert parent_call.awaiting_result, event
        case ToolFinished():
            assert turn.blocks[event.block].result is None, "a call comes back once"
            assert _open_below(turn, event.block) == []
        case TurnEnded() | TurnFailed():
            assert _open_below(turn, None) == []


def _open_below(turn: Turn, call: int | None) -> list[int]:
    """Return the running blocks and assistants below a call."""
    nested = [block for block in turn.blocks if block.number != call and _nested_in(turn, block, call)]
    return [
        block.number
        for block in nested
        if block.status is BlockStatus.RUNNING or _assistant_running(turn, block)
    ]


def _nested_in(turn: Turn, block: Block, call: int | None) -> bool:
    return call is None or turn.within(block.number, call)


def _assistant_running(turn: Turn, block: Block) -> bool:
    trusted = [reply.calls for reply in turn.replies if reply.finish in TRUSTED_FINISHES]
    return (
        block.kind is Kind.ASSISTANT_CALL
        and block.awaiting_result
        and any(block.number in calls for calls in trusted)
    )


def _assert_time_ordered(stamps: dict[int, int], entry: Entry) -> None:
    number = getattr(entry.event, "block", None)
    if number is None or entry.at_ms is None:
        return
    assert stamps.get(number, entry.at_ms) <= entry.at_ms, entry
    stamps[number] = entry.at_ms


def _assert_can_be_stopped(turn: Turn) -> None:
    assert_round_trip(turn)
    if not turn.live:
        assert events_to_end_turn(turn, CANCELLED) == []
        return
    for end in (CANCELLED, CONNECTION_LOST):
        stopped_turn = fold(events_to_end_turn(turn, end), copy_turn(turn))
        assert not stopped_turn.live
        assert all(
            stopped_turn.blocks[number].result is not None
            for reply in stopped_turn.replies
            for number in reply.calls
        )
        assert [block.text for block in stopped_turn.blocks] == [block.text for block in turn.blocks]
        assert_round_trip(stopped_turn)
    for block in turn.blocks:
        if block.kind is Kind.ASSISTANT_CALL and block.awaiting_result:
            stopped_turn = fold(events_to_end_blocks(turn, block.number), copy_turn(turn))
            assert _open_below(stopped_turn, block.number) == []
            assert stopped_turn.blocks[block.number].awaiting_result
