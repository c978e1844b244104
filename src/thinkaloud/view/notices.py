"""One sentence for what a person should know: how a turn ended, unless it went well, and what was noticed."""

from thinkaloud.canon import NoticeGiven
from thinkaloud.transcript import Ending, Turn
from thinkaloud.view.standing import connection_lost
from thinkaloud.view.words import Words

_ENDING_KEYS = {
    Ending.REASONING_ONLY: "ai.notice.reasoning_only",
    Ending.EMPTY: "ai.notice.empty",
    Ending.CUT_OFF: "ai.notice.cut_by_limit",
    Ending.REFUSED: "ai.notice.refused",
    Ending.FAILED: "ai.notice.failed",
    Ending.CANCELLED: "ai.notice.stopped",
}
_ANSWER_NOW = "answer_now"
_NOTICE_KEYS = {
    "silent": "ai.notice.silent",
    "repeating": "ai.notice.repeating",
    "budget_nearly_used": "ai.notice.budget_nearly_used",
    _ANSWER_NOW: "ai.notice.answer_now",
}


def notice(turn: Turn, locale: str = "en-US") -> str:
    """What to tell a person about how the turn ended; it stands whether or not any thinking is shown."""
    if turn.outcome is None or turn.outcome.ending not in _ENDING_KEYS:
        return ""
    key = "ai.notice.connection_lost" if connection_lost(turn) else _ENDING_KEYS[turn.outcome.ending]
    reason = turn.outcome.message or turn.outcome.cause
    if turn.outcome.ending is Ending.FAILED and not reason:
        return ""  # a failure without a reason is said by the label alone
    return Words(locale).text(key, reason=reason)


def notice_text(event: NoticeGiven, locale: str = "en-US") -> str:
    """What was noticed during a turn, in words of the language; else in those that came with it."""
    key = _NOTICE_KEYS.get(event.code)
    return Words(locale).text(key) if key else event.text


def needs_attention(event: NoticeGiven) -> bool:
    """Whether a person may want to stop the turn, or have it answer now."""
    return event.code in _NOTICE_KEYS and event.code != _ANSWER_NOW
