"""A turn back into entries that fold to it again: what a file keeps of it.

Text comes in one piece and a thought that was reclassified is told as what it became; all else is as it was.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Literal, cast

from thinkaloud.canon import (
    ApprovalAsked,
    ApprovalSettled,
    BlockEnded,
    BlockGrew,
    BlockSealed,
    BlockStarted,
    Entry,
    Event,
    Finish,
    ReplyEnded,
    SummaryWritten,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    UsageReported,
)
from thinkaloud.transcript.turn import Approval, Block, Ending, Outcome, Reply, Status, Turn

_Told = tuple[Event, int | None]
"""An event and its moment."""

_FINISHES = {
    Ending.CANCELLED: Finish.CANCELLED,
    Ending.REFUSED: Finish.REFUSAL,
    Ending.CUT_OFF: Finish.LENGTH,
    Ending.CALLED_TOOLS: Finish.TOOL_CALLS,
}
"""A finish that leads to this ending; any other ending follows from the blocks."""


def unfold(turn: Turn) -> list[Entry]:
    """Entries that fold to this turn."""
    return [Entry(seq, event, at_ms) for seq, (event, at_ms) in enumerate(_told(turn))]


def stamped(turn: Turn) -> bool:
    """Whether any moment of the turn is known."""
    return any(entry.at_ms is not None for entry in unfold(turn))


def _told(turn: Turn) -> Iterator[_Told]:
    yield TurnStarted(turn.dialect, turn.model), turn.started_ms
    ended, returned = _ended_after(turn), _returned_after(turn)
    left_open = {number for reply in turn.replies for number in reply.calls}
    for block in turn.blocks:
        yield from _block(block, left_open=block.number in left_open)
        for reply in ended.get(block.number, ()):
            yield _reply_ended(reply), reply.ended_ms
        for call in returned.get(block.number, ()):
            yield from _came_back(call)
    for reply in ended.get(-1, ()):
        yield _reply_ended(reply), reply.ended_ms
    if turn.summary_by:
        by = cast(Literal["provider", "extract", "model"], turn.summary_by)
        yield SummaryWritten(turn.summary, by), None
    if turn.usage != Usage() and not turn.replies:
        yield UsageReported(turn.usage), None
    for notice in turn.notices:
        yield notice, None
    if turn.outcome is not None:
        yield _end(turn, turn.outcome), turn.ended_ms


def _ended_after(turn: Turn) -> dict[int, list[Reply]]:
    """The replies by the last block that was there when they ended; -1 where there was none."""
    ended: defaultdict[int, list[Reply]] = defaultdict(list)
    for reply in turn.replies:
        ended[reply.until - 1].append(reply)
    return ended


def _returned_after(turn: Turn) -> dict[int, list[Block]]:
    """The calls that came back after their reply had ended, by the last block that was told before."""
    last = list(range(len(turn.blocks)))
    for block in reversed(turn.blocks):
        if block.parent is not None:
            last[block.parent] = max(last[block.parent], last[block.number])
    returned: defaultdict[int, list[Block]] = defaultdict(list)
    for reply in turn.replies:
        for number in reply.calls:
            returned[max(last[number], reply.until - 1)].append(turn.blocks[number])
    for calls in returned.values():
        calls.sort(key=lambda call: -call.number)  # the innermost first
    return returned


def _block(block: Block, *, left_open: bool) -> Iterator[_Told]:
    started = BlockStarted(
        block.number,
        block.kind,
        block.name,
        block.call_id,
        block.assistant_id,
        block.parent,
        block.provenance,
    )
    yield started, block.started_ms
    if block.text:
        yield BlockGrew(block.number, block.text), None
    for seal in block.seals:
        yield BlockSealed(block.number, seal), None
    if left_open:
        yield BlockEnded(block.number), block.ended_ms if block.result is None else None
        return
    if block.result is not None:
        yield ToolFinished(block.number, block.result, block.error), block.ended_ms
    if block.status is not Status.RUNNING:
        yield BlockEnded(block.number, block.status is Status.INTERRUPTED), block.ended_ms


def _came_back(call: Block) -> Iterator[_Told]:
    if call.approval:
        yield ApprovalAsked(call.number), None
    if call.approval in (Approval.GRANTED, Approval.DENIED):
        yield ApprovalSettled(call.number, call.approval is Approval.GRANTED, call.settled_by), None
    if call.result is not None:
        yield ToolFinished(call.number, call.result, call.error), call.ended_ms


def _reply_ended(reply: Reply) -> ReplyEnded:
    return ReplyEnded(**{name: getattr(reply, name) for name in ReplyEnded.__struct_fields__})


def _end(turn: Turn, outcome: Outcome) -> Event:
    broke_off = outcome.ending is Ending.CUT_OFF and outcome.cause == "cut_off"
    if (outcome.ending is Ending.FAILED or broke_off) and turn.message is None:
        return TurnFailed(outcome.cause, outcome.message)
    return TurnEnded(_FINISHES.get(outcome.ending, Finish.STOP), outcome.cause, turn.message)
