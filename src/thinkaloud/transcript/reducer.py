"""The only place where a turn changes: `apply` folds one entry into it, in constant time.

It works in place and returns the turn it was given, so that a turn of a hundred thousand deltas costs
the same per delta as one of ten. Entries that tell no story are refused with `OutOfOrder`: a dialect
or a log that produces them has a bug, and a guess would hide it.
"""

from collections.abc import Iterable
from typing import assert_never

import msgspec

from thinkaloud.canon import (
    ApprovalAsked,
    ApprovalSettled,
    BlockEnded,
    BlockGrew,
    BlockReclassified,
    BlockSealed,
    BlockStarted,
    Entry,
    Event,
    NoticeGiven,
    OutOfOrder,
    ReplyEnded,
    SummaryWritten,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    UsageReported,
    newer,
    together,
)
from thinkaloud.transcript.outcome import of_end, of_failure
from thinkaloud.transcript.turn import PAUSED, Approval, Block, Reply, Status, Turn

CallChange = ToolFinished | ApprovalAsked | ApprovalSettled
BlockChange = BlockStarted | BlockSealed | BlockReclassified | BlockEnded
TurnChange = TurnStarted | SummaryWritten | UsageReported | NoticeGiven | ReplyEnded | TurnEnded | TurnFailed


def fold(events: Iterable[Event], turn: Turn | None = None) -> Turn:
    """Fold events that nobody stamped: their order is known, their times are not."""
    told = turn or Turn()
    for seq, event in enumerate(events, told.seq + 1):
        apply(told, Entry(seq, event))
    return told


def apply(turn: Turn, entry: Entry) -> Turn:
    """Fold one entry into the turn, in place, and return it."""
    if entry.seq <= turn.seq:
        raise OutOfOrder(f"entry {entry.seq} comes after entry {turn.seq}")
    if turn.outcome is not None:
        raise OutOfOrder(f"entry {entry.seq} comes after the turn ended")
    event = entry.event
    if isinstance(event, BlockGrew):  # nearly every entry is this one
        number, blocks = event.block, turn.blocks
        if not 0 <= number < len(blocks) or blocks[number].status is not Status.RUNNING:
            _open(turn, number)  # says what is wrong
        blocks[number].pieces.append(event.text)
    elif isinstance(event, BlockChange):
        _change_block(turn, event, entry.at_ms)
    elif isinstance(event, CallChange):
        _change_call(_known(turn, event.block), event, entry.at_ms)
    else:
        _change_turn(turn, event, entry.at_ms)
    turn.seq = entry.seq
    return turn


def _change_turn(turn: Turn, event: TurnChange, at_ms: int | None) -> None:
    match event:
        case TurnStarted():
            turn.dialect, turn.model, turn.started_ms = event.dialect, event.model, at_ms
        case SummaryWritten():
            turn.summary, turn.summary_by = event.text, event.by
        case UsageReported():
            turn.usage = newer(turn.usage, event.usage)
        case NoticeGiven():
            turn.notices.append(event)
        case ReplyEnded():
            _end_reply(turn, event, at_ms)
        case TurnEnded():
            _all_ended(turn)
            turn.message, turn.ended_ms = event.message, at_ms
            turn.outcome = of_end(turn, event)
        case TurnFailed():
            _all_ended(turn)
            turn.ended_ms = at_ms
            turn.outcome = of_failure(event)
        case _:
            assert_never(event)


def _change_block(turn: Turn, event: BlockChange, at_ms: int | None) -> None:
    match event:
        case BlockStarted():
            _start(turn, event, at_ms)
        case BlockSealed():
            _known(turn, event.block).seals.append(event.seal)
        case BlockReclassified():
            _refile(turn, event, at_ms)
        case BlockEnded():
            block = _open(turn, event.block)
            block.status = Status.INTERRUPTED if event.interrupted else Status.DONE
            if block.error:
                block.status = Status.ERROR
            block.ended_ms = at_ms
        case _:
            assert_never(event)


def _change_call(block: Block, event: CallChange, at_ms: int | None) -> None:
    match event:
        case ToolFinished():
            block.result, block.error = event.result, event.error
            if block.status is not Status.RUNNING:
                block.status = Status.ERROR if event.error else Status.DONE
                block.ended_ms = at_ms
        case ApprovalAsked():
            if not block.awaited or block.approval:
                raise OutOfOrder(f"block {block.number} cannot wait for an approval")
            block.approval = Approval.ASKED
        case ApprovalSettled():
            if block.approval is not Approval.ASKED:
                raise OutOfOrder(f"block {block.number} waits for no approval")
            block.approval = Approval.GRANTED if event.granted else Approval.DENIED
            block.settled_by = event.by
        case _:
            assert_never(event)


def _end_reply(turn: Turn, event: ReplyEnded, at_ms: int | None) -> None:
    if event.parent is not None:
        _known(turn, event.parent)
    told = {name: getattr(event, name) for name in event.__struct_fields__}
    reply = Reply(**told, until=len(turn.blocks), ended_ms=at_ms)
    said = turn.said_in(reply)
    if running := [block.number for block in said if block.status is Status.RUNNING]:
        raise OutOfOrder(f"a reply ended while its blocks {running} were open")
    if reply.said != PAUSED:
        reply = msgspec.structs.replace(reply, calls=tuple(block.number for block in said if block.awaited))
    turn.usage = together(turn.usage, reply.usage) if turn.replies else reply.usage
    turn.replies.append(reply)


def _start(turn: Turn, event: BlockStarted, at_ms: int | None) -> None:
    if event.block != len(turn.blocks):
        raise OutOfOrder(f"block {event.block} started, but the next one is {len(turn.blocks)}")
    if event.parent is not None:
        _known(turn, event.parent)
    turn.blocks.append(
        Block(
            event.block,
            event.kind,
            event.name,
            event.call_id,
            event.assistant_id,
            event.parent,
            event.provenance,
            started_ms=at_ms,
        )
    )


def _refile(turn: Turn, event: BlockReclassified, at_ms: int | None) -> None:
    block = _known(turn, event.block)
    if event.tail is None:
        block.kind = event.kind
        return
    if event.into != len(turn.blocks) or not 0 < event.tail <= len(block.text):
        raise OutOfOrder(f"block {event.block} cannot give its last {event.tail} characters to {event.into}")
    text = block.text
    block.pieces[:] = [text[: -event.tail]]
    moved = Block(
        event.into, event.kind, parent=block.parent, status=Status.DONE, pieces=[text[-event.tail :]]
    )
    moved.started_ms = moved.ended_ms = at_ms
    turn.blocks.append(moved)


def _known(turn: Turn, number: int) -> Block:
    if not 0 <= number < len(turn.blocks):
        raise OutOfOrder(f"block {number} has not started")
    return turn.blocks[number]


def _open(turn: Turn, number: int) -> Block:
    block = _known(turn, number)
    if block.status is not Status.RUNNING:
        raise OutOfOrder(f"block {number} has ended")
    return block


def _all_ended(turn: Turn) -> None:
    running = [block.number for block in turn.blocks if block.status is Status.RUNNING]
    if running:
        raise OutOfOrder(f"the turn ended while blocks {running} were open")
