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

STEP = 256
"""Characters of a block between one look and the next."""
LONGEST_UNIT = 3_000
"""The longest passage that is recognised when it comes again and again."""
FEWEST_COPIES = 4
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

_KEPT = FEWEST_COPIES * LONGEST_UNIT
_SENTENCE_END = re.compile(r"[.!?…\n。！？]")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\d_]+")
_BETWEEN_WORDS = re.compile(r"[\W\d_]")
_MARKUP = re.compile(r"[<>{}\[\]|=\\]")
_LETTERS_IN_PROSE = 0.7


class Watch:
    """Watches one turn. Feed it every entry, once that is applied; ask now and then whether all is silent."""

    def __init__(self, *, silent_s: float = 30, budget_tokens: int | None = None) -> None:
        self._loops: dict[int, Loops] = {}
        self._calls = _Calls()
        self._budget = _Budget(budget_tokens)
        self._silence = _Silence(silent_s)

    def feed(self, turn: Turn, entry: Entry) -> list[NoticeGiven]:
        """What there is to notice now that this entry is part of the turn."""
        event = entry.event
        self._silence.feed(turn, event, entry.at_ms)
        notices = self._budget.feed(turn, event)
        if isinstance(event, BlockGrew):  # nearly every entry is this one
            loops = self._loops.get(event.block) or self._loops.setdefault(event.block, Loops())
            if began := loops.feed(event.text):
                said = "The model seems to be repeating itself."
                notices += [NoticeGiven(REPEATING, said, event.block)] * began
        elif isinstance(event, BlockEnded):
            self._loops.pop(event.block, None)
        elif isinstance(event, ToolFinished):
            notices += self._calls.feed(turn, event)
        return notices

    def silent(self, now_ms: int) -> NoticeGiven | None:
        """A notice when the model has sent nothing for too long, once for each silence.

        Before the first entry the silence is counted from the first time that this is asked.
        """
        return self._silence.noticed(now_ms)


class Loops:
    """A text as it grows, watched for passages that come again and again.

    Two ways to go round are recognised: the same passage over and over, with blanks as they may; and a few
    sentences in any order. A number that changes makes a passage another one: that is how work looks.
    """

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._held = 0
        self._tail = ""
        self._blanks = 0
        self._sentences = _Sentences()
        self._calm: int | None = None

    def feed(self, text: str) -> int:
        """How many loops were found to have begun."""
        self._waiting.append(text)
        self._held += len(text)
        if self._held < STEP:
            return 0
        text = "".join(self._waiting)
        whole = len(text) - len(text) % STEP
        self._waiting, self._held = [text[whole:]], len(text) - whole
        return sum(self._look(text[at : at + STEP]) for at in range(0, whole, STEP))

    def _look(self, text: str) -> bool:
        """Whether a loop began with this step."""
        self._blanks = self._blanks + STEP if text.isspace() else 0
        shuffled = self._sentences.feed(text)
        text = " ".join(f"|{text}|".split())[1:-1]  # each run of blanks is one, at both ends too
        self._tail = (self._tail + (text[1:] if text[0] == self._tail[-1:] == " " else text))[-_KEPT:]
        if shuffled or self._blanks >= DATA_CHARS or _goes_round(self._tail):
            began, self._calm = self._calm is None, 0
            return began
        if self._calm is not None:
            self._calm += STEP
            if self._calm >= CALM_CHARS:
                self._calm = None
        return False


class _Sentences:
    """The newest sentences of a text, as many as make `DATA_CHARS`."""

    def __init__(self) -> None:
        self._begun = ""
        self._newest: deque[str] = deque()
        self._counts: Counter[str] = Counter()
        self._chars = 0

    def feed(self, text: str) -> bool:
        """Whether they are few that come again and again."""
        *ended, begun = _SENTENCE_END.split(text)
        for sentence in ended:
            if said := " ".join((self._begun + sentence).split()):
                self._push(said)
            self._begun = ""
        self._begun += begun
        if len(self._begun) > LONGEST_UNIT:
            self._push(self._begun)
            self._begun = ""
        if self._chars < DATA_CHARS or len(self._counts) > FEW_SENTENCES:
            return False
        return len(self._newest) >= FEWEST_COPIES * len(self._counts) and _prose(" ".join(self._counts))

    def _push(self, said: str) -> None:
        self._newest.append(said)
        self._counts[said] += 1
        self._chars += len(said)
        while self._chars - len(self._newest[0]) >= DATA_CHARS:
            gone = self._newest.popleft()
            self._chars -= len(gone)
            self._counts[gone] -= 1
            if not self._counts[gone]:
                del self._counts[gone]


def _goes_round(tail: str) -> bool:
    """Whether a text ends with enough copies of one passage: what came since it ended like this before.

    That may be less than the passage, where it has long repetitions inside; then a later look, whose ending
    has something in it that comes only once, sees the whole.
    """
    ending = tail[-STEP:]
    before = tail.rfind(ending, max(0, len(tail) - STEP - LONGEST_UNIT), len(tail) - 1)
    if before < 0:
        return False
    period = len(tail) - len(ending) - before
    enough = PROSE_CHARS if _prose(tail[-period:]) else DATA_CHARS
    chars = max(enough, FEWEST_COPIES * period)
    return len(tail) >= chars and tail[period - chars :] == tail[-chars:-period]


def _prose(unit: str) -> bool:
    """Whether a passage that comes again and again is made of several words, and mostly of words."""
    if _MARKUP.search(unit):
        return False
    if found := _BETWEEN_WORDS.search(unit):  # so that no word is cut in two by where the passage begins
        unit = unit[found.start() :] + unit[: found.start()]
    words = _WORD.findall(unit)
    letters = sum(map(len, words))
    return len(set(words)) > 1 and letters >= _LETTERS_IN_PROSE * (len(unit) - unit.count(" "))


class _Calls:
    """The last call that came back, of the turn itself and of each assistant, and how often in a row."""

    def __init__(self) -> None:
        self._last: dict[int | None, tuple[tuple[str, ...], int]] = {}

    def feed(self, turn: Turn, event: ToolFinished) -> list[NoticeGiven]:
        block = turn.blocks[event.block]
        call = (block.name, block.text, event.result, event.error)
        before, times = self._last.get(block.parent, (call, 0))
        times = times + 1 if call == before else 1
        self._last[block.parent] = call, times
        if times != SAME_CALLS:
            return []
        said = f"The model has made the same call {SAME_CALLS} times in a row, with the same result."
        return [NoticeGiven(REPEATING, said, event.block)]


class _Budget:
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
                return self._noticed(self._budget)
        elif isinstance(event, UsageReported) and event.usage.reasoning is not None:
            self._reported, self._unreported = event.usage.reasoning, 0
            return self._noticed(self._budget)
        elif isinstance(event, ReplyEnded) and event.parent is None:
            self._reported = self._unreported = 0  # the next reply has the same budget again
        return []

    def _noticed(self, budget: int) -> list[NoticeGiven]:
        guessed = self._unreported // BYTES_PER_TOKEN
        percent = 100 * (self._reported + guessed) // max(1, budget)
        if percent < BUDGET_PERCENT:
            return []
        self._budget = None
        share = f"About {percent}%" if guessed else f"{percent}%"
        return [
            NoticeGiven(BUDGET_NEARLY_USED, f"{share} of the thinking budget of {budget:,} tokens is used.")
        ]


class _Silence:
    """When the last entry came, and whether the model is the one to be waited for."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._last_ms: int | None = None
        self._told = False
        self._over = False
        self._tools: dict[int, int | None] = {}

    def feed(self, turn: Turn, event: Event, at_ms: int | None) -> None:
        if not isinstance(event, BlockGrew):
            if isinstance(event, NoticeGiven | SummaryWritten):
                return  # ours, not the model's
            self._note(turn, event)
        self._told = False
        if at_ms is not None:
            self._last_ms = at_ms

    def _note(self, turn: Turn, event: Event) -> None:
        match event:
            case BlockEnded(number, False) if turn.blocks[number].kind is Kind.TOOL_CALL:
                self._tools[number] = turn.blocks[number].parent
            case ToolFinished(number):  # of a tool, or of an assistant with whatever it was still at
                self._tools = {at: of for at, of in self._tools.items() if number not in (at, of)}
            case BlockStarted(_, Kind.REASONING | Kind.TEXT):
                # A model that speaks again waits for none of its tools, even where nobody told their results.
                self._tools = {at: of for at, of in self._tools.items() if of != event.parent}
            case TurnEnded() | TurnFailed():
                self._over = True

    def noticed(self, now_ms: int) -> NoticeGiven | None:
        if self._last_ms is None:
            self._last_ms = now_ms
        if self._over or self._told or self._tools or now_ms - self._last_ms < 1000 * self._seconds:
            return None
        self._told = True
        return NoticeGiven(SILENT, f"Nothing has come from the model for {self._seconds:g} seconds.")
