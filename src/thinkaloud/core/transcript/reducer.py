"""Folds entries into a turn. This is the only module that changes a turn.

`apply` works in place and in constant time per entry, so that a delta costs the same in a long turn as in a
short one. An invalid sequence raises `OutOfOrder`: the dialect or log that produced it has a bug, and
guessing would hide it. The outcome depends on the blocks as well as on the provider's stop reason, because
providers send "stop" after an answer, after reasoning without an answer, and after nothing at all.
"""

from collections.abc import Iterable
from typing import assert_never

import msgspec

from thinkaloud.core.canon import (
    ApprovalAsked,
    ApprovalSettled,
    BlockEnded,
    BlockGrew,
    BlockReclassified,
    BlockSealed,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    NoticeGiven,
    OutOfOrder,
    ReplyEnded,
    SummaryWritten,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    UsageReported,
)
from thinkaloud.core.transcript.turn import (
    CALL_KINDS,
    PAUSE_TURN,
    Approval,
    Block,
    BlockStatus,
    Ending,
    Outcome,
    Reply,
    Turn,
)

CallEvent = ToolFinished | ApprovalAsked | ApprovalSettled
BlockEvent = BlockStarted | BlockSealed | BlockReclassified | BlockEnded
TurnEvent = TurnStarted | SummaryWritten | UsageReported | NoticeGiven | ReplyEnded | TurnEnded | TurnFailed


def fold(events: Iterable[Event], turn: Turn | None = None) -> Turn:
    """Fold events without timestamps into a turn, by default a new one, and return it."""
    target = turn or Turn()
    for seq, event in enumerate(events, target.seq + 1):
        apply(target, Entry(seq, event))
    return target


def fold_entries(entries: Iterable[Entry]) -> Turn:
    """Fold entries into a new turn and return it."""
    turn = Turn()
    for entry in entries:
        apply(turn, entry)
    return turn


def apply(turn: Turn, entry: Entry) -> Turn:
    """Fold one entry into the turn, in place, and return it."""
    if entry.seq <= turn.seq:
        raise OutOfOrder(f"entry {entry.seq} comes after entry {turn.seq}")
    if turn.outcome is not None:
        raise OutOfOrder(f"entry {entry.seq} comes after the turn ended")
    event = entry.event
    if isinstance(event, BlockGrew):  # the fast path: nearly every entry is a text delta
        number, blocks = event.block, turn.blocks
        if not 0 <= number < len(blocks) or blocks[number].status is not BlockStatus.RUNNING:
            _find_running_block(turn, number)  # raises with the reason
        blocks[number].pieces.append(event.text)
    elif isinstance(event, BlockEvent):
        _apply_block_event(turn, event, entry.at_ms)
    elif isinstance(event, CallEvent):
        _apply_call_event(_find_block(turn, event.block), event, entry.at_ms)
    else:
        _apply_turn_event(turn, event, entry.at_ms)
    turn.seq = entry.seq
    return turn


def _apply_turn_event(turn: Turn, event: TurnEvent, at_ms: int | None) -> None:
    match event:
        case TurnStarted():
            turn.dialect, turn.model, turn.started_ms = event.dialect, event.model, at_ms
        case SummaryWritten():
            turn.summary, turn.summary_by = event.text, event.by
        case UsageReported():
            turn.usage = turn.usage.merge(event.usage)
        case NoticeGiven():
            turn.notices.append(event)
        case ReplyEnded():
            _end_reply(turn, event, at_ms)
        case TurnEnded():
            _check_all_ended(turn)
            turn.message, turn.ended_ms = event.message, at_ms
            turn.outcome = outcome_of_end(turn, event)
        case TurnFailed():
            _check_all_ended(turn)
            turn.ended_ms = at_ms
            turn.outcome = outcome_of_failure(event)
        case _:
            assert_never(event)


def _apply_block_event(turn: Turn, event: BlockEvent, at_ms: int | None) -> None:
    match event:
        case BlockStarted():
            _start_block(turn, event, at_ms)
        case BlockSealed():
            _find_block(turn, event.block).seals.append(event.seal)
        case BlockReclassified():
            _reclassify_block(turn, event, at_ms)
        case BlockEnded():
            block = _find_running_block(turn, event.block)
            block.status = BlockStatus.INTERRUPTED if event.interrupted else BlockStatus.DONE
            if block.error:
                block.status = BlockStatus.ERROR
            block.ended_ms = at_ms
        case _:
            assert_never(event)


def _apply_call_event(block: Block, event: CallEvent, at_ms: int | None) -> None:
    match event:
        case ToolFinished():
            block.result, block.error, block.images = event.result, event.error, event.images
            if block.status is not BlockStatus.RUNNING:
                block.status = BlockStatus.ERROR if event.error else BlockStatus.DONE
                block.ended_ms = at_ms
        case ApprovalAsked():
            if not block.awaiting_result or block.approval:
                raise OutOfOrder(f"block {block.number} cannot wait for approval")
            block.approval = Approval.ASKED
        case ApprovalSettled():
            if block.approval is not Approval.ASKED:
                raise OutOfOrder(f"block {block.number} is not waiting for approval")
            block.approval = Approval.GRANTED if event.granted else Approval.DENIED
            block.settled_by = event.by
        case _:
            assert_never(event)


def _end_reply(turn: Turn, event: ReplyEnded, at_ms: int | None) -> None:
    if event.parent is not None:
        _find_block(turn, event.parent)
    fields = {name: getattr(event, name) for name in event.__struct_fields__}
    reply = Reply(**fields, until=len(turn.blocks), ended_ms=at_ms)
    blocks = turn.blocks_since_last_reply(reply.parent)
    if running_blocks := [block.number for block in blocks if block.status is BlockStatus.RUNNING]:
        raise OutOfOrder(f"a reply ended while its blocks {running_blocks} were open")
    if reply.said != PAUSE_TURN:  # a paused provider runs these calls itself
        reply = msgspec.structs.replace(
            reply, calls=tuple(block.number for block in blocks if block.awaiting_result)
        )
    turn.usage = turn.usage.add(reply.usage) if turn.replies else reply.usage
    turn.replies.append(reply)


def _start_block(turn: Turn, event: BlockStarted, at_ms: int | None) -> None:
    if event.block != len(turn.blocks):
        raise OutOfOrder(f"block {event.block} started, but the next one is {len(turn.blocks)}")
    if event.parent is not None:
        _find_block(turn, event.parent)
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
            description=event.description,
        )
    )


def _reclassify_block(turn: Turn, event: BlockReclassified, at_ms: int | None) -> None:
    block = _find_block(turn, event.block)
    if event.tail is None:
        block.kind = event.kind
        return
    if event.into != len(turn.blocks) or not 0 < event.tail <= len(block.text):
        raise OutOfOrder(f"block {event.block} cannot move {event.tail} characters to block {event.into}")
    text = block.text
    block.pieces[:] = [text[: -event.tail]]
    new_block = Block(
        event.into, event.kind, parent=block.parent, status=BlockStatus.DONE, pieces=[text[-event.tail :]]
    )
    new_block.started_ms = new_block.ended_ms = at_ms
    turn.blocks.append(new_block)


def _find_block(turn: Turn, number: int) -> Block:
    if not 0 <= number < len(turn.blocks):
        raise OutOfOrder(f"block {number} has not started")
    return turn.blocks[number]


def _find_running_block(turn: Turn, number: int) -> Block:
    block = _find_block(turn, number)
    if block.status is not BlockStatus.RUNNING:
        raise OutOfOrder(f"block {number} has ended")
    return block


def _check_all_ended(turn: Turn) -> None:
    running_blocks = [block.number for block in turn.blocks if block.status is BlockStatus.RUNNING]
    if running_blocks:
        raise OutOfOrder(f"the turn ended while blocks {running_blocks} were open")


def outcome_of_end(turn: Turn, event: TurnEnded) -> Outcome:
    """Return the outcome of a turn that ended; `cause` is the provider's own stop reason."""
    return Outcome(_ending(turn, event.finish), event.said or event.finish.value)


def outcome_of_failure(event: TurnFailed) -> Outcome:
    """Return the outcome of a turn that failed: cut off if the stream just stopped, failed otherwise."""
    ending = Ending.CUT_OFF if event.code == "cut_off" else Ending.FAILED
    return Outcome(ending, event.code, event.message, event.wording)


def _ending(turn: Turn, finish: Finish) -> Ending:
    match finish:
        case Finish.CANCELLED:
            return Ending.CANCELLED
        case Finish.REFUSAL:
            return Ending.REFUSED
        case Finish.LENGTH:
            return Ending.CUT_OFF
    if any(not block.blank for block in turn.own_blocks(Kind.TEXT)) and finish is not Finish.TOOL_CALLS:
        return Ending.ANSWERED
    if _has_pending_calls(turn):
        return Ending.CALLED_TOOLS
    if any(not block.blank for block in turn.own_blocks(Kind.TEXT)):
        return Ending.ANSWERED
    has_reasoning = any(block.seals or not block.blank for block in turn.own_blocks(Kind.REASONING))
    return Ending.REASONING_ONLY if has_reasoning else Ending.EMPTY


def _has_pending_calls(turn: Turn) -> bool:
    """Return whether calls wait for a result; an interrupted reply among several leaves none."""
    if not turn.replies:
        return any(block.result is None for block in turn.own_blocks(*CALL_KINDS))
    called = [turn.blocks[number] for reply in turn.own_replies for number in reply.calls]
    return any(block.awaiting_result for block in called)


STOPPED_ERROR = "The call was stopped before it returned a result."


def events_to_end_turn(turn: Turn, end: TurnEnded | TurnFailed) -> list[Event]:
    """Return the events that end a live turn with `end`; none if the turn has ended.

    A turn of which nothing was written starts first: its gateway may have stopped before that.
    """
    if not turn.live:
        return []
    start = [TurnStarted()] if turn.seq < 0 else []
    return [*start, *events_to_end_blocks(turn), end]


def events_to_end_blocks(turn: Turn, parent: int | None = None) -> list[Event]:
    """Return the events that end all open blocks of a turn, or below the call `parent`, innermost first."""
    reply_calls = [call for reply in turn.replies for call in reply.calls]
    events: list[Event] = []
    for block in reversed(turn.blocks):
        if parent is not None and (block.number == parent or not turn.within(block.number, parent)):
            continue
        if block.status is BlockStatus.RUNNING:
            events.append(BlockEnded(block.number, interrupted=True))
        elif block.awaiting_result and block.number in reply_calls:
            events.append(ToolFinished(block.number, error=STOPPED_ERROR))
    return events
