"""Whether a turn's thoughts go back, by the rule of its provider; the first reason against it is told."""

from typing import assert_never

from thinkaloud.canon import SealForm
from thinkaloud.catalog.rows import Replay, ReplayForm, Route, Sent
from thinkaloud.context.families import native
from thinkaloud.context.speech import Speech
from thinkaloud.context.terms import ContextMode, Terms

_RANK = {Sent.NONE: 0, Sent.OPEN_LOOP: 1, Sent.TOOL_TURNS: 2, Sent.ALL: 3}
"""Each is a part of the next."""


def supports_thinking_blocks(route: Route) -> bool:
    """Whether what this route leads to takes thoughts back in any form."""
    return route.replay.form is not ReplayForm.NONE and route.replay.allowed is not Sent.NONE


def scope_of(rule: Replay, mode: ContextMode) -> Sent:
    """Which turns' thoughts go back: never less than the rule demands, never more than it allows."""
    wanted = {
        ContextMode.KEEP: rule.allowed,
        ContextMode.STRIP: rule.required,
        ContextMode.PROVIDER_DEFAULT: max(rule.default, rule.required, key=_RANK.__getitem__),
    }[mode]
    return min(wanted, rule.allowed, key=_RANK.__getitem__)


def covers(scope: Sent, speech: Speech, loop: frozenset[int]) -> bool:
    """Whether a turn is among those that a scope names."""
    match scope:
        case Sent.NONE:
            return False
        case Sent.OPEN_LOOP:
            return speech.step in loop
        case Sent.TOOL_TURNS:
            return speech.called
        case Sent.ALL:
            return True
        case _:
            assert_never(scope)


class Judge:
    """Says of each turn in order how its thoughts go back (`verbatim`, `drop_block`, `field`), or why not."""

    def __init__(self, route: Route, terms: Terms, loop: frozenset[int]) -> None:
        self._route = route
        self._rule = route.replay
        self._mode = terms.mode
        self._thinks = terms.ask.mode != "disabled"
        self._scope = scope_of(route.replay, terms.mode)
        self._loop = loop
        self._void = False
        self.drops = False
        """Whether something goes back only to be dropped."""

    def rule(self, speech: Speech, prefix: str) -> str:
        """The code of what happens to the thoughts of this turn, which is sent after this prefix."""
        against = self._against(speech)
        if against:
            return against
        if self._rule.form is ReplayForm.FIELD:
            return self._out_of_scope(speech) or "field"
        if not speech.thoughtful:
            return "verbatim"
        return self._out_of_scope(speech) or self._unsound(speech, prefix) or "verbatim"

    def echoes(self, speech: Speech) -> bool:
        """Whether the field must be there even though nothing is sent in it."""
        due = covers(self._scope, speech, self._loop) or covers(self._rule.required, speech, self._loop)
        return self._rule.form is ReplayForm.FIELD and self._rule.echo_empty and due

    def _against(self, speech: Speech) -> str:
        if not native(speech.said, self._route):
            return "stripped" if self._mode is ContextMode.STRIP else "foreign"
        if not speech.whole:
            return "interrupted"
        if speech.unanswered:
            return "unanswered"
        if self._rule.form is ReplayForm.NONE:
            return "no_form"
        if self._rule.form is ReplayForm.VERBATIM and speech.turn.message is None:
            return "no_message"
        return ""

    def _out_of_scope(self, speech: Speech) -> str:
        if covers(self._scope, speech, self._loop):
            return ""
        if not covers(self._rule.allowed, speech, self._loop):
            return "forbidden"
        return "stripped" if self._mode is ContextMode.STRIP else "not_due"

    def _unsound(self, speech: Speech, prefix: str) -> str:
        forms = {seal.form for block in speech.turn.top() for seal in block.seals}
        if SealForm.ITEM in forms and not self._route.provider.local:
            return "no_payload"
        if not (self._rule.prefix_bound and self._changed(speech, prefix)):
            return ""
        self._void = True
        if self._thinks and covers(self._rule.required, speech, self._loop):
            self.drops = True
            return "drop_block"
        return "prefix"

    def _changed(self, speech: Speech, prefix: str) -> bool:
        """A turn that nobody knows the prefix of is believed until an earlier one proves changed."""
        return speech.said.prefix != prefix if speech.said.prefix else self._void
