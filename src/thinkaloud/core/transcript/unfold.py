"""Turns a turn back into entries that fold to the same turn; exported files hold these entries.

The text of a block is one event, and a reclassified block has its final kind from the start.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Literal, cast

from thinkaloud.core.canon import (
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
from thinkaloud.core.transcript.turn import Approval, Block, BlockStatus, Ending, Outcome, Reply, Turn

_TimedEvent = tuple[Event, int | None]
"""An event and its timestamp."""

_FINISH_BY_ENDING = {
    Ending.CANCELLED: Finish.CANCELLED,
    Ending.REFUSED: Finish.REFUSAL,
    Ending.CUT_OFF: Finish.LENGTH,
    Ending.CALLED_TOOLS: Finish.TOOL_CALLS,
}
"""The finish that leads to an ending; all other endings follow from the blocks."""


def unfold(turn: Turn) -> list[Entry]:
    """Return entries that fold to this turn."""
    return [Entry(seq, event, at_ms) for seq, (event, at_ms) in enumerate(_timed_events(turn))]


def has_timestamps(turn: Turn) -> bool:
    """Return whether the turn has any timestamp."""
    return any(entry.at_ms is not None for entry in unfold(turn))


def _timed_events(turn: Turn) -> Iterator[_TimedEvent]:
    yield TurnStarted(turn.dialect, turn.model), turn.started_ms
    yield from _BlockEvents(turn).events()
    if turn.summary_by:
        by = cast(Literal["provider", "extract", "model"], turn.summary_by)
        yield SummaryWritten(turn.summary, by), None
    if turn.usage != Usage() and not turn.replies:
        yield UsageReported(turn.usage), None
    for notice in turn.notices:
        yield notice, None
    if turn.outcome is not None:
        yield _end_event(turn, turn.outcome), turn.ended_ms


class _BlockEvents:
    """Generates the events of the blocks, the replies and the results of their calls.

    A turn does not store when a call returned. Its result is therefore placed as late as possible, just
    before the next block or the end of its caller, so that it follows all blocks nested below the call.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._reply_calls = {number for reply in turn.replies for number in reply.calls}
        self._unreported_calls: dict[int | None, tuple[int, ...]] = {}
        """The calls of each caller's last reply whose results are not generated yet."""
        self._replies_by_end: defaultdict[int, list[Reply]] = defaultdict(list)
        for reply in turn.replies:
            self._replies_by_end[reply.until].append(reply)

    def events(self) -> Iterator[_TimedEvent]:
        """Yield all events in order."""
        yield from self._reply_ends(0)
        for block in self._turn.blocks:
            yield from self._call_results(block.parent)
            yield from _block_events(block, reply_call=block.number in self._reply_calls)
            yield from self._reply_ends(block.number + 1)
        for caller in list(self._unreported_calls):
            yield from self._call_results(caller)

    def _reply_ends(self, block_count: int) -> Iterator[_TimedEvent]:
        """Yield the ends of the replies that ended when the turn had `block_count` blocks."""
        for reply in self._replies_by_end.get(block_count, ()):
            yield from self._call_results(reply.parent)
            fields = {name: getattr(reply, name) for name in ReplyEnded.__struct_fields__}
            yield ReplyEnded(**fields), reply.ended_ms
            self._unreported_calls[reply.parent] = reply.calls

    def _call_results(self, caller: int | None) -> Iterator[_TimedEvent]:
        """Yield the results of a caller's calls and of all calls nested below them, innermost first."""
        callers, calls = [caller], list[int]()
        while callers:
            caller_calls = self._unreported_calls.pop(callers.pop(), ())
            calls += caller_calls
            callers += caller_calls
        for number in sorted(calls, reverse=True):
            yield from _approval_and_result(self._turn.blocks[number])


def _block_events(block: Block, *, reply_call: bool) -> Iterator[_TimedEvent]:
    started = BlockStarted(
        block.number,
        block.kind,
        block.name,
        block.call_id,
        block.assistant_id,
        block.parent,
        block.provenance,
        block.description,
    )
    yield started, block.started_ms
    if block.text:
        yield BlockGrew(block.number, block.text), None
    for seal in block.seals:
        yield BlockSealed(block.number, seal), None
    if reply_call or block.approval:
        yield BlockEnded(block.number), block.ended_ms if block.result is None else None
        yield from () if reply_call else _approval_and_result(block)
        return
    if block.result is not None:
        yield ToolFinished(block.number, block.result, block.error, block.images), block.ended_ms
    if block.status is not BlockStatus.RUNNING:
        yield BlockEnded(block.number, block.status is BlockStatus.INTERRUPTED), block.ended_ms


def _approval_and_result(call: Block) -> Iterator[_TimedEvent]:
    """Yield the approval and the result of a call."""
    if call.approval:
        yield ApprovalAsked(call.number), None
    if call.approval in (Approval.GRANTED, Approval.DENIED):
        yield ApprovalSettled(call.number, call.approval is Approval.GRANTED, call.settled_by), None
    if call.result is not None:
        yield ToolFinished(call.number, call.result, call.error, call.images), call.ended_ms


def _end_event(turn: Turn, outcome: Outcome) -> Event:
    cut_off = outcome.ending is Ending.CUT_OFF and outcome.cause == "cut_off"
    if (outcome.ending is Ending.FAILED or cut_off) and turn.message is None:
        return TurnFailed(outcome.cause, outcome.message, wording=outcome.wording)
    return TurnEnded(_FINISH_BY_ENDING.get(outcome.ending, Finish.STOP), outcome.cause, turn.message)
