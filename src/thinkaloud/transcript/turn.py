"""A turn as it stands after some entries: ordered blocks, usage, and how it ended.

Only `transcript.apply` writes to these; everyone else reads. Text is kept in the pieces it came in
and joined when somebody asks, so that growing a block never copies what is there.
"""

from bisect import bisect_right
from enum import StrEnum

import msgspec

from thinkaloud.canon import Finish, Kind, NoticeGiven, Provenance, Seal, Usage

REPLY_SEPARATOR = "\n\n"
PAUSE_TURN = "pause_turn"
"""Said at the end of a reply: the provider is still at its own tools, and goes on when it gets this back."""
CALL_KINDS = (Kind.TOOL_CALL, Kind.ASSISTANT_CALL)


class BlockStatus(StrEnum):
    """Where a block stands."""

    RUNNING = "running"
    DONE = "done"
    ERROR = "error"
    INTERRUPTED = "interrupted"


class Approval(StrEnum):
    """Whether a person let a call run."""

    NOT_ASKED = ""
    ASKED = "asked"
    GRANTED = "granted"
    DENIED = "denied"


class Ending(StrEnum):
    """How a turn came out."""

    ANSWERED = "answered"
    REASONING_ONLY = "reasoning_only"
    CALLED_TOOLS = "called_tools"
    EMPTY = "empty"
    CUT_OFF = "cut_off"
    REFUSED = "refused"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a turn came out and why: `cause` is one word to branch on, `message` is for people."""

    ending: Ending
    cause: str = ""
    message: str = ""


class Block(msgspec.Struct):
    """One thought, text, tool call or assistant call, in the order it began."""

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
    started_ms: int | None = None
    ended_ms: int | None = None
    approval: Approval = Approval.NOT_ASKED
    settled_by: str = ""
    pieces: list[str] = msgspec.field(default_factory=list)

    @property
    def text(self) -> str:
        """All of the block's text; joined once and kept until it grows again."""
        if len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    @property
    def blank(self) -> bool:
        """Whether there is nothing in it that a person could read."""
        return not any(piece.strip() for piece in self.pieces)

    @property
    def awaiting_result(self) -> bool:
        """Whether it is a call that was made and has not come back."""
        return self.kind in CALL_KINDS and self.result is None and self.status is BlockStatus.DONE

    @property
    def duration_ms(self) -> int | None:
        """From its first stamp to its last; None while it runs or where stamps are missing."""
        if self.started_ms is None or self.ended_ms is None:
            return None
        return self.ended_ms - self.started_ms


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of the replies that make up a turn: see `canon.ReplyEnded`.

    `until` is how many blocks the turn had when it ended; `calls` are those of its calls that were left to
    whoever runs the turn.
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
    """The fold of a turn's entries."""

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
    """In the order they ended; none in a turn of a single reply, which is the turn itself."""
    seq: int = -1
    started_ms: int | None = None
    ended_ms: int | None = None

    @property
    def live(self) -> bool:
        """Whether more can come."""
        return self.outcome is None

    @property
    def reasoning(self) -> str:
        """Every visible thought of the turn itself, in order, with nothing added in between."""
        return "".join(block.text for block in self.own_blocks(Kind.REASONING))

    @property
    def answer(self) -> str:
        """Every answer text of the turn itself, in order; a blank line parts one reply's from the next's."""
        reply_ends = [reply.until for reply in self.replies if reply.parent is None]
        texts: dict[int, str] = {}
        for block in self.own_blocks(Kind.TEXT):
            reply_index = bisect_right(reply_ends, block.number)
            texts[reply_index] = texts.get(reply_index, "") + block.text
        return REPLY_SEPARATOR.join(text for text in texts.values() if text)

    def own_blocks(self, *kinds: Kind) -> list[Block]:
        """The turn's own blocks, without those of its assistants; only of these kinds if any are named."""
        return [block for block in self.blocks if block.parent is None and (not kinds or block.kind in kinds)]

    def blocks_of(self, reply: Reply) -> list[Block]:
        """What one of the turn's replies thought, called and said, in order."""
        start = 0
        for earlier_reply in self.replies:
            if earlier_reply is reply:  # one without blocks may be equal to the one before it
                break
            start = earlier_reply.until if earlier_reply.parent == reply.parent else start
        return [block for block in self.blocks[start : reply.until] if block.parent == reply.parent]

    def within(self, number: int | None, call: int) -> bool:
        """Whether a block is this call, or hangs anywhere below it."""
        while number is not None and number != call:
            number = self.blocks[number].parent
        return number is not None

    def children(self, block: Block) -> list[Block]:
        """What an assistant thought, called and said, in order."""
        return [child for child in self.blocks if child.parent == block.number]
