"""What makes the log of a run legal: said once, for all tests that run agents.

A run is a tree of replies and calls, told in one line of entries. Whatever happens in it, and wherever it is
stopped, what is told stays a tree: nothing begins below a call that is not under way, nothing is open when
the call above it comes back, and there is one end.
"""

from collections.abc import Iterable

import msgspec
from tests.transcript.scripts import joined

from thinkaloud.canon import (
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
from thinkaloud.transcript import CALLS, Block, Status, Turn, apply, fold, given_up, stopped, unfold
from thinkaloud.view import ThinkingStep, thinking_block, view

TRUSTED = (Finish.TOOL_CALLS, Finish.STOP, Finish.UNKNOWN)
"""After any other end of a reply its calls are left alone."""
CANCELLED = TurnEnded(Finish.CANCELLED)
LOST = TurnFailed("cut_off", "The connection broke.")


def assert_legal(entries: Iterable[Entry], *, client: tuple[str, ...] = ()) -> Turn:
    """The turn of a whole log, once all is proved of it; `client` are tools that somebody else runs."""
    told = list(entries)
    turn = assert_legal_so_far(told)
    assert [entry for entry in told if _is_end(entry.event)] == told[-1:]
    assert_over(turn, client=client)
    return turn


def assert_legal_so_far(entries: Iterable[Entry]) -> Turn:
    """The turn of the beginning of a log; wherever that is left, it can be brought to a legal end."""
    turn = Turn()
    stamps: dict[int, int] = {}
    for place, entry in enumerate(entries):
        assert entry.seq == place
        assert isinstance(entry.event, TurnStarted) == (place == 0), "a turn starts first, and once"
        _assert_fits(turn, entry.event)
        _assert_later(stamps, entry)
        apply(turn, entry)
        if not isinstance(entry.event, BlockGrew):
            _assert_can_be_left(turn)
    return turn


def assert_over(turn: Turn, *, client: tuple[str, ...] = ()) -> None:
    """What holds of a turn that is over."""
    assert not turn.live
    assert [block.number for block in turn.blocks if block.status is Status.RUNNING] == []
    last = [reply for reply in turn.replies if reply.parent is None][-1:]
    for reply in turn.replies:
        left = [turn.blocks[number] for number in reply.calls if turn.blocks[number].result is None]
        if reply.finish in TRUSTED:
            assert all(reply in last and block.name in client for block in left), (reply, left)
    assert_comes_back(turn)
    assert_counted(turn)


def assert_comes_back(turn: Turn) -> None:
    """A file keeps all of it, as a log in which everything is in its place."""
    again = Turn()
    for entry in unfold(turn):
        _assert_fits(again, entry.event)
        apply(again, entry)
    assert same(again, turn)


def same(one: Turn, other: Turn) -> bool:
    """Whether two turns are the same but for how many entries and pieces they came in."""
    joined(one), joined(other)
    assert msgspec.structs.replace(one, seq=0) == msgspec.structs.replace(other, seq=0)
    return True


def copied(turn: Turn) -> Turn:
    """The turn once more, to go on with in another way."""
    blocks = [
        msgspec.structs.replace(block, pieces=[*block.pieces], seals=[*block.seals]) for block in turn.blocks
    ]
    return msgspec.structs.replace(turn, blocks=blocks, notices=[*turn.notices], replies=[*turn.replies])


def assert_counted(turn: Turn) -> None:
    """R120-R125: the steps are the blocks, each below its call; tools are counted at the top, and deep."""
    block, shown = thinking_block(turn), view(turn)
    if block is None or shown is None:
        assert block is None
        assert shown is None
        return
    assert block.tool_count == shown.tool_count == len(turn.top(*CALLS))
    deep = sum(one.kind in CALLS for one in turn.blocks)
    assert shown.tool_count_deep == _calls_in(block.steps) == deep
    for step in block.steps:
        _assert_hangs(turn, step, None)


def _assert_hangs(turn: Turn, step: ThinkingStep, parent: int | None) -> None:
    told = turn.blocks[int(step.id)]
    assert (told.parent, told.kind.value) == (parent, step.type)
    for below in step.child_steps:
        _assert_hangs(turn, below, told.number)


def _calls_in(steps: tuple[ThinkingStep, ...]) -> int:
    return sum((step.type != "reasoning") + _calls_in(step.child_steps) for step in steps)


def _is_end(event: Event) -> bool:
    return isinstance(event, TurnEnded | TurnFailed)


def _assert_fits(turn: Turn, event: Event) -> None:
    """What begins, begins below a call that is under way; what comes back leaves nothing open below it."""
    match event:
        case BlockStarted() | ReplyEnded() if event.parent is not None:
            above = turn.blocks[event.parent]
            assert above.kind is Kind.ASSISTANT_CALL, event
            assert above.awaited, event
        case ToolFinished():
            assert turn.blocks[event.block].result is None, "a call comes back once"
            assert _open_below(turn, event.block) == []
        case TurnEnded() | TurnFailed():
            assert _open_below(turn, None) == []


def _open_below(turn: Turn, call: int | None) -> list[int]:
    """The blocks below a call that are running, or the assistants that are at work."""
    below = [block for block in turn.blocks if block.number != call and _below(turn, block, call)]
    return [block.number for block in below if block.status is Status.RUNNING or _at_work(turn, block)]


def _below(turn: Turn, block: Block, call: int | None) -> bool:
    return call is None or turn.within(block.number, call)


def _at_work(turn: Turn, block: Block) -> bool:
    trusted = [reply.calls for reply in turn.replies if reply.finish in TRUSTED]
    return (
        block.kind is Kind.ASSISTANT_CALL
        and block.awaited
        and any(block.number in calls for calls in trusted)
    )


def _assert_later(stamps: dict[int, int], entry: Entry) -> None:
    number = getattr(entry.event, "block", None)
    if number is None or entry.at_ms is None:
        return
    assert stamps.get(number, entry.at_ms) <= entry.at_ms, entry
    stamps[number] = entry.at_ms


def _assert_can_be_left(turn: Turn) -> None:
    assert_comes_back(turn)
    if not turn.live:
        assert stopped(turn, CANCELLED) == []
        return
    for end in (CANCELLED, LOST):
        left = fold(stopped(turn, end), copied(turn))
        assert not left.live
        assert all(left.blocks[number].result is not None for reply in left.replies for number in reply.calls)
        assert [block.text for block in left.blocks] == [block.text for block in turn.blocks]
        assert_comes_back(left)
    for block in turn.blocks:
        if block.kind is Kind.ASSISTANT_CALL and block.awaited:
            left = fold(given_up(turn, block.number), copied(turn))
            assert _open_below(left, block.number) == []
            assert left.blocks[block.number].awaited
