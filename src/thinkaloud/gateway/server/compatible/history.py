"""Finds the stored turns behind the history that a client sends.

A client of a compatible endpoint keeps the conversation itself and sends all of it with every request, often
without its thoughts. Each request is a turn here, stored with a fingerprint of the history it answered. So
the answers in a client's history are found again, whole, with everything their provider demands back. An
answer counts as found only if its text and calls are the ones that were given; one that the client changed,
or that came from elsewhere, is taken as the client has it.
"""

import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from thinkaloud.core.canon import Kind
from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.core.dialects.client_request import ClientAnswer, ClientStep
from thinkaloud.core.dialects.writer import call_id, referenced_turn
from thinkaloud.core.export.client_answers import answer_of, gave, normalized
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
    return hashlib.sha256(fingerprint + _encode(normalized(step))).digest()


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
        fitting = (found for found in candidates if found and gave(found.turn, exchange.answer))
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
