"""Calls in a form that every provider can read: an id that is there and used once, and an object."""

import msgspec

from thinkaloud.canon import SealForm
from thinkaloud.canon.requests import Call
from thinkaloud.context.speech import Speech
from thinkaloud.transcript import Block


class Plain:
    """Names the calls of a request; ids that are taken stay taken."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def keep(self, call_id: str) -> None:
        """An id goes out as it is."""
        self._taken.add(call_id)

    def calls(self, speech: Speech, *, signed: bool) -> dict[int, tuple[Call, str]]:
        """The answered calls of a turn by block, each with what became of it."""
        return {block.number: self._call(speech.step, block, signed) for block, _ in speech.calls}

    def _call(self, step: int, block: Block, signed: bool) -> tuple[Call, str]:
        call_id, code = block.call_id, "plain"
        if not call_id or call_id in self._taken:
            call_id, code = f"{call_id or 'call'}_{step}_{block.number}", "renamed"
        self._taken.add(call_id)
        arguments = block.text or "{}"
        if not _is_object(arguments):
            arguments, code = msgspec.json.encode({"input": arguments}).decode(), "wrapped"
        return Call(call_id, block.name, arguments, _signature(block) if signed else ""), code


def _is_object(text: str) -> bool:
    try:
        msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError:
        return False
    return True


def _signature(block: Block) -> str:
    return next((seal.payload for seal in block.seals if seal.form is SealForm.SIGNATURE), "")
