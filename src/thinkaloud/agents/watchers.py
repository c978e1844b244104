"""Watchers of a running turn: they notice loops, a nearly used budget, and silence.

A notice informs a person and changes nothing. It is given once per episode. Text is checked in steps of a
fixed number of characters, so the result does not depend on how it was split into deltas; times come with
the entries. docs/reference/watchers.md says what is detected, what is not, and how often it was wrong.
"""

import re
from collections import Counter, deque

from thinkaloud.core.canon import (
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
    Wording,
)
from thinkaloud.core.transcript import Turn

SILENT = "silent"
REPEATING = "repeating"
BUDGET_NEARLY_USED = "budget_nearly_used"

STEP_CHARS = 256
"""Characters of a block between two checks."""
LONGEST_UNIT = 3_000
"""The longest passage whose repetition is detected."""
MIN_COPIES = 4
PROSE_CHARS = 1_000
"""The length from which repeated prose is a loop: longer than any refrain, a few seconds of a stream."""
DATA_CHARS = 4_000
"""The same for text that tables, matrices and lists repeat for a good reason: rulers, zeros, markup, single
words, and a few sentences in any order."""
FEW_SENTENCES = 4
CALM_CHARS = 4_000
"""The length without a loop after which the next loop gets a new notice."""
SAME_CALLS = 4
"""Consecutive calls with the same name, arguments and result."""
BUDGET_PERCENT = 90
BYTES_PER_TOKEN = 4
"""An estimate. Counting UTF-8 bytes makes it roughly right for scripts with one token per character too."""

_TAIL_CHARS = MIN_COPIES * LONGEST_UNIT
_SENTENCE_END = re.compile(r"[.!?…\n。！？]")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\d_]+")
_BETWEEN_WORDS = re.compile(r"[\W\d_]")
_MARKUP = re.compile(r"[<>{}\[\]|=\\]")
_LETTERS_IN_PROSE = 0.7


class TurnWatcher:
    """Watches one turn. Feed it every entry after it is applied, and call `silence_notice` regularly."""

    def __init__(self, *, silent_s: float = 30, budget_tokens: int | None = None) -> None:
        self._loops: dict[int, LoopWatcher] = {}
        self._calls = _CallWatcher()
        self._budget = _BudgetWatcher(budget_tokens)
        self._silence = _SilenceWatcher(silent_s)

    def feed(self, turn: Turn, entry: Entry) -> list[NoticeGiven]:
        """Return the notices after this entry."""
        event = entry.event
        notices: list[NoticeGiven] = []
        if self._budget.budget is not None:
            notices = self._budget.feed(turn, event)
        if type(event) is BlockGrew:  # nearly every entry is this one
            self._silence.notice_given = False
            if entry.at_ms is not None:
                self._silence.last_ms = entry.at_ms
            loops = self._loops.get(event.block) or self._loops.setdefault(event.block, LoopWatcher())
            if new_loops := loops.feed(event.text):
                message = Wording("The model seems to be repeating itself.")
                notices += [NoticeGiven.of(REPEATING, message, event.block)] * new_loops
            return notices
        self._silence.feed(turn, event, entry.at_ms)
        if isinstance(event, BlockEnded):
            self._loops.pop(event.block, None)
        elif isinstance(event, ToolFinished):
            notices += self._calls.feed(turn, event)
        return notices

    def silence_notice(self, now_ms: int) -> NoticeGiven | None:
        """Return a notice if the model has sent nothing for too long, once per silence.

        Before the first entry, silence is counted from the first call of this method.
        """
        return self._silence.notice(now_ms)


class LoopWatcher:
    """Detects loops in a growing text.

    Two kinds are detected: the same passage over and over, apart from blanks; and a few sentences in any
    order. A passage in which a number changes is not the same: that is what real work looks like.
    """

    def __init__(self) -> None:
        self._pending: list[str] = []
        self._pending_chars = 0
        self._tail = ""
        self._blanks = 0
        self._sentences = _SentenceWindow()
        self._calm_chars: int | None = None

    def feed(self, text: str) -> int:
        """Return the number of loops that began with this text."""
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
        """Whether a loop begins with this step."""
        self._blanks = self._blanks + STEP_CHARS if text.isspace() else 0
        shuffled = self._sentences.feed(text)
        text = " ".join(f"|{text}|".split())[1:-1]  # one blank for each run of blanks, at both ends too
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
    """The newest sentences of a text, about `DATA_CHARS` long."""

    def __init__(self) -> None:
        self._partial = ""
        self._newest: deque[str] = deque()
        self._counts: Counter[str] = Counter()
        self._chars = 0

    def feed(self, text: str) -> bool:
        """Whether the window has only a few different sentences, each several times."""
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
    """Whether a text ends with enough copies of one passage.

    The period is the distance to the previous occurrence of the last `STEP_CHARS`. It can be too short if the
    passage has long repetitions inside; a later check, whose ending occurs once per passage, finds it.
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
    """Whether a repeated passage has several different words and consists mostly of words."""
    if _MARKUP.search(unit):
        return False
    if boundary := _BETWEEN_WORDS.search(unit):  # rotate to a word boundary, so that no word is split
        unit = unit[boundary.start() :] + unit[: boundary.start()]
    words = _WORD.findall(unit)
    letters = sum(map(len, words))
    return len(set(words)) > 1 and letters >= _LETTERS_IN_PROSE * (len(unit) - unit.count(" "))


class _CallWatcher:
    """Counts identical consecutive calls, for the agent itself and for each assistant."""

    def __init__(self) -> None:
        self._last: dict[int | None, tuple[tuple[object, ...], int]] = {}

    def feed(self, turn: Turn, event: ToolFinished) -> list[NoticeGiven]:
        block = turn.blocks[event.block]
        call = (block.name, block.text, event.result, event.error, event.images)
        previous, times = self._last.get(block.parent, (call, 0))
        times = times + 1 if call == previous else 1
        self._last[block.parent] = call, times
        if times != SAME_CALLS:
            return []
        message = Wording(
            "The model has made the same call {same_calls} times in a row, with the same result.",
            same_calls=SAME_CALLS,
        )
        return [NoticeGiven.of(REPEATING, message, event.block)]


class _BudgetWatcher:
    """Counts the thinking tokens of the agent's current reply: as reported, or estimated from the text."""

    def __init__(self, tokens: int | None) -> None:
        self.budget = tokens
        """None if there is none, or the notice about it was given."""
        self._reported = 0
        self._unreported = 0

    def feed(self, turn: Turn, event: Event) -> list[NoticeGiven]:
        if self.budget is None:
            return []
        if isinstance(event, BlockGrew):
            block = turn.blocks[event.block]
            if block.kind is Kind.REASONING and block.parent is None:
                self._unreported += len(event.text.encode("utf-8", "replace"))
                return self._check(self.budget)
        elif isinstance(event, UsageReported) and event.usage.reasoning is not None:
            self._reported, self._unreported = event.usage.reasoning, 0
            return self._check(self.budget)
        elif isinstance(event, ReplyEnded) and event.parent is None:
            self._reported = self._unreported = 0  # each reply has the whole budget
        return []

    def _check(self, budget: int) -> list[NoticeGiven]:
        estimated_tokens = self._unreported // BYTES_PER_TOKEN
        percent = 100 * (self._reported + estimated_tokens) // max(1, budget)
        if percent < BUDGET_PERCENT:
            return []
        self.budget = None
        share = Wording("About {percent}%", percent=percent) if estimated_tokens else f"{percent}%"
        return [
            NoticeGiven.of(
                BUDGET_NEARLY_USED,
                Wording(
                    "{share} of the thinking budget of {budget} tokens is used.",
                    share=share,
                    budget=f"{budget:,}",
                ),
            )
        ]


class _SilenceWatcher:
    """Measures the time since the last entry, unless the turn waits for a tool and not for the model."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.last_ms: int | None = None
        self.notice_given = False
        self._ended = False
        self._running_tools: dict[int, int | None] = {}

    def feed(self, turn: Turn, event: Event, at_ms: int | None) -> None:
        if not isinstance(event, NoticeGiven | SummaryWritten):  # these do not come from the model
            self._track_tools(turn, event)
            self.notice_given = False
            if at_ms is not None:
                self.last_ms = at_ms

    def _track_tools(self, turn: Turn, event: Event) -> None:
        match event:
            case BlockEnded(number, False) if turn.blocks[number].kind is Kind.TOOL_CALL:
                self._running_tools[number] = turn.blocks[number].parent
            case ToolFinished(number):  # of a tool, or of an assistant with all its open calls
                self._running_tools = {
                    call: parent
                    for call, parent in self._running_tools.items()
                    if number not in (call, parent)
                }
            case BlockStarted(_, Kind.REASONING | Kind.TEXT):
                # A model that writes again no longer waits for its tools, even if no result was reported.
                self._running_tools = {
                    call: parent for call, parent in self._running_tools.items() if parent != event.parent
                }
            case TurnEnded() | TurnFailed():
                self._ended = True

    def notice(self, now_ms: int) -> NoticeGiven | None:
        if self.last_ms is None:
            self.last_ms = now_ms
        if (
            self._ended
            or self.notice_given
            or self._running_tools
            or now_ms - self.last_ms < 1000 * self._seconds
        ):
            return None
        self.notice_given = True
        return NoticeGiven.of(
            SILENT,
            Wording("Nothing has come from the model for {seconds} seconds.", seconds=f"{self._seconds:g}"),
        )
