"""Finds what can be sent of each turn: its text, its calls with their results, and whether it is complete.

Calls are sent with their results or not at all: if one call of a turn has no result, none of its calls and
results are sent.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from thinkaloud.core.canon import Kind
from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.core.context.context import AnsweredTurn, Step
from thinkaloud.core.transcript import PAUSE_TURN, Block, Ending, Turn

_COMPLETE_ENDINGS = (Ending.ANSWERED, Ending.CALLED_TOOLS, Ending.REASONING_ONLY, Ending.EMPTY)


class SentTurn(msgspec.Struct, frozen=True):
    """A turn and what of it can be sent."""

    step: int
    answered: AnsweredTurn
    calls: tuple[tuple[Block, ToolMessage], ...] = ()
    """Answered calls with their results."""
    unanswered: tuple[int, ...] = ()
    """Calls that are not sent, by block number."""
    server_calls: tuple[int, ...] = ()
    """Calls that the provider itself ran, by block number."""
    retried: bool = False
    """The turn was cut off and the model was asked again."""

    @property
    def turn(self) -> Turn:
        """The turn itself."""
        return self.answered.turn

    @property
    def complete(self) -> bool:
        """Whether the turn ended normally."""
        return self.turn.outcome is not None and self.turn.outcome.ending in _COMPLETE_ENDINGS

    @property
    def has_calls(self) -> bool:
        """Whether calls of this turn are sent."""
        return bool(self.calls or self.server_calls)

    @property
    def has_answer(self) -> bool:
        """Whether the turn has a visible answer."""
        return any(not block.blank for block in self.turn.own_blocks(Kind.TEXT))

    @property
    def omit_reason(self) -> str:
        """The reason code if nothing of the turn is sent, else empty."""
        if not (self.has_answer or self.has_calls):
            if self.unanswered:
                return "unanswered"
            return "reasoning_only" if self.has_thought else "empty"
        return "retried" if self.retried else ""

    @property
    def has_thought(self) -> bool:
        """Whether the turn has anything that only its issuer may get back."""
        return any(block.kind is Kind.REASONING or block.seals for block in self.turn.own_blocks())


class History(msgspec.Struct, frozen=True):
    """The analysis of a whole conversation."""

    turns: dict[int, SentTurn]
    """Every turn, by step number."""
    unmatched_results: dict[int, str]
    """Results without a call that is sent, by step number, with the reason code."""
    open_loop: frozenset[int]
    """The turns of the tool loop that is still open."""


def analyse(
    steps: Sequence[Step], requires_thought: Callable[[AnsweredTurn], bool] = lambda _: False
) -> History:
    """Pair calls with results, and find the turns of the open tool loop.

    `requires_thought` says whether a turn's calls are refused without their thought. If such a turn was cut
    off, its calls are not sent, because an incomplete thought is never sent.
    """
    answers, unmatched_results = _pair_results(steps)
    turns = {}
    for number, step in enumerate(steps):
        if isinstance(step, AnsweredTurn):
            results = answers.get(number, {})
            sent_turn = _sent_turn(number, step, results)
            if (
                sent_turn.calls
                and sent_turn.has_thought
                and not sent_turn.complete
                and requires_thought(step)
            ):
                call_blocks = tuple(block.number for block, _ in sent_turn.calls)
                sent_turn = msgspec.structs.replace(sent_turn, calls=(), unanswered=call_blocks)
            turns[number] = msgspec.structs.replace(sent_turn, retried=_retried(sent_turn, steps))
            if sent_turn.unanswered:
                unmatched_results |= {result_step: "unanswered" for result_step, _ in results.values()}
    return History(turns, unmatched_results, _open_loop(steps, turns, unmatched_results))


def _open_loop(
    steps: Sequence[Step], turns: dict[int, SentTurn], unmatched_results: dict[int, str]
) -> frozenset[int]:
    """Return the turns with calls since the last user message.

    A user message right after a tool result does not close the loop, because the model has not answered the
    result yet. A turn of which nothing is sent does not count as an answer.
    """
    loop: set[int] = set()
    after_result = False
    for number, step in enumerate(steps):
        if isinstance(step, UserMessage):
            loop = loop if after_result else set()
        elif isinstance(step, ToolMessage):
            after_result = after_result or number not in unmatched_results
        elif not turns[number].omit_reason:
            after_result = False
            loop |= {number} if turns[number].has_calls else set()
    return frozenset(loop)


_CallResults = dict[int, tuple[int, ToolMessage]]
"""By block number: the step number of the result, and the result."""


def _pair_results(steps: Sequence[Step]) -> tuple[dict[int, _CallResults], dict[int, str]]:
    """Assign each result to the nearest earlier turn that called tools."""
    results: dict[int, _CallResults] = {}
    unmatched: dict[int, str] = {}
    caller = -1
    for number, step in enumerate(steps):
        if isinstance(step, AnsweredTurn) and _call_blocks(step.turn):
            caller = number
            results[caller] = {}
        elif isinstance(step, ToolMessage):
            block = _answered_call(step, steps[caller], results[caller]) if caller >= 0 else None
            if block is None:
                unmatched[number] = "orphan"
            else:
                results[caller][block] = (number, step)
    return results, unmatched


def _answered_call(result: ToolMessage, caller: Step, results: _CallResults) -> int | None:
    """Return the call that a result answers: by id, or the next one of that name if calls have no ids."""
    assert isinstance(caller, AnsweredTurn)
    for block in _call_blocks(caller.turn):
        if block.number not in results and _answers_call(result, block):
            return block.number
    return None


def _answers_call(result: ToolMessage, block: Block) -> bool:
    if block.call_id:
        return result.call_id == block.call_id
    return result.name in ("", block.name)


def _call_blocks(turn: Turn) -> list[Block]:
    return turn.own_blocks(Kind.TOOL_CALL, Kind.ASSISTANT_CALL)


def _sent_turn(number: int, answered: AnsweredTurn, results: _CallResults) -> SentTurn:
    paused = answered.turn.outcome is not None and answered.turn.outcome.cause == PAUSE_TURN
    unanswered = [block for block in _call_blocks(answered.turn) if block.number not in results]
    server_calls = tuple(block.number for block in unanswered if block.result is not None or paused)
    if len(server_calls) < len(unanswered):
        omitted = tuple(
            block.number for block in _call_blocks(answered.turn) if block.number not in server_calls
        )
        return SentTurn(number, answered, unanswered=omitted, server_calls=server_calls)
    return SentTurn(
        number, answered, tuple(_calls_with_results(answered.turn, results)), server_calls=server_calls
    )


def _calls_with_results(turn: Turn, results: _CallResults) -> Iterator[tuple[Block, ToolMessage]]:
    for block in _call_blocks(turn):
        if block.number in results:
            yield block, results[block.number][1]


def _retried(sent_turn: SentTurn, steps: Sequence[Step]) -> bool:
    if sent_turn.complete or sent_turn.calls:
        return False
    following = next(
        (step for step in steps[sent_turn.step + 1 :] if not isinstance(step, ToolMessage)), None
    )
    return following is None or isinstance(following, AnsweredTurn)
