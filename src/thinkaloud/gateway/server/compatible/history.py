"""Finds the stored turns behind the history that a client sends.

A client of a compatible endpoint keeps the conversation itself and sends all of it with every request, often
without its thoughts. Each request is a turn here, stored with a fingerprint of the history it answered. So
the answers in a client's history are found again, whole, with everything their provider demands back. An
answer counts as found only if its text and calls are the ones that were given; one that the client changed,
or that came from elsewhere, is taken as the client has it.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence

import msgspec

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
from thinkaloud.core.dialects.client_request import ClientAnswer, ClientStep
from thinkaloud.core.dialects.writer import call_id, referenced_turn
from thinkaloud.core.transcript import Turn
from thinkaloud.gateway.store.rows import TurnRow

_encode = msgspec.json.Encoder(order="deterministic").encode

Asked = tuple[UserMessage | ToolMessage, ...]


class ClientExchange(msgspec.Struct, frozen=True):
    """An answer in a client's history, what was asked before it, and the fingerprint of all before it."""

    asked: Asked
    answer: ClientAnswer
    fingerprint: bytes


class ClientHistory(msgspec.Struct, frozen=True):
    """A client's history as exchanges, and what it asks now."""

    exchanges: tuple[ClientExchange, ...]
    asked: Asked
    fingerprint: bytes
    """Of everything, to be stored with the turn that answers."""


class RememberedTurn(msgspec.Struct, frozen=True):
    """A stored turn that may be an answer in a client's history."""

    row: TurnRow
    fingerprint: bytes
    turn: Turn


def read_history(steps: Sequence[ClientStep], before: bytes = b"") -> ClientHistory:
    """Split a client's steps into exchanges. `before` is the fingerprint of what the client did not send."""
    exchanges: list[ClientExchange] = []
    asked: list[UserMessage | ToolMessage] = []
    fingerprint = before
    for step in steps:
        if isinstance(step, ClientAnswer):
            exchanges.append(ClientExchange(tuple(asked), step, fingerprint))
            asked = []
        else:
            asked.append(step)
        fingerprint = _after(fingerprint, step)
    return ClientHistory(tuple(exchanges), tuple(asked), fingerprint)


def fingerprint_after(remembered: "RememberedTurn") -> bytes:
    """Return the fingerprint of everything up to the end of a stored turn."""
    return _after(remembered.fingerprint, answer_of(remembered.turn))


def _after(fingerprint: bytes, step: ClientStep) -> bytes:
    return hashlib.sha256(fingerprint + _encode(_normalized(step))).digest()


def referenced_turns(history: ClientHistory) -> set[str]:
    """Return the ids of the turns whose thoughts the client sent back as references."""
    return {turn for exchange in history.exchanges for turn in _named_turns(exchange.answer)}


def _named_turns(answer: ClientAnswer) -> set[str]:
    turns = (referenced_turn(thought.opaque) for thought in answer.thoughts)
    return {turn for turn in turns if turn}


def match_turns(
    exchanges: Sequence[ClientExchange], remembered: Iterable[RememberedTurn]
) -> list[RememberedTurn | None]:
    """Return the stored turn of each exchange, the newest that fits; None where there is none."""
    by_fingerprint: dict[bytes, list[RememberedTurn]] = {}
    for candidate in sorted(remembered, key=lambda candidate: candidate.row.key, reverse=True):
        by_fingerprint.setdefault(candidate.fingerprint, []).append(candidate)
    by_id = {candidate.row.id: candidate for group in by_fingerprint.values() for candidate in group}
    matches: list[RememberedTurn | None] = []
    for exchange in exchanges:
        named = (by_id.get(turn_id) for turn_id in _named_turns(exchange.answer))
        candidates = (*by_fingerprint.get(exchange.fingerprint, ()), *named)
        fitting = (found for found in candidates if found and _gave(found.turn, exchange.answer))
        matches.append(next(fitting, None))
    return matches


def results_for(remembered: RememberedTurn | None, answer: ClientAnswer, asked: Asked) -> Asked:
    """Return what is asked, with results under the ids of the stored calls: clients may rewrite ids."""
    if remembered is None:
        return asked
    blocks = remembered.turn.own_blocks(Kind.TOOL_CALL)
    new_ids = {call_id(remembered.row.id, block): [block.call_id] for block in blocks}
    for call, block in zip(answer.calls, blocks, strict=False):
        if call.call_id:
            new_ids[call.call_id] = [block.call_id]
        else:  # calls without ids are answered in their order
            new_ids.setdefault("", []).append(block.call_id)
    steps = list(asked)
    for number, step in enumerate(steps):
        if isinstance(step, ToolMessage):
            steps[number] = msgspec.structs.replace(step, call_id=_next_id(new_ids, step.call_id))
    return tuple(steps)


def _next_id(new_ids: dict[str, list[str]], call_id: str) -> str:
    ids = new_ids.get(call_id, [call_id])
    return ids.pop(0) if len(ids) > 1 else ids[0]


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


def _gave(turn: Turn, answer: ClientAnswer) -> bool:
    """Return whether a stored turn gave this text and made these calls."""
    return _normalized(answer_of(turn)) == _normalized(answer)


def answer_of(turn: Turn) -> ClientAnswer:
    """Return a stored turn as the answer that a client got, without its thoughts."""
    text = "".join(block.text for block in turn.own_blocks(Kind.TEXT))
    calls = (ToolCall(block.call_id, block.name, block.text) for block in turn.own_blocks(Kind.TOOL_CALL))
    return ClientAnswer(text, tuple(calls))


def _normalized(step: ClientStep) -> object:
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
