"""Hides thoughts from users who may not see those of an agent: one filter for live and for stored turns.

Text that a model sent as an answer may turn out to be a thought until its reply has ended, so the filter
holds a reply back until then. What it returns depends on the entries alone, so a turn looks the same while it
runs and later. Without the right to see the length, nothing is left that tells it: no times, no token counts
that include thoughts, and entries and blocks are numbered anew.
"""

from collections.abc import Iterable, Mapping

import msgspec

from thinkaloud.core.canon import (
    ApprovalAsked,
    ApprovalSettled,
    BlockEnded,
    BlockGrew,
    BlockReclassified,
    BlockSealed,
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
    TurnStarted,
    Usage,
    UsageReported,
    Wording,
)
from thinkaloud.core.transcript import CALL_KINDS, Turn, apply, fold_entries, unfold
from thinkaloud.gateway.store.log.archive import decode_entries, encode_entry
from thinkaloud.gateway.store.log.live import LogSpan
from thinkaloud.gateway.store.rows import ThinkingShown, TurnRow

NOTICE = NoticeGiven.of(
    "thinking_hidden", Wording("The operator of this gateway does not show you the thinking.")
)
ALL_AGENTS = ""
PROMPT_OF = "prompt of "
"""Begins the name of an agent that took no part in a turn itself: only its prompt was used."""
_ABOUT_LENGTH = ("budget_nearly_used", "repeating")
"""Codes of notices that tell how much a model thinks."""


def shown_to(rules: Mapping[str, ThinkingShown], turn: TurnRow) -> ThinkingShown:
    """Return what a user may see of the thinking of a turn: the strictest rule of all agents in it.

    A rule for an agent overrides that for all. It also holds where another agent, or a model without one, was
    given the prompt of that agent. If the assistants are unknown, any agent with a rule may be one of them.
    They are those from when the turn was started: an agent may be changed later.
    """
    return shown_to_agents(rules, turn.agent, turn.assistants)


def shown_to_agents(
    rules: Mapping[str, ThinkingShown], agent: str, assistants: Iterable[str] | None
) -> ThinkingShown:
    """Return what a user may see of turns of this agent with these assistants; None if they are unknown."""
    for_all = rules.get(ALL_AGENTS, ThinkingShown.ALL)
    if assistants is None and agent:
        assistants = rules
    shown = set[ThinkingShown]()
    for one in (agent, *(assistants or ())):
        if not one.startswith(PROMPT_OF):
            shown.add(rules.get(one, for_all))
        elif (rule := rules.get(one.removeprefix(PROMPT_OF))) is not None:
            shown.add(rule)
    return max(shown, key=tuple(ThinkingShown).index)


def used_prompts(systems: Iterable[str], prompts: Mapping[str, str]) -> tuple[str, ...]:
    """Return which of these prompts, given by agent, are used in system prompts, as agents of a turn.

    A prompt with other white space, or within a longer one, is the same prompt.
    """
    used = [" ".join(system.split()) for system in systems]
    agents = []
    for agent, prompt in sorted(prompts.items()):
        words = " ".join(prompt.split())
        if words and any(words in system for system in used):
            agents.append(f"{PROMPT_OF}{agent}")
    return tuple(agents)


def hide_thoughts(turn: Turn, shown: ThinkingShown) -> Turn:
    """Return the turn as a user may see it."""
    return turn if shown is ThinkingShown.ALL else fold_entries(hide_in_entries(unfold(turn), shown))


def hide_in_entries(entries: Iterable[Entry], shown: ThinkingShown) -> list[Entry]:
    """Return the entries of a turn as a user may see them."""
    thought_filter = ThoughtFilter(shown)
    return [visible for entry in entries for visible in thought_filter.feed(entry)]


class ThoughtFilter:
    """Filters the entries of one turn, from its first one."""

    def __init__(self, shown: ThinkingShown) -> None:
        self._shows_all = shown is ThinkingShown.ALL
        self._shows_length = shown is ThinkingShown.LENGTH
        self._turn = Turn()
        self._held: list[Entry] = []
        self._numbers: dict[int | None, int | None] = {None: None}
        """The new numbers of visible blocks by their own."""
        self._next_seq = 0

    def feed(self, entry: Entry) -> list[Entry]:
        """Return the entries that can be shown now."""
        if self._shows_all:
            return [entry]
        apply(self._turn, entry)
        self._held.append(entry)
        if not isinstance(entry.event, TurnStarted | ReplyEnded | ApprovalAsked | TurnEnded | TurnFailed):
            return []
        held, self._held = self._held, []
        return [shown_entry for held_entry in held for shown_entry in self._release(held_entry)]

    def _release(self, entry: Entry) -> list[Entry]:
        entries = []
        for event in self._visible_events(entry.event):
            entries.append(Entry(self._next_seq, event, entry.at_ms if self._shows_length else None))
            self._next_seq += 1
        return entries

    def _visible_events(self, event: Event) -> list[Event]:
        """Return what may be shown of an event. The blocks of `_turn` have their final kinds."""
        match event:
            case TurnStarted():
                return [event, NOTICE]
            case BlockStarted() | BlockReclassified():
                return self._block_events(event)
            case BlockSealed() | SummaryWritten():
                return []
            case BlockGrew():
                grows = self._turn.blocks[event.block].kind in CALL_KINDS
                return self._renumbered(event) if grows else []  # a text was shown whole when it began
            case BlockEnded() | ToolFinished() | ApprovalAsked() | ApprovalSettled():
                return self._renumbered(event)
            case NoticeGiven():
                about_length = event.code in _ABOUT_LENGTH and not self._shows_length
                return [] if about_length else self._renumbered(event)
        return self._end_events(event)

    def _block_events(self, event: BlockStarted | BlockReclassified) -> list[Event]:
        if isinstance(event, BlockReclassified) and event.into is None:
            return []  # the block began with its final kind
        number = event.into if isinstance(event, BlockReclassified) else event.block
        assert number is not None
        block = self._turn.blocks[number]
        if block.parent not in self._numbers or (block.kind is Kind.REASONING and not self._shows_length):
            return []
        new_number = self._numbers[number] = len(self._numbers) - 1
        started = BlockStarted(
            new_number,
            block.kind,
            block.name,
            block.call_id,
            block.assistant_id,
            self._numbers[block.parent],
            block.provenance,
        )
        events: list[Event] = [started]
        if block.kind is Kind.TEXT and block.text:
            events.append(BlockGrew(new_number, block.text))
        if isinstance(event, BlockReclassified):
            events.append(BlockEnded(new_number))
        return events

    def _renumbered(
        self, event: BlockGrew | BlockEnded | ToolFinished | ApprovalAsked | ApprovalSettled | NoticeGiven
    ) -> list[Event]:
        if event.block not in self._numbers:
            return []
        return [msgspec.structs.replace(event, block=self._numbers[event.block])]

    def _end_events(self, event: Event) -> list[Event]:
        match event:
            case UsageReported():
                return [UsageReported(self._visible_usage(event.usage))]
            case ReplyEnded() if event.parent in self._numbers:
                usage, parent = self._visible_usage(event.usage), self._numbers[event.parent]
                return [msgspec.structs.replace(event, message=None, usage=usage, parent=parent)]
            case TurnEnded():
                return [msgspec.structs.replace(event, message=None)]
            case TurnFailed():
                return [event]
        return []

    def _visible_usage(self, usage: Usage) -> Usage:
        """Return the usage without counts that tell the length of thoughts. Output includes thoughts."""
        if self._shows_length:
            return usage
        return msgspec.structs.replace(usage, output=None, reasoning=None)


class VisibleLog:
    """The log of a turn as one reader may see it, after the entries that the reader has."""

    def __init__(self, shown: ThinkingShown, after: int = -1) -> None:
        self.after = after
        self.last = -1
        """The number of the last visible entry so far."""
        self._shown = shown
        self._filter = ThoughtFilter(shown)

    def take(self, span: LogSpan) -> LogSpan:
        """Return what is visible now, after these entries of the log."""
        entries: list[Entry] = []
        for entry in decode_entries(span.lines):
            entries += self._filter.feed(entry)
        if entries:
            self.last = entries[-1].seq
        new = [entry for entry in entries if entry.seq > self.after]
        first = new[0].seq if new else self.last + 1
        return LogSpan(first, tuple(map(encode_entry, new)))

    def filter_all(self, entries: Iterable[Entry]) -> list[Entry]:
        """Return the whole log as the reader may see it."""
        return hide_in_entries(entries, self._shown)
