"""Watchers of a running turn: the model goes round in circles, a budget is nearly used, nothing comes.

A notice is a hint to a person and changes nothing. It is given once for each episode. Text is looked at in
steps of a fixed number of characters, so how it was cut into deltas does not matter; times come in with the
entries. docs/reference/watchers.md says what is noticed, what is not, and how often that was wrong.
"""

import re
from collections import Counter, deque

from thinkaloud.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Kind,
    NoticeGiven,
    ReplyEnded,
    SummaryWritten,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    UsageReported,
)
from thinkaloud.transcript import Turn

SILENT = "silent"
REPEATING = "repeating"
BUDGET_NEARLY_USED = "budget_nearly_used"

STEP_CHARS = 256
"""Characters of a block between one look and the next."""
LONGEST_UNIT = 3_000
"""The longest passage that is recognised when it comes again and again."""
MIN_COPIES = 4
PROSE_CHARS = 1_000
"""How long words must go round before it is a loop: longer than any refrain, a few seconds of a stream."""
DATA_CHARS = 4_000
"""The same for what tables, matrices and lists repeat with good reason: rulers, zeros, markup, single words,
and a few sentences in any order."""
FEW_SENTENCES = 4
CALM_CHARS = 4_000
"""How long a loop must have stopped before another is told of."""
SAME_CALLS = 4
"""Calls in a row with the same name, arguments and result."""
BUDGET_PERCENT = 90
BYTES_PER_TOKEN = 4
"""Only an estimate: UTF-8 makes it hold, roughly, for scripts with a token for every character too."""

_TAIL_CHARS = MIN_COPIES * LONGEST_UNIT
_SENTENCE_END = re.compile(r"[.!?…\n。！？]")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\d_]+")
_BETWEEN_WORDS = re.compile(r"[\W\d_]")
_MARKUP = re.compile(r"[<>{}\[\]|=\\]")
_LETTERS_IN_PROSE = 0.7


class TurnWatcher:
    """Watches one turn. Feed it every entry, once that is applied; ask now and then whether all is silent."""

    def __init__(self, *, silent_s: float = 30, budget_tokens: int | None = None) -> None:
        self._loops: dict[int, LoopWatcher] = {}
        self._calls = _CallWatcher()
        self._budget = _BudgetWatcher(budget_tokens)
        self._silence = _SilenceWatcher(silent_s)

    def feed(self, turn: Turn, entry: Entry) -> list[NoticeGiven]:
        """What there is to notice now that this entry is part of the turn."""
        event = entry.event
        self._silence.feed(turn, event, entry.at_ms)
        notices = self._budget.feed(turn, event)
        if isinstance(event, BlockGrew):  # nearly every entry is this one
            loops = self._loops.get(event.block) or self._loops.setdefault(event.block, LoopWatcher())
            if new_loops := loops.feed(event.text):
                message = "The model seems to be repeating itself."
                notices += [NoticeGiven(REPEATING, message, event.block)] * new_loops
        elif isinstance(event, BlockEnded):
            self._loops.pop(event.block, None)
        elif isinstance(event, ToolFinished):
            notices += self._calls.feed(turn, event)
        return notices

    def silence_notice(self, now_ms: int) -> NoticeGiven | None:
        """A notice when the model has sent nothing for too long, once for each silence.

        Before the first entry the silence is counted from the first time that this is asked.
        """
        return self._silence.notice(now_ms)


class LoopWatcher:
    """A text as it grows, watched for passages that come again and again.

    Two ways to go round are recognised: the same passage over and over, with blanks as they may; and a few
    sentences in any order. A number that changes makes a passage another one: that is how work looks.
    """

    def __init__(self) -> None:
        self._pending: list[str] = []
        self._pending_chars = 0
        self._tail = ""
        self._blanks = 0
        self._sentences = _SentenceWindow()
        self._calm_chars: int | None = None

    def feed(self, text: str) -> int:
        """How many loops were found to have begun."""
        self._pending.append(text)
        self._pending_chars += len(text)
        if self._pending_chars < STEP_CHARS:
            return 0
        text = "".join(self._pending)
        complete_chars = len(text) - len(text) % STEP_CHARS
        self._pending, self._pending_chars = [text[complete_chars:]], len(text) - complete_chars
        return sum(
            self._check_step(text[start : start + STEP_CHARS])
            for start in range(0, complete_chars, STEP_CHARS)
        )

    def _check_step(self, text: str) -> bool:
        """Whether a loop began with this step."""
        self._blanks = self._blanks + STEP_CHARS if text.isspace() else 0
        shuffled = self._sentences.feed(text)
        text = " ".join(f"|{text}|".split())[1:-1]  # each run of blanks is one, at both ends too
        self._tail = (self._tail + (text[1:] if text[0] == self._tail[-1:] == " " else text))[-_TAIL_CHARS:]
        if shuffled or self._blanks >= DATA_CHARS or _ends_in_loop(self._tail):
            new_loop, self._calm_chars = self._calm_chars is None, 0
            return new_loop
        if self._calm_chars is not None:
            self._calm_chars += STEP_CHARS
            if self._calm_chars >= CALM_CHARS:
                self._calm_chars = None
        return False


class _SentenceWindow:
    """The newest sentences of a text, as many as make `DATA_CHARS`."""

    def __init__(self) -> None:
        self._partial = ""
        self._newest: deque[str] = deque()
        self._counts: Counter[str] = Counter()
        self._chars = 0

    def feed(self, text: str) -> bool:
        """Whether they are few that come again and again."""
        *ended, partial = _SENTENCE_END.split(text)
        for sentence in ended:
            if normalized := " ".join((self._partial + sentence).split()):
                self._push(normalized)
            self._partial = ""
        self._partial += partial
        if len(self._partial) > LONGEST_UNIT:
            self._push(self._partial)
            self._partial = ""
        if self._chars < DATA_CHARS or len(self._counts) > FEW_SENTENCES:
            return False
        return len(self._newest) >= MIN_COPIES * len(self._counts) and _mostly_words(" ".join(self._counts))

    def _push(self, sentence: str) -> None:
        self._newest.append(sentence)
        self._counts[sentence] += 1
        self._chars += len(sentence)
        while self._chars - len(self._newest[0]) >= DATA_CHARS:
            oldest = self._newest.popleft()
            self._chars -= len(oldest)
            self._counts[oldest] -= 1
            if not self._counts[oldest]:
                del self._counts[oldest]


def _ends_in_loop(tail: str) -> bool:
    """Whether a text ends with enough copies of one passage: what came since it ended like this before.

    That may be less than the passage, where it has long repetitions inside; then a later look, whose ending
    has something in it that comes only once, sees the whole.
    """
    ending = tail[-STEP_CHARS:]
    previous_start = tail.rfind(ending, max(0, len(tail) - STEP_CHARS - LONGEST_UNIT), len(tail) - 1)
    if previous_start < 0:
        return False
    period = len(tail) - len(ending) - previous_start
    min_chars = PROSE_CHARS if _mostly_words(tail[-period:]) else DATA_CHARS
    chars = max(min_chars, MIN_COPIES * period)
    return len(tail) >= chars and tail[period - chars :] == tail[-chars:-period]


def _mostly_words(unit: str) -> bool:
    """Whether a passage that comes again and again is made of several words, and mostly of words."""
    if _MARKUP.search(unit):
        return False
    if boundary := _BETWEEN_WORDS.search(unit):  # so that no word is cut in two by where the passage begins
        unit = unit[boundary.start() :] + unit[: boundary.start()]
    words = _WORD.findall(unit)
    letters = sum(map(len, words))
    return len(set(words)) > 1 and letters >= _LETTERS_IN_PROSE * (len(unit) - unit.count(" "))


class _CallWatcher:
    """The last call that came back, of the turn itself and of each assistant, and how often in a row."""

    def __init__(self) -> None:
        self._last: dict[int | None, tuple[tuple[str, ...], int]] = {}

    def feed(self, turn: Turn, event: ToolFinished) -> list[NoticeGiven]:
        block = turn.blocks[event.block]
        call = (block.name, block.text, event.result, event.error)
        previous, times = self._last.get(block.parent, (call, 0))
        times = times + 1 if call == previous else 1
        self._last[block.parent] = call, times
        if times != SAME_CALLS:
            return []
        message = f"The model has made the same call {SAME_CALLS} times in a row, with the same result."
        return [NoticeGiven(REPEATING, message, event.block)]


class _BudgetWatcher:
    """Tokens that a reply of the turn itself thought: as reported, or about as many as the text has."""

    def __init__(self, tokens: int | None) -> None:
        self._budget = tokens
        self._reported = 0
        self._unreported = 0

    def feed(self, turn: Turn, event: Event) -> list[NoticeGiven]:
        if self._budget is None:
            return []
        if isinstance(event, BlockGrew):
            block = turn.blocks[event.block]
            if block.kind is Kind.REASONING and block.parent is None:
                self._unreported += len(event.text.encode("utf-8", "replace"))
                return self._check(self._budget)
        elif isinstance(event, UsageReported) and event.usage.reasoning is not None:
            self._reported, self._unreported = event.usage.reasoning, 0
            return self._check(self._budget)
        elif isinstance(event, ReplyEnded) and event.parent is None:
            self._reported = self._unreported = 0  # the next reply has the same budget again
        return []

    def _check(self, budget: int) -> list[NoticeGiven]:
        estimated_tokens = self._unreported // BYTES_PER_TOKEN
        percent = 100 * (self._reported + estimated_tokens) // max(1, budget)
        if percent < BUDGET_PERCENT:
            return []
        self._budget = None
        share = f"About {percent}%" if estimated_tokens else f"{percent}%"
        return [
            NoticeGiven(BUDGET_NEARLY_USED, f"{share} of the thinking budget of {budget:,} tokens is used.")
        ]


class _SilenceWatcher:
    """When the last entry came, and whether the model is the one to be waited for."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._last_ms: int | None = None
        self._notice_given = False
        self._ended = False
        self._running_tools: dict[int, int | None] = {}

    def feed(self, turn: Turn, event: Event, at_ms: int | None) -> None:
        if not isinstance(event, BlockGrew):
            if isinstance(event, NoticeGiven | SummaryWritten):
                return  # ours, not the model's
            self._track_tools(turn, event)
        self._notice_given = False
        if at_ms is not None:
            self._last_ms = at_ms

    def _track_tools(self, turn: Turn, event: Event) -> None:
        match event:
            case BlockEnded(number, False) if turn.blocks[number].kind is Kind.TOOL_CALL:
                self._running_tools[number] = turn.blocks[number].parent
            case ToolFinished(number):  # of a tool, or of an assistant with whatever it was still at
                self._running_tools = {
                    call: parent
                    for call, parent in self._running_tools.items()
                    if number not in (call, parent)
                }
            case BlockStarted(_, Kind.REASONING | Kind.TEXT):
                # A model that speaks again waits for none of its tools, even where nobody told their results.
                self._running_tools = {
                    call: parent for call, parent in self._running_tools.items() if parent != event.parent
                }
            case TurnEnded() | TurnFailed():
                self._ended = True

    def notice(self, now_ms: int) -> NoticeGiven | None:
        if self._last_ms is None:
            self._last_ms = now_ms
        if (
            self._ended
            or self._notice_given
            or self._running_tools
            or now_ms - self._last_ms < 1000 * self._seconds
        ):
            return None
        self._notice_given = True
        return NoticeGiven(SILENT, f"Nothing has come from the model for {self._seconds:g} seconds.")
