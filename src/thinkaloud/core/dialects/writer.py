"""Writes the events of a turn as a response, for clients that speak a dialect: the opposite of `reader`.

A writer is given each event with the turn that it led to, and returns the bytes to send. Text cannot be taken
back: what turns out to be thinking after it was written as an answer stays where the client has it, and only
the whole response has it in its place.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import msgspec

from thinkaloud.core.canon import Event, Finish, Kind, TurnFailed
from thinkaloud.core.dialects.relay import RelayRules
from thinkaloud.core.transcript import Block, Ending, Turn
from thinkaloud.core.transcript.turn import SEPARATOR, OwnReplies

THOUGHT_REFERENCE = "thinkaloud."
"""The start of the opaque text that stands for a thought. Clients send it back, providers never get it."""

SSE_DONE = b"data: [DONE]\n\n"
"""The last event of a stream, where a dialect has one that is not JSON."""

encode_json = msgspec.json.Encoder().encode


class ResponseHead(msgspec.Struct, frozen=True, kw_only=True):
    """What all parts of one response have in common."""

    turn: str
    """The id of the turn. The ids of the response, its items and its thoughts are made from it."""
    model: str
    """The model as the client named it."""
    created_s: int = 0
    include_usage: bool = True
    """Whether a stream ends with the counts, where the client may choose."""
    reasoning_fields: tuple[str, ...] = ("reasoning_content",)
    """The fields for thoughts, where the dialect has no standard one."""
    text_tools: frozenset[str] = frozenset()
    """The names of tools whose calls are given as plain text: the field `input` of the arguments."""
    client_ids: Mapping[str, str] = {}
    """Ids of the client that the response repeats: `message`, `thread` and `run`."""


class ErrorReport(NamedTuple):
    """A failure to tell a client about. `status` is the HTTP status it has where nothing was sent before."""

    code: str
    message: str
    status: int = 500
    request_id: str = ""


class StreamWriter(Protocol):
    """Writes one streamed response."""

    def feed(self, event: Event, turn: Turn) -> bytes:
        """Return what to send for an event; `turn` is the turn with the event in it."""

    def keep_alive(self) -> bytes:
        """Return what to send while there is nothing to say."""


class JoinedTexts:
    """The texts of a turn for a format with one field for all thoughts and one for all answers.

    A blank line separates two thoughts, and the answers of two replies.
    """

    def __init__(self) -> None:
        self._own_replies = OwnReplies()
        self._latest_by_kind: dict[Kind, int] = {}

    def append(self, turn: Turn, block: Block, text: str) -> str:
        """Return more text of a block, after a blank line if it is the first of a thought or of a reply."""
        part = block.number
        if block.kind is not Kind.REASONING:
            part = self._own_replies.index_of(turn, block)
        latest = self._latest_by_kind.setdefault(block.kind, part)
        self._latest_by_kind[block.kind] = part
        return text if part == latest else SEPARATOR + text

    def append_all(self, turn: Turn, blocks: list[Block], kind: Kind) -> str:
        """Return the texts of all blocks of a kind."""
        shown = [block for block in blocks if block.kind is kind and block.pieces]
        return "".join(self.append(turn, block, block.text) for block in shown)


class ResponseFormat(NamedTuple):
    """How a dialect writes responses."""

    make_writer: Callable[[ResponseHead], StreamWriter]
    write_whole: Callable[[Turn, ResponseHead], bytes] | None
    """None if the format knows only streams."""
    error_body: Callable[[ErrorReport], dict[str, object]]
    stream_type: str = "text/event-stream; charset=utf-8"
    """The media type of a stream; a whole response is JSON."""
    stream_headers: tuple[tuple[bytes, bytes], ...] = ()
    relay_rules: RelayRules | None = None
    """When the bytes of a provider can be the response; None if no provider speaks the dialect."""


def thought_reference(head: ResponseHead, block: Block) -> str:
    """Return the opaque text by which a thought is found again."""
    return f"{THOUGHT_REFERENCE}{head.turn}.{block.number}"


def referenced_turn(text: str) -> str:
    """Return the id of the turn whose thought the opaque text stands for; empty if the text is not ours."""
    if not text.startswith(THOUGHT_REFERENCE):
        return ""
    turn, dot, number = text.removeprefix(THOUGHT_REFERENCE).rpartition(".")
    return turn if dot and number.isdecimal() else ""


def call_id(turn: str, block: Block) -> str:
    """Return the id of a call, which clients require; a provider without ids gets ones made from the turn."""
    return block.call_id or f"call_{turn}_{block.number}"


def shown_blocks(turn: Turn) -> list[Block]:
    """Return the blocks that a client is given, of the turn itself."""
    return [block for block in turn.own_blocks() if sent_to_client(block)]


def sent_to_client(block: Block) -> bool:
    """Return whether a client is given a block: a thought, text, or a call that the client is to run."""
    match block.kind:
        case Kind.REASONING:
            return bool(block.pieces or block.seals)
        case Kind.TEXT:
            return bool(block.pieces)
    return block.kind is Kind.TOOL_CALL and block.result is None


_FINISH_BY_ENDING = {
    Ending.CALLED_TOOLS: Finish.TOOL_CALLS,
    Ending.CUT_OFF: Finish.LENGTH,
    Ending.REFUSED: Finish.REFUSAL,
}


def finish_of(turn: Turn) -> Finish:
    """Return why an ended turn ended, as far as clients tell endings apart."""
    return Finish.STOP if turn.outcome is None else _FINISH_BY_ENDING.get(turn.outcome.ending, Finish.STOP)


def arguments_object(arguments: str) -> dict[str, object]:
    """Return the arguments of a call as a JSON object; arguments that are none are given as `input`."""
    try:
        return msgspec.json.decode(arguments or "{}", type=dict[str, object])
    except msgspec.MsgspecError:
        return {"input": arguments}


def openai_error(error: ErrorReport) -> dict[str, object]:
    """Return the body that tells OpenAI's clients about a failure."""
    kind = "invalid_request_error" if 400 <= error.status < 500 else "server_error"
    return {"error": {"message": error.message, "type": kind, "param": None, "code": error.code}}


def request_id(turn: str) -> str:
    """Return the id of the request that a turn answers."""
    return f"req_{turn}"


def failure_report(failure: TurnFailed, head: ResponseHead) -> ErrorReport:
    """Return what to tell about a turn that failed."""
    return ErrorReport(failure.code, failure.message, failure.status or 500, request_id(head.turn))
