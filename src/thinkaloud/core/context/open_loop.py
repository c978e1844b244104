"""Fits the thinking parameters to a tool loop that is still open. No I/O."""

import msgspec

from thinkaloud.core.canon import Wording
from thinkaloud.core.canon.requests import ThinkingLevel, ThinkingParameters, ThinkingSetting
from thinkaloud.core.catalog import resolve_thinking
from thinkaloud.core.catalog.rows import ReplayForm, ReplayScope, Route
from thinkaloud.core.catalog.thinking import thinks


def fit_open_loop(
    ask: ThinkingParameters,
    route: Route,
    loop: frozenset[int],
    turns_without_thought: set[int],
    *,
    drops: bool,
) -> tuple[ThinkingParameters, tuple[Wording, ...]]:
    """Adapt the thinking parameters to the open tool loop, and return notes about the change.

    With a budget, a loop must begin and end with a thought; another model's answer has none that may be sent.
    A required thought whose prefix changed is sent together with the instruction to drop it (`drops`).
    """
    ends = {min(loop), max(loop)} if loop else set()
    if _thought_first(ask, route) and ends & turns_without_thought:
        off = resolve_thinking(
            route, ThinkingSetting(level=ThinkingLevel.OFF), max_tokens=ask.max_tokens, tools=True
        )
        return msgspec.structs.replace(off, max_tokens=ask.max_tokens, notes=ask.notes), (_PAUSED_NOTE,)
    if drops:
        template = (*ask.template, ("block_binding", "drop_block"))
        return msgspec.structs.replace(ask, mode=ask.mode or "adaptive", template=template), (_DROPPED_NOTE,)
    return ask, ()


def _thought_first(ask: ThinkingParameters, route: Route) -> bool:
    """Return whether the model refuses an open tool loop that has no thought of it at its ends."""
    rule = route.replay
    if rule.thought_first:
        return thinks(route.model, ask)
    return (
        ask.mode == "enabled" and rule.form is ReplayForm.VERBATIM and rule.required is not ReplayScope.NONE
    )


_PAUSED_NOTE = Wording(
    "Thinking is off for this request: the open tool loop contains an answer without a thought of this "
    "model, and the model refuses that when it has a budget. Thinking is on again after the next user "
    "message."
)
_DROPPED_NOTE = Wording(
    "The provider is asked to drop thoughts that are no longer valid: something before the open tool loop "
    "changed, and the loop cannot continue without them."
)
