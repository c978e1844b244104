"""The state of a turn: ordered blocks, usage and outcome.

Only `transcript.apply` writes to these objects; all other code reads. Text is stored in the pieces in which
it arrived and joined on access, so that appending to a block never copies its text.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from thinkaloud.core.canon import (
    BlockGrew,
    BlockStarted,
    Event,
    Finish,
    Kind,
    NoticeGiven,
    Provenance,
    Seal,
    Usage,
    Wording,
)
from thinkaloud.core.canon.requests import Image, ToolMessage

SEPARATOR = "\n\n"
"""The blank line between two thoughts, and between the texts of two replies, where both are one text."""
PAUSE_TURN = "pause_turn"
"""Anthropic's stop reason while its server tools still run; it continues when the reply is sent back."""
CALL_KINDS = (Kind.TOOL_CALL, Kind.ASSISTANT_CALL)


class BlockStatus(StrEnum):
    """The status of a block."""

    RUNNING = "running"
    DONE = "done"
    ERROR = "error"
    INTERRUPTED = "interrupted"


class Approval(StrEnum):
    """Whether a person approved a call."""

    NOT_ASKED = ""
    ASKED = "asked"
    GRANTED = "granted"
    DENIED = "denied"


class Ending(StrEnum):
    """How a turn ended."""

    ANSWERED = "answered"
    REASONING_ONLY = "reasoning_only"
    CALLED_TOOLS = "called_tools"
    EMPTY = "empty"
    CUT_OFF = "cut_off"
    REFUSED = "refused"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a turn ended and why: `cause` is a code for programs, `message` is text for people."""

    ending: Ending
    cause: str = ""
    message: str = ""
    wording: Wording | None = None
    """The message as a template with fields, for translation; None if the message has no fields."""


class Block(msgspec.Struct):
    """One reasoning, text, tool call or assistant call block; `number` is its position in the turn."""

    number: int
    kind: Kind
    name: str = ""
    call_id: str = ""
    assistant_id: str = ""
    parent: int | None = None
    provenance: Provenance = Provenance.UNKNOWN
    status: BlockStatus = BlockStatus.RUNNING
    seals: list[Seal] = msgspec.field(default_factory=list)
    result: str | None = None
    error: str = ""
    images: tuple[Image, ...] = ()
    """Images of the result."""
    started_ms: int | None = None
    ended_ms: int | None = None
    approval: Approval = Approval.NOT_ASKED
    settled_by: str = ""
    description: str = ""
    """What the called tool does, in one line."""
    pieces: list[str] = msgspec.field(default_factory=list)

    @property
    def text(self) -> str:
        """The block's text; the joined text is kept until the block grows again."""
        if len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    @property
    def blank(self) -> bool:
        """Whether the text is empty or white space."""
        return all(not piece or piece.isspace() for piece in self.pieces)  # no copy of a long piece

    @property
    def awaiting_result(self) -> bool:
        """Whether the block is a complete call without a result."""
        return self.kind in CALL_KINDS and self.result is None and self.status is BlockStatus.DONE

    @property
    def duration_ms(self) -> int | None:
        """The time from start to end; None while the block runs or if a timestamp is missing."""
        if self.started_ms is None or self.ended_ms is None:
            return None
        return self.ended_ms - self.started_ms


class Delta(msgspec.Struct, frozen=True):
    """A piece of a thought, of the answer or of the arguments of a call, as it arrives.

    A call begins with a piece without text. Text may turn out to be a thought later: the turn has it right.
    """

    kind: Kind
    text: str
    block: int
    """The number of its block in the turn."""
    name: str = ""
    """The name of the called tool."""


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """One reply in a turn of several replies: see `canon.ReplyEnded`.

    `until` is the number of blocks in the turn when the reply ended; `calls` are the calls of the reply that
    the program running the turn has to execute.
    """

    finish: Finish = Finish.UNKNOWN
    said: str = ""
    message: Seal | None = None
    usage: Usage = Usage()
    dialect: str = ""
    model: str = ""
    provider: str = ""
    prefix: str = ""
    parent: int | None = None
    until: int = 0
    calls: tuple[int, ...] = ()
    ended_ms: int | None = None


class Turn(msgspec.Struct):
    """A turn: the state after folding its entries."""

    dialect: str = ""
    model: str = ""
    blocks: list[Block] = msgspec.field(default_factory=list)
    usage: Usage = msgspec.field(default_factory=Usage)
    outcome: Outcome | None = None
    summary: str = ""
    summary_by: str = ""
    message: Seal | None = None
    notices: list[NoticeGiven] = msgspec.field(default_factory=list)
    replies: list[Reply] = msgspec.field(default_factory=list)
    """The replies in the order in which they ended; empty if the turn is a single reply."""
    seq: int = -1
    started_ms: int | None = None
    ended_ms: int | None = None

    @property
    def live(self) -> bool:
        """Whether the turn has not ended."""
        return self.outcome is None

    @property
    def reasoning(self) -> str:
        """The visible reasoning of the turn's own blocks, concatenated in order."""
        return "".join(block.text for block in self.own_blocks(Kind.REASONING))

    @property
    def answer(self) -> str:
        """The answer text of the turn's own blocks, in order; a blank line separates the replies."""
        own_replies = OwnReplies()
        texts: defaultdict[int, list[str]] = defaultdict(list)
        for block in self.own_blocks(Kind.TEXT):
            if text := block.text:
                texts[own_replies.index_of(self, block)].append(text)
        return SEPARATOR.join("".join(reply_texts) for reply_texts in texts.values())

    @property
    def own_replies(self) -> list[Reply]:
        """The turn's own replies, without those of its assistants."""
        return [reply for reply in self.replies if reply.parent is None]

    @property
    def calls(self) -> list[Block]:
        """The calls that wait for a result, which the program that got this turn has to run."""
        calls = self.own_blocks(Kind.TOOL_CALL)
        if self.replies:
            calls = [self.blocks[number] for reply in self.own_replies for number in reply.calls]
        return [call for call in calls if call.awaiting_result]

    def to_messages(
        self, provider: str, *, model: str = "", results: Mapping[str, str] | Sequence[ToolMessage] = ()
    ) -> list[Any]:
        """Return this turn as messages for the next request, as the SDK of a provider takes them.

        Thoughts and seals are included where that provider wants them back. `results` are those of `calls`,
        by call id; without them, add your own messages for them. `model` is the one to be asked, by default
        the one that answered.
        """
        from thinkaloud.core.export.messages import write_messages

        return write_messages(self, provider, model=model, results=results)

    def __repr__(self) -> str:
        ending = "live" if self.outcome is None else self.outcome.ending.value
        name = f" of {self.model}" if self.model else ""
        sizes = f"{len(self.reasoning)} characters of thinking, {len(self.answer)} of answer"
        return f"<Turn{name}: {ending}, {len(self.blocks)} blocks, {sizes}>"

    def _repr_html_(self) -> str:
        from thinkaloud.core.export.displays import turn_html

        return turn_html(self)

    def _repr_markdown_(self) -> str:
        from thinkaloud.core.export.displays import turn_markdown

        return turn_markdown(self)

    def __rich__(self) -> object:
        from thinkaloud.core.export.displays import turn_rich

        return turn_rich(self)

    def own_blocks(self, *kinds: Kind) -> list[Block]:
        """Return the turn's own blocks, without those of its assistants; only of `kinds` if any are given."""
        own = [block for block in self.blocks if block.parent is None]
        if not kinds:
            return own
        return [block for block in own if block.kind in kinds]

    def blocks_of(self, reply: Reply) -> list[Block]:
        """Return the blocks of one reply, in order."""
        start = 0
        for earlier_reply in self.replies:
            if earlier_reply is reply:  # not ==: a reply without blocks may equal the reply before it
                break
            start = earlier_reply.until if earlier_reply.parent == reply.parent else start
        return [block for block in self.blocks[start : reply.until] if block.parent == reply.parent]

    def blocks_since_last_reply(self, parent: int | None) -> list[Block]:
        """Return the blocks of the reply that has not ended yet, of the turn itself or of an assistant."""
        start = 0 if parent is None else parent + 1
        # From the end: looking through all replies would take the longer, the more there are.
        for reply in reversed(self.replies):
            if reply.until <= start:
                break
            if reply.parent == parent:
                start = reply.until
                break
        return [block for block in self.blocks[start:] if block.parent == parent]

    def within(self, number: int | None, call: int) -> bool:
        """Return whether a block is the call `call` or nested anywhere below it."""
        while number is not None and number != call:
            number = self.blocks[number].parent
        return number is not None

    def children(self, block: Block) -> list[Block]:
        """Return the blocks of an assistant call, in order."""
        return [child for child in self.blocks if child.parent == block.number]


def delta_of(turn: Turn, event: Event) -> Delta | None:
    """Return what a program shows of an event that was applied to the turn; None if it is nothing new."""
    if isinstance(event, BlockGrew):
        block = turn.blocks[event.block]
        return Delta(block.kind, event.text, event.block, block.name)
    if isinstance(event, BlockStarted) and event.kind is Kind.TOOL_CALL:
        return Delta(event.kind, "", event.block, event.name)
    return None


class OwnReplies:
    """Finds to which of a turn's own replies a block belongs.

    It is kept while the turn grows and reads each reply once: looking for the ends of replies with every
    delta would take the longer, the more replies there are.
    """

    def __init__(self) -> None:
        self._read_count = 0
        self._ends: list[int] = []

    def index_of(self, turn: Turn, block: Block) -> int:
        """Return the index of the reply, for one of the turn's own blocks."""
        new_replies = turn.replies[self._read_count :]
        self._read_count += len(new_replies)
        self._ends += [reply.until for reply in new_replies if reply.parent is None]
        return bisect_right(self._ends, block.number)
