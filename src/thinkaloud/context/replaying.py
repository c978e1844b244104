"""Whether a turn's thoughts go back, by the rule of its provider; the first reason against it is told."""

from typing import assert_never

from thinkaloud.canon import SealForm
from thinkaloud.catalog.rows import ReplayForm, ReplayRow, ReplayScope, Route
from thinkaloud.context.families import issued_by_route
from thinkaloud.context.speech import SentTurn
from thinkaloud.context.terms import BuildOptions, ContextMode

_SCOPE_RANK = {ReplayScope.NONE: 0, ReplayScope.OPEN_LOOP: 1, ReplayScope.TOOL_TURNS: 2, ReplayScope.ALL: 3}
"""Each is a part of the next."""


def supports_thinking_blocks(route: Route) -> bool:
    """Whether what this route leads to takes thoughts back in any form."""
    return route.replay.form is not ReplayForm.NONE and route.replay.allowed is not ReplayScope.NONE


def replay_scope(rule: ReplayRow, mode: ContextMode) -> ReplayScope:
    """Which turns' thoughts go back: never less than the rule demands, never more than it allows."""
    preferred = {
        ContextMode.KEEP: rule.allowed,
        ContextMode.STRIP: rule.required,
        ContextMode.PROVIDER_DEFAULT: max(rule.default, rule.required, key=_SCOPE_RANK.__getitem__),
    }[mode]
    return min(preferred, rule.allowed, key=_SCOPE_RANK.__getitem__)


def covers(scope: ReplayScope, sent_turn: SentTurn, loop: frozenset[int]) -> bool:
    """Whether a turn is among those that a scope names."""
    match scope:
        case ReplayScope.NONE:
            return False
        case ReplayScope.OPEN_LOOP:
            return sent_turn.step in loop
        case ReplayScope.TOOL_TURNS:
            return sent_turn.has_calls
        case ReplayScope.ALL:
            return True
        case _:
            assert_never(scope)


class ReplayRules:
    """Says of each turn in order how its thoughts go back (`verbatim`, `drop_block`, `field`), or why not."""

    def __init__(self, route: Route, options: BuildOptions, loop: frozenset[int]) -> None:
        self._route = route
        self._rule = route.replay
        self._mode = options.mode
        self._thinks = options.ask.mode != "disabled"
        self._scope = replay_scope(route.replay, options.mode)
        self._loop = loop
        self._prefix_changed = False
        self.drops_blocks = False
        """Whether something goes back only to be dropped."""

    def decide(self, sent_turn: SentTurn, prefix: str) -> str:
        """The code of what happens to the thoughts of this turn, which is sent after this prefix."""
        refusal = self._refusal(sent_turn)
        if refusal:
            return refusal
        if self._rule.form is ReplayForm.FIELD:
            return self._out_of_scope(sent_turn) or "field"
        if not sent_turn.has_thought:
            return "verbatim"
        return self._out_of_scope(sent_turn) or self._invalid_seal(sent_turn, prefix) or "verbatim"

    def needs_empty_field(self, sent_turn: SentTurn) -> bool:
        """Whether the field must be there even though nothing is sent in it."""
        due = covers(self._scope, sent_turn, self._loop) or covers(self._rule.required, sent_turn, self._loop)
        return self._rule.form is ReplayForm.FIELD and self._rule.echo_empty and due

    def _refusal(self, sent_turn: SentTurn) -> str:
        if not issued_by_route(sent_turn.answered, self._route):
            return "stripped" if self._mode is ContextMode.STRIP else "foreign"
        if not sent_turn.complete:
            return "interrupted"
        if sent_turn.unanswered:
            return "unanswered"
        if self._rule.form is ReplayForm.NONE:
            return "no_form"
        if self._rule.form is ReplayForm.VERBATIM and sent_turn.turn.message is None:
            return "no_message"
        return ""

    def _out_of_scope(self, sent_turn: SentTurn) -> str:
        if covers(self._scope, sent_turn, self._loop):
            return ""
        if not covers(self._rule.allowed, sent_turn, self._loop):
            return "forbidden"
        return "stripped" if self._mode is ContextMode.STRIP else "not_due"

    def _invalid_seal(self, sent_turn: SentTurn, prefix: str) -> str:
        forms = {seal.form for block in sent_turn.turn.own_blocks() for seal in block.seals}
        if SealForm.ITEM in forms and not self._route.provider.local:
            return "no_payload"
        if not (self._rule.prefix_bound and self._has_other_prefix(sent_turn, prefix)):
            return ""
        self._prefix_changed = True
        if self._thinks and covers(self._rule.required, sent_turn, self._loop):
            self.drops_blocks = True
            return "drop_block"
        return "prefix"

    def _has_other_prefix(self, sent_turn: SentTurn, prefix: str) -> bool:
        """A turn that nobody knows the prefix of is believed until an earlier one proves changed."""
        return sent_turn.answered.prefix != prefix if sent_turn.answered.prefix else self._prefix_changed
