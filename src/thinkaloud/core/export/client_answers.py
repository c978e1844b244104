"""Answers as another program keeps them: text, calls and thoughts, and beside them the turn they came from.

A framework or a client of the gateway sends the whole conversation with every request. An answer counts as
the turn that is kept for it only if its text and calls are the ones that were given; one that was changed, or
that came from elsewhere, is taken as it is.
"""

import json

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Event,
    Finish,
    Kind,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.canon.requests import ToolCall, ToolMessage, UserMessage
from thinkaloud.core.context import AnsweredTurn, read_answer
from thinkaloud.core.dialects.client_request import ClientAnswer, ClientStep
from thinkaloud.core.transcript import Turn, fold


def recall(answer: ClientAnswer, record: str) -> AnsweredTurn:
    """Return the turn behind an answer: the one in its record, unless the answer was changed since."""
    if record:
        answered = read_answer(record)
        if gave(answered.turn, answer):
            return answered
    return AnsweredTurn(fold(events_of_answer(answer, "")))


def events_of_answer(answer: ClientAnswer, model: str) -> list[Event]:
    """Return an answer that is not known here as events. Its thoughts are for people to read."""
    events: list[Event] = [TurnStarted(model=model)]
    thoughts = "\n\n".join(thought.text for thought in answer.thoughts if thought.text)
    parts: list[tuple[Kind, str, ToolCall | None]] = []
    if thoughts:
        parts.append((Kind.REASONING, thoughts, None))
    if answer.text:
        parts.append((Kind.TEXT, answer.text, None))
    parts += ((Kind.TOOL_CALL, call.arguments, call) for call in answer.calls)
    for number, (kind, text, call) in enumerate(parts):
        name, call_id = (call.name, call.call_id) if call else ("", "")
        events += [
            BlockStarted(number, kind, name, call_id),
            BlockGrew(number, text),
            BlockEnded(number),
        ]
    return [*events, TurnEnded(Finish.TOOL_CALLS if answer.calls else Finish.STOP)]


def gave(turn: Turn, answer: ClientAnswer) -> bool:
    """Return whether a stored turn gave this text and made these calls."""
    return normalized(answer_of(turn)) == normalized(answer)


def answer_of(turn: Turn) -> ClientAnswer:
    """Return a stored turn as the answer that a client got, without its thoughts."""
    text = "".join(block.text for block in turn.own_blocks(Kind.TEXT))
    calls = (ToolCall(block.call_id, block.name, block.text) for block in turn.own_blocks(Kind.TOOL_CALL))
    return ClientAnswer(text, tuple(calls))


def normalized(step: ClientStep) -> object:
    """Return what of a step is the same whenever the client sends it: no ids, no thoughts, no outer space."""
    match step:
        case UserMessage():
            return "user", _trimmed(step.text), step.images, [file.data for file in step.files]
        case ToolMessage():
            return "tool", _trimmed(step.result), step.images
    return "assistant", _trimmed(step.text), [(call.name, _canonical(call.arguments)) for call in step.calls]


def _trimmed(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _canonical(arguments: str) -> str:
    """Return arguments in one spelling: clients write them anew, with other spaces, or 1 for 1.0."""
    try:
        value = json.loads(arguments or "{}", parse_float=_number)
        return json.dumps(value, sort_keys=True)
    except (ValueError, RecursionError, OverflowError):
        return arguments


def _number(text: str) -> float:
    number = float(text)
    return int(number) if number.is_integer() else number
