"""A turn as text without any drawing: thoughts as marked lines, the answer verbatim.

`PlainTeller` tells it while it happens, `plain` when it is there; both in the same words, each piece with
the channel it belongs to, so that thoughts can go to one place and the answer to another.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from enum import StrEnum
from itertools import groupby

from thinkaloud.canon import (
    ApprovalAsked,
    BlockEnded,
    BlockGrew,
    BlockReclassified,
    BlockSealed,
    Event,
    Kind,
    NoticeGiven,
    ToolFinished,
    TurnEnded,
    TurnFailed,
)
from thinkaloud.transcript import CALLS, Block, Status, Turn
from thinkaloud.transcript.turn import BETWEEN_REPLIES
from thinkaloud.view.graphemes import one_line
from thinkaloud.view.labels import TOOL_ICON
from thinkaloud.view.notices import notice, notice_text
from thinkaloud.view.standing import shown, unseen
from thinkaloud.view.steps import LINE_COLUMNS, asked, name_of, thought_text
from thinkaloud.view.times import block_time
from thinkaloud.view.words import Words

PREFIX = "[think] "
INDENT = "  "
DEEPEST = 8
"""Levels of indentation; what is nested deeper stays at this one, so that lines stay short."""

ASSISTANT_ICON = "🤖"
CAME_BACK = "→"


class Channel(StrEnum):
    """Where a piece of text belongs."""

    REASONING = "reasoning"
    ANSWER = "answer"
    NOTICE = "notice"


class PlainTeller:
    """Tells one turn piece by piece; only an answer may leave its last line open."""

    def __init__(self, locale: str = "en-US", *, labels: bool = False) -> None:
        self._words = Words(locale)
        self._labels = labels
        self._said: list[tuple[Channel, str]] = []
        self._announced: set[int] = set()
        self._speaker: int | None = None  # the block whose line is open
        self._held: defaultdict[int, list[str]] = defaultdict(list)  # white space that waits for a word
        self._answered = -1  # the reply of the turn itself that spoke last
        self._newest: int | None = None  # the block that the line told last is about

    def feed(self, turn: Turn, event: Event) -> list[tuple[Channel, str]]:
        """What an event adds to the telling; `turn` is the turn after it."""
        self._said = []
        match event:
            case BlockGrew():
                self._grew(turn, turn.blocks[event.block], event.text)
            case BlockReclassified():
                moved = turn.blocks[event.block if event.into is None else event.into]
                self._grew(turn, moved, moved.text)
            case BlockEnded():
                self._ended(turn, turn.blocks[event.block])
                self._label(turn, turn.blocks[event.block])
            case BlockSealed() if turn.blocks[event.block].status is not Status.RUNNING:
                self._ended(turn, turn.blocks[event.block])
            case ToolFinished():
                self._came_back(turn, turn.blocks[event.block])
            case NoticeGiven():
                self._notice(notice_text(event, self._words.locale) or event.code)
            case ApprovalAsked():
                self._end_line()  # whoever asks begins a line of their own
            case TurnEnded() | TurnFailed():
                self._end_line()
                self._notice(notice(turn, self._words.locale))
        return self._said

    def _grew(self, turn: Turn, block: Block, text: str) -> None:
        if block.kind in CALLS or not text:
            return
        self._announce(turn, block.parent)
        if block.kind is Kind.TEXT and block.parent is None:
            self._answer(turn, block, text)
        else:
            self._murmur(turn, block, text)

    def _answer(self, turn: Turn, block: Block, text: str) -> None:
        self._end_line()
        reply = bisect_right([one.until for one in turn.replies if one.parent is None], block.number)
        if 0 <= self._answered < reply:
            text = BETWEEN_REPLIES + text
        self._answered = reply
        self._say(Channel.ANSWER, text)

    def _murmur(self, turn: Turn, block: Block, text: str) -> None:
        fresh = self._speaker != block.number
        held = self._held[block.number]
        held.append(text)
        if not text.strip(None if fresh else "\r\n"):
            return
        text = "".join(held)
        spoken = text.rstrip("\r\n")
        held[:] = [text[len(spoken) :]]
        margin = _margin(turn, block)
        if fresh:
            self._end_line()
            self._speaker, spoken = block.number, margin + spoken.lstrip("\r\n")
        self._say(Channel.REASONING, spoken.replace("\r\n", "\n").replace("\n", f"\n{margin}"))

    def _ended(self, turn: Turn, block: Block) -> None:
        if block.kind in CALLS:
            self._announce(turn, block.number)
        elif block.kind is Kind.REASONING and unseen(block) and block.number not in self._announced:
            self._announce(turn, block.parent)
            self._announced.add(block.number)
            self._line(turn, block, thought_text(self._words, block))

    def _label(self, turn: Turn, block: Block) -> None:
        """Say how long one of the turn's own thoughts took, where that is known and wanted."""
        if (
            not self._labels
            or block.kind is not Kind.REASONING
            or block.parent is not None
            or not shown(block)
        ):
            return
        if (time := block_time(block)) is not None:
            duration = self._words.duration(time.ms)
            self._line(turn, block, self._words.say("ai.thinking.complete", duration=duration))

    def _came_back(self, turn: Turn, block: Block) -> None:
        self._announce(turn, block.number)
        back = block.error or block.result
        if _told_already(turn, block):
            self._end_line()
        elif back:
            apart = block.kind is Kind.TOOL_CALL and self._newest != block.number
            whose = f"{name_of(self._words, block)}: " if apart else ""
            self._line(turn, block, f"{CAME_BACK} {whose}{one_line(back, LINE_COLUMNS)}")

    def _notice(self, text: str) -> None:
        if text:
            self._end_line()
            self._say(Channel.NOTICE, f"{text}\n")

    def _announce(self, turn: Turn, number: int | None) -> None:
        """Say who was called before saying what came of it, the outermost call first."""
        calls: list[Block] = []
        while number is not None and number not in self._announced:
            self._announced.add(number)
            calls.append(turn.blocks[number])
            number = turn.blocks[number].parent
        for call in reversed(calls):
            self._line(turn, call, self._call(call))

    def _call(self, call: Block) -> str:
        icon = TOOL_ICON if call.kind is Kind.TOOL_CALL else ASSISTANT_ICON
        task = asked(call)
        return f"{icon} {name_of(self._words, call)}" + (f": {task}" if task else "")

    def _line(self, turn: Turn, block: Block, text: str) -> None:
        self._end_line()
        self._say(Channel.REASONING, f"{_margin(turn, block)}{text}\n")
        self._newest = block.number

    def _say(self, channel: Channel, text: str) -> None:
        self._said.append((channel, text))
        self._newest = None

    def _end_line(self) -> None:
        if self._speaker is not None:
            self._held.pop(self._speaker, None)
            self._said.append((Channel.REASONING, "\n"))
            self._speaker = None


def plain(turn: Turn, locale: str = "en-US") -> list[tuple[Channel, str]]:
    """The turn so far: one entry per line of thinking, one per stretch of answer, a notice at the end."""
    teller = PlainTeller(locale)
    pieces = [said for event in _retold(turn) for said in teller.feed(turn, event)]
    lines: list[tuple[Channel, str]] = []
    for channel, run in groupby(pieces, key=lambda piece: piece[0]):
        text = "".join(piece for _, piece in run)
        whole = [text] if channel is Channel.ANSWER else text.removesuffix("\n").split("\n")
        lines += [(channel, line) for line in whole]
    return lines


def _retold(turn: Turn) -> Iterator[Event]:
    """Events that tell the turn in order, with what a call came back with after the last thing it led to."""
    returned = _returned(turn)
    for block in turn.blocks:
        yield BlockGrew(block.number, block.text)
        yield BlockEnded(block.number)
        for call in returned[block.number]:
            yield ToolFinished(call.number, call.result or "", call.error)
    yield from turn.notices
    if turn.outcome is not None:
        yield TurnEnded()


def _returned(turn: Turn) -> dict[int, list[Block]]:
    """The calls that came back, by the last block that belongs to them, the innermost first."""
    last = list(range(len(turn.blocks)))
    calls: defaultdict[int, list[Block]] = defaultdict(list)
    for block in reversed(turn.blocks):
        if block.parent is not None:
            last[block.parent] = max(last[block.parent], last[block.number])
        if block.result is not None:
            calls[last[block.number]].append(block)
    return calls


def _told_already(turn: Turn, call: Block) -> bool:
    """Whether an assistant came back with its last words, which were told while it said them."""
    if call.kind is not Kind.ASSISTANT_CALL or call.error or not call.result:
        return False
    said = "".join(child.text for child in turn.children(call) if child.kind is Kind.TEXT)
    return said.endswith(call.result)


def _margin(turn: Turn, block: Block) -> str:
    depth, parent = 0, block.parent
    while parent is not None and depth < DEEPEST:
        depth, parent = depth + 1, turn.blocks[parent].parent
    return PREFIX + INDENT * depth
