"""Renders a turn as plain text: thoughts as `[think] ` lines, the answer verbatim.

`PlainRenderer` renders events while they arrive, `plain_lines` a turn that is already there. Both give the
same text, in pieces with a channel each, so that thoughts and answer can go to different streams.
"""

from collections import defaultdict
from collections.abc import Iterator
from enum import StrEnum
from itertools import groupby

from thinkaloud.core.canon import (
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
from thinkaloud.core.transcript import CALL_KINDS, Block, BlockStatus, Turn
from thinkaloud.core.transcript.turn import SEPARATOR, OwnReplies
from thinkaloud.core.view.labels import TOOL_ICON, call_name, notice, notice_text
from thinkaloud.core.view.state import block_time, hidden_reason, visible
from thinkaloud.core.view.text import one_line
from thinkaloud.core.view.thinking import CALL_COLUMNS, call_input, thought_text
from thinkaloud.core.view.words import Words

THINK_PREFIX = "[think] "
INDENT = "  "
MAX_INDENT_LEVELS = 8
"""Levels of indentation; deeper steps stay at this level, so that lines do not run off the screen."""

ASSISTANT_ICON = "🤖"
RESULT_ARROW = "→"


class Channel(StrEnum):
    """The channel of a piece of text."""

    REASONING = "reasoning"
    ANSWER = "answer"
    NOTICE = "notice"


class PlainRenderer:
    """Renders one turn event by event; only the answer may leave its last line open."""

    def __init__(self, locale: str = "en-US", *, durations: bool = False) -> None:
        self._words = Words(locale)
        self._durations = durations
        self._pieces: list[tuple[Channel, str]] = []
        self._announced_blocks: set[int] = set()
        self._open_line_block: int | None = None  # the block whose line is open
        # White space of each block that is held back until a word follows, so that no blank line is printed.
        self._pending_space: defaultdict[int, list[str]] = defaultdict(list)
        self._own_replies = OwnReplies()
        self._last_reply_index = -1  # the last reply of the turn itself that printed answer text
        self._last_line_block: int | None = None  # the block of the last complete line

    def feed(self, turn: Turn, event: Event) -> list[tuple[Channel, str]]:
        """Return the pieces of text that an event adds; `turn` already includes the event."""
        self._pieces = []
        match event:
            case BlockGrew():
                self._add_text(turn, turn.blocks[event.block], event.text)
            case BlockReclassified():
                block = turn.blocks[event.block if event.into is None else event.into]
                self._add_text(turn, block, block.text)
            case BlockEnded():
                self._end_block(turn, turn.blocks[event.block])
                self._add_duration(turn, turn.blocks[event.block])
            case BlockSealed() if turn.blocks[event.block].status is not BlockStatus.RUNNING:
                self._end_block(turn, turn.blocks[event.block])
            case ToolFinished():
                self._add_result(turn, turn.blocks[event.block])
            case NoticeGiven():
                self._add_notice(notice_text(event, self._words.locale) or event.code)
            case ApprovalAsked():
                self._end_line()  # the approval question starts on a line of its own
            case TurnEnded() | TurnFailed():
                self._end_line()
                self._add_notice(notice(turn, self._words.locale))
        return self._pieces

    def _add_text(self, turn: Turn, block: Block, text: str) -> None:
        if block.kind in CALL_KINDS or not text:
            return
        self._announce_calls(turn, block.parent)
        if block.kind is Kind.TEXT and block.parent is None:
            self._add_answer(turn, block, text)
        else:
            self._add_thinking(turn, block, text)

    def _add_answer(self, turn: Turn, block: Block, text: str) -> None:
        self._end_line()
        reply_index = self._own_replies.index_of(turn, block)
        if 0 <= self._last_reply_index < reply_index:
            text = SEPARATOR + text
        self._last_reply_index = reply_index
        self._add_piece(Channel.ANSWER, text)

    def _add_thinking(self, turn: Turn, block: Block, text: str) -> None:
        starts_line = self._open_line_block != block.number
        pending = self._pending_space[block.number]
        pending.append(text)
        if not text.strip(None if starts_line else "\r\n"):
            return
        text = "".join(pending)
        printable = text.rstrip("\r\n")
        pending[:] = [text[len(printable) :]]
        prefix = _line_prefix(turn, block)
        if starts_line:
            self._end_line()
            self._open_line_block = block.number
            printable = prefix + printable.lstrip("\r\n")
        self._add_piece(Channel.REASONING, printable.replace("\r\n", "\n").replace("\n", f"\n{prefix}"))

    def _end_block(self, turn: Turn, block: Block) -> None:
        if block.kind in CALL_KINDS:
            self._announce_calls(turn, block.number)
        elif (
            block.kind is Kind.REASONING
            and hidden_reason(block)
            and block.number not in self._announced_blocks
        ):
            self._announce_calls(turn, block.parent)
            self._announced_blocks.add(block.number)
            self._add_line(turn, block, thought_text(self._words, block))

    def _add_duration(self, turn: Turn, block: Block) -> None:
        """Add the duration of one of the turn's own thoughts, if it is known and durations are on."""
        if (
            not self._durations
            or block.kind is not Kind.REASONING
            or block.parent is not None
            or not visible(block)
        ):
            return
        if (time := block_time(block)) is not None:
            duration = self._words.duration(time.ms)
            self._add_line(turn, block, self._words.text("ai.thinking.complete", duration=duration))

    def _add_result(self, turn: Turn, block: Block) -> None:
        self._announce_calls(turn, block.number)
        result = block.error or block.result
        if _result_already_shown(turn, block):
            self._end_line()
        elif result:
            needs_name = block.kind is Kind.TOOL_CALL and self._last_line_block != block.number
            name_prefix = f"{call_name(self._words, block)}: " if needs_name else ""
            self._add_line(turn, block, f"{RESULT_ARROW} {name_prefix}{one_line(result, CALL_COLUMNS)}")

    def _add_notice(self, text: str) -> None:
        if text:
            self._end_line()
            self._add_piece(Channel.NOTICE, f"{text}\n")

    def _announce_calls(self, turn: Turn, number: int | None) -> None:
        """Print the line of each enclosing call that was not printed yet, the outermost first."""
        calls: list[Block] = []
        while number is not None and number not in self._announced_blocks:
            self._announced_blocks.add(number)
            calls.append(turn.blocks[number])
            number = turn.blocks[number].parent
        for call in reversed(calls):
            self._add_line(turn, call, self._call_text(call))

    def _call_text(self, call: Block) -> str:
        icon = TOOL_ICON if call.kind is Kind.TOOL_CALL else ASSISTANT_ICON
        name = f"{icon} {call_name(self._words, call)}"
        line, _ = call_input(call.text)
        return f"{name}: {line}" if line else name

    def _add_line(self, turn: Turn, block: Block, text: str) -> None:
        self._end_line()
        self._add_piece(Channel.REASONING, f"{_line_prefix(turn, block)}{text}\n")
        self._last_line_block = block.number

    def _add_piece(self, channel: Channel, text: str) -> None:
        self._pieces.append((channel, text))
        self._last_line_block = None

    def _end_line(self) -> None:
        if self._open_line_block is not None:
            self._pending_space.pop(self._open_line_block, None)
            self._pieces.append((Channel.REASONING, "\n"))
            self._open_line_block = None


def plain_lines(turn: Turn, locale: str = "en-US") -> list[tuple[Channel, str]]:
    """Return the turn as pieces: one per line of thinking, one per section of the answer, then the notice."""
    renderer = PlainRenderer(locale)
    pieces: list[tuple[Channel, str]] = []
    for event in _replay_events(turn):
        pieces += renderer.feed(turn, event)
    lines: list[tuple[Channel, str]] = []
    for channel, group in groupby(pieces, key=lambda piece: piece[0]):
        text = "".join(piece_text for _, piece_text in group)
        group_lines = [text] if channel is Channel.ANSWER else text.removesuffix("\n").split("\n")
        lines += [(channel, line) for line in group_lines]
    return lines


def _replay_events(turn: Turn) -> Iterator[Event]:
    """Yield events that rebuild the turn in order; a call's result follows the last block below the call."""
    finished_calls = _finished_calls_by_last_block(turn)
    for block in turn.blocks:
        yield BlockGrew(block.number, block.text)
        yield BlockEnded(block.number)
        for call in finished_calls[block.number]:
            yield ToolFinished(call.number, call.result or "", call.error)
    yield from turn.notices
    if turn.outcome is not None:
        yield TurnEnded()


def _finished_calls_by_last_block(turn: Turn) -> dict[int, list[Block]]:
    """Return the finished calls by the last block that belongs to them, the innermost first."""
    last_block = list(range(len(turn.blocks)))
    calls: defaultdict[int, list[Block]] = defaultdict(list)
    for block in reversed(turn.blocks):
        if block.parent is not None:
            last_block[block.parent] = max(last_block[block.parent], last_block[block.number])
        if block.result is not None:
            calls[last_block[block.number]].append(block)
    return calls


def _result_already_shown(turn: Turn, call: Block) -> bool:
    """Return whether an assistant's result is the end of its text, which was printed while it arrived."""
    if call.kind is not Kind.ASSISTANT_CALL or call.error or not call.result:
        return False
    text = "".join(child.text for child in turn.children(call) if child.kind is Kind.TEXT)
    return text.endswith(call.result)


def _line_prefix(turn: Turn, block: Block) -> str:
    depth, parent = 0, block.parent
    while parent is not None and depth < MAX_INDENT_LEVELS:
        depth, parent = depth + 1, turn.blocks[parent].parent
    return THINK_PREFIX + INDENT * depth
