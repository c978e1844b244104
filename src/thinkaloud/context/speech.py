"""What there is to send of a turn: its text, its calls with their results, and how far it got.

Calls go with their results or not at all: where one of a turn's calls was never answered, all of them stay
out, and the results of the others with them.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from thinkaloud.canon import Kind
from thinkaloud.canon.requests import ToolMessage, UserMessage
from thinkaloud.context.conversation import Said, Step
from thinkaloud.transcript import PAUSED, Block, Ending, Turn

_WHOLE = (Ending.ANSWERED, Ending.CALLED_TOOLS, Ending.REASONING_ONLY, Ending.EMPTY)


class Speech(msgspec.Struct, frozen=True):
    """A turn, looked at for sending."""

    step: int
    said: Said
    calls: tuple[tuple[Block, ToolMessage], ...] = ()
    """Calls that were answered, each with its result."""
    unanswered: tuple[int, ...] = ()
    """The calls that stay out, by block."""
    served: tuple[int, ...] = ()
    """The calls that the provider itself ran, by block."""
    retried: bool = False
    """Nothing was said to it before the model was asked again."""

    @property
    def turn(self) -> Turn:
        """The turn itself."""
        return self.said.turn

    @property
    def whole(self) -> bool:
        """Whether the turn came to its own end."""
        return self.turn.outcome is not None and self.turn.outcome.ending in _WHOLE

    @property
    def called(self) -> bool:
        """Whether calls of this turn are sent."""
        return bool(self.calls or self.served)

    @property
    def spoken(self) -> bool:
        """Whether there is an answer in it that a person could read."""
        return any(not block.blank for block in self.turn.top(Kind.TEXT))

    @property
    def left_out(self) -> str:
        """Why nothing of the turn is sent; empty where there is something to send."""
        if not (self.spoken or self.called):
            if self.unanswered:
                return "unanswered"
            return "reasoning_only" if self.thoughtful else "empty"
        return "retried" if self.retried else ""

    @property
    def thoughtful(self) -> bool:
        """Whether there is anything in it that only its issuer may see again."""
        return any(block.kind is Kind.REASONING or block.seals for block in self.turn.top())


class Heard(msgspec.Struct, frozen=True):
    """A whole conversation, looked at for sending."""

    speeches: dict[int, Speech]
    """Every turn, by its step."""
    lost: dict[int, str]
    """The results that belong to no call that is sent, by their step, with the reason."""
    loop: frozenset[int]
    """The turns of the tool loop that is still open."""


def listen(steps: Sequence[Step], demanded: Callable[[Said], bool] = lambda _: False) -> Heard:
    """Every turn with its results, and which of them are still in an open loop.

    `demanded` says of a turn whether its calls are refused without their thought: then a turn that broke off
    keeps its calls to itself, since half a thought does not go back.
    """
    answers, lost = _pair(steps)
    speeches = {}
    for number, step in enumerate(steps):
        if isinstance(step, Said):
            found = answers.get(number, {})
            speech = _hear(number, step, found)
            if speech.calls and speech.thoughtful and not speech.whole and demanded(step):
                alone = tuple(block.number for block, _ in speech.calls)
                speech = msgspec.structs.replace(speech, calls=(), unanswered=alone)
            speeches[number] = msgspec.structs.replace(speech, retried=_retried(speech, steps))
            if speech.unanswered:
                lost |= {at: "unanswered" for at, _ in found.values()}
    return Heard(speeches, lost, _open_loop(steps, speeches, lost))


def _open_loop(steps: Sequence[Step], speeches: dict[int, Speech], lost: dict[int, str]) -> frozenset[int]:
    """The turns with calls since a person last said something.

    What is said right after a result, before a model answered it, does not close the loop; an answer of which
    nothing is sent does not count as one.
    """
    loop: set[int] = set()
    after_result = False
    for number, step in enumerate(steps):
        if isinstance(step, UserMessage):
            loop = loop if after_result else set()
        elif isinstance(step, ToolMessage):
            after_result = after_result or number not in lost
        elif not speeches[number].left_out:
            after_result = False
            loop |= {number} if speeches[number].called else set()
    return frozenset(loop)


_Answers = dict[int, tuple[int, ToolMessage]]
"""By block: the step of the result, and the result."""


def _pair(steps: Sequence[Step]) -> tuple[dict[int, _Answers], dict[int, str]]:
    """A result belongs to the nearest turn before it that called anything."""
    answers: dict[int, _Answers] = {}
    lost: dict[int, str] = {}
    caller = -1
    for number, step in enumerate(steps):
        if isinstance(step, Said) and _calls(step.turn):
            caller = number
            answers[caller] = {}
        elif isinstance(step, ToolMessage):
            block = _asking(step, steps[caller], answers[caller]) if caller >= 0 else None
            if block is None:
                lost[number] = "orphan"
            else:
                answers[caller][block] = (number, step)
    return answers, lost


def _asking(result: ToolMessage, caller: Step, answered: _Answers) -> int | None:
    """The call that a result answers: the one with its id, or the next of its name where there are no ids."""
    assert isinstance(caller, Said)
    for block in _calls(caller.turn):
        if block.number not in answered and _fits(result, block):
            return block.number
    return None


def _fits(result: ToolMessage, block: Block) -> bool:
    if block.call_id:
        return result.call_id == block.call_id
    return result.name in ("", block.name)


def _calls(turn: Turn) -> list[Block]:
    return turn.top(Kind.TOOL_CALL, Kind.ASSISTANT_CALL)


def _hear(number: int, said: Said, answers: _Answers) -> Speech:
    paused = said.turn.outcome is not None and said.turn.outcome.cause == PAUSED
    rest = [block for block in _calls(said.turn) if block.number not in answers]
    served = tuple(block.number for block in rest if block.result is not None or paused)
    if len(served) < len(rest):
        stay = tuple(block.number for block in _calls(said.turn) if block.number not in served)
        return Speech(number, said, unanswered=stay, served=served)
    return Speech(number, said, tuple(_answered(said.turn, answers)), served=served)


def _answered(turn: Turn, answers: _Answers) -> Iterator[tuple[Block, ToolMessage]]:
    for block in _calls(turn):
        if block.number in answers:
            yield block, answers[block.number][1]


def _retried(speech: Speech, steps: Sequence[Step]) -> bool:
    if speech.whole or speech.calls:
        return False
    following = next((step for step in steps[speech.step + 1 :] if not isinstance(step, ToolMessage)), None)
    return following is None or isinstance(following, Said)
