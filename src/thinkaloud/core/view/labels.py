"""Builds the short texts of a thinking header (label, time, counts) and the notice about how a turn ended.

A number appears only when it is known. When thinking is complete, the time is part of the label
("Thought for 4.2s"), so the header does not repeat it. A turn that ended well has no notice.
"""

from thinkaloud.core.canon import Kind, NoticeGiven
from thinkaloud.core.transcript import Approval, Block, Ending, ThinkingTime, Turn
from thinkaloud.core.view.policy import HeaderStyle
from thinkaloud.core.view.state import ThinkingState, ViewContext, connection_lost
from thinkaloud.core.view.translate import translate_received
from thinkaloud.core.view.words import Words

ICONS = {
    ThinkingState.THINKING: "⚙",
    ThinkingState.DONE: "💭",
    ThinkingState.ERROR: "⚠",
    ThinkingState.INTERRUPTED: "💭",
}
TOOL_ICON = "🔧"


def time_text(words: Words, time: ThinkingTime | None) -> str:
    """Return the duration as text, marked "≈" when it is approximate; empty when it is unknown."""
    if time is None:
        return ""
    duration = words.duration(time.ms)
    return words.text("ai.thinking.approximate", duration=duration) if time.approximate else duration


def thought_label(context: ViewContext, state: ThinkingState, time: ThinkingTime | None) -> str:
    """Return the label of one thought, or of all thoughts of a turn together."""
    if state is ThinkingState.THINKING:
        return context.words.text("ai.thinking.streaming")
    if state is not ThinkingState.DONE:
        return _broken_label(context, state)
    if duration := time_text(context.words, time):
        return context.words.text("ai.thinking.complete", duration=duration)
    return context.words.text("ai.thinking.complete_unknown")


def call_name(words: Words, block: Block) -> str:
    """Return the name of a tool or an assistant, or a generic word if it has none."""
    kind = "tool" if block.kind is Kind.TOOL_CALL else "assistant"
    return block.name or words.text(f"ai.thinking.{kind}")


def call_label(context: ViewContext, block: Block) -> str:
    """Return the label of a call: its name, and what it waits for while it is at work."""
    name = call_name(context.words, block)
    if context.step_state(block) is not ThinkingState.THINKING:
        return name
    if block.approval is Approval.ASKED:
        return context.words.text("ai.thinking.approval", name=name)
    return context.words.text("ai.thinking.working", name=name) if block.kind is Kind.ASSISTANT_CALL else name


def turn_label(context: ViewContext) -> str:
    """Return the label of the panel.

    It names the call at work; else it is a status word if the header is a summary or there is no thought.
    """
    if context.call is not None:
        return _call_at_work_label(context, context.call)
    summary_header = context.policy.header is HeaderStyle.SUMMARY
    if context.state is ThinkingState.THINKING and summary_header:
        return context.words.text("ai.thinking.status.thinking")
    if context.state is ThinkingState.DONE and (summary_header or not context.thoughts):
        return context.words.text("ai.thinking.status.done")
    return thought_label(context, context.state, context.time)


def _call_at_work_label(context: ViewContext, call: Block) -> str:
    if call.kind is Kind.TOOL_CALL and call.approval is not Approval.ASKED:
        return context.words.text("ai.thinking.calling", name=call_name(context.words, call))
    return call_label(context, call)


def count_text(words: Words, key: str, n: int | None) -> str:
    """Return a count with its noun; empty for zero and for unknown."""
    return words.text(key, n=n) if n else ""


def tool_badge(words: Words, n: int) -> str:
    """Return the badge that counts tool calls, assistant calls included."""
    return f"{TOOL_ICON} {words.text('ai.thinking.tools', n=n)}" if n else ""


def header_line(context: ViewContext, facts: list[str], text: str) -> str:
    """Return the one line of a collapsed panel: icon, facts and text, in the style that the policy sets."""
    icon = ICONS[context.state]
    facts_text = " · ".join(filter(None, facts))
    match context.policy.header:
        case HeaderStyle.LABEL:
            return f"{icon} {facts_text}"
        case HeaderStyle.SUMMARY if text:
            return f"{icon} {text} · {facts[0]}"
        case HeaderStyle.PREVIEW if text and context.state is ThinkingState.DONE:
            return f"{icon} {text}"
    return f"{icon} {facts_text} — {text}" if text else f"{icon} {facts_text}"


def _broken_label(context: ViewContext, state: ThinkingState) -> str:
    if state is ThinkingState.ERROR:
        return context.words.text("ai.thinking.status.error")
    return context.words.text(_interruption_key(context.turn))


def _interruption_key(turn: Turn) -> str:
    if connection_lost(turn):
        return "ai.thinking.connection_lost"
    match turn.outcome.ending if turn.outcome else None:
        case Ending.CANCELLED:
            return "ai.thinking.stopped"
        case Ending.CUT_OFF:
            return "ai.thinking.cut_by_limit"
    return "ai.thinking.interrupted"


_ENDING_KEYS = {
    Ending.REASONING_ONLY: "ai.notice.reasoning_only",
    Ending.EMPTY: "ai.notice.empty",
    Ending.CUT_OFF: "ai.notice.cut_by_limit",
    Ending.REFUSED: "ai.notice.refused",
    Ending.FAILED: "ai.notice.failed",
    Ending.CANCELLED: "ai.notice.stopped",
}
_ANSWER_NOW = "answer_now"
_THINKING_HIDDEN = "thinking_hidden"
_NOTICE_KEYS = {
    "silent": "ai.notice.silent",
    "repeating": "ai.notice.repeating",
    "budget_nearly_used": "ai.notice.budget_nearly_used",
    _ANSWER_NOW: "ai.notice.answer_now",
    _THINKING_HIDDEN: "ai.notice.thinking_hidden",
}


def notice(turn: Turn, locale: str = "en-US") -> str:
    """Return the notice about how the turn ended; it is shown whether or not thinking is shown."""
    if turn.outcome is None or turn.outcome.ending not in _ENDING_KEYS:
        return ""
    key = "ai.notice.connection_lost" if connection_lost(turn) else _ENDING_KEYS[turn.outcome.ending]
    outcome = turn.outcome
    reason = translate_received(outcome.message, outcome.wording, locale) or outcome.cause
    if turn.outcome.ending is Ending.FAILED and not reason:
        return ""  # without a reason the notice would only repeat the label
    return Words(locale).text(key, reason=reason)


def notice_text(event: NoticeGiven, locale: str = "en-US") -> str:
    """Return a notice given during the turn: localized if its code is known, else its own text."""
    key = _NOTICE_KEYS.get(event.code)
    return Words(locale).text(key) if key else translate_received(event.text, event.wording, locale)


def needs_attention(event: NoticeGiven) -> bool:
    """Return whether the user may want to stop the turn or ask for the answer now."""
    return event.code in _NOTICE_KEYS and event.code not in (_ANSWER_NOW, _THINKING_HIDDEN)
