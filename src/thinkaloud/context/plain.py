"""Calls in a form that every provider can read: an id that is there and used once, and an object."""

import msgspec

from thinkaloud.canon import SealForm
from thinkaloud.canon.requests import ToolCall
from thinkaloud.context.speech import SentTurn
from thinkaloud.transcript import Block


class PlainCalls:
    """Names the calls of a request; ids that are taken stay taken."""

    def __init__(self) -> None:
        self._used_ids: set[str] = set()

    def reserve(self, call_id: str) -> None:
        """An id goes out as it is."""
        self._used_ids.add(call_id)

    def calls(self, sent_turn: SentTurn, *, signed: bool) -> dict[int, tuple[ToolCall, str]]:
        """The answered calls of a turn by block, each with what became of it."""
        return {block.number: self._call(sent_turn.step, block, signed) for block, _ in sent_turn.calls}

    def _call(self, step: int, block: Block, signed: bool) -> tuple[ToolCall, str]:
        call_id, code = block.call_id, "plain"
        if not call_id or call_id in self._used_ids:
            call_id, code = f"{call_id or 'call'}_{step}_{block.number}", "renamed"
        self._used_ids.add(call_id)
        arguments = block.text or "{}"
        if not _encodes_object(arguments):
            arguments, code = msgspec.json.encode({"input": arguments}).decode(), "wrapped"
        return ToolCall(call_id, block.name, arguments, _signature(block) if signed else ""), code


def _encodes_object(text: str) -> bool:
    try:
        msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError:
        return False
    return True


def _signature(block: Block) -> str:
    return next((seal.payload for seal in block.seals if seal.form is SealForm.SIGNATURE), "")
